package check

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A probe that the API server would refuse is refused here, so that the user
// sees it before a child is written. The address that a probe asks is not judged.
func probes(in Input) []Finding {
	if in.Agent.Spec.Serve == nil || in.Agent.Spec.Serve.Probes == nil {
		return nil
	}
	p := in.Agent.Spec.Serve.Probes
	return slices.Concat(
		probe("spec.serve.probes.startup", p.Startup, true),
		probe("spec.serve.probes.readiness", p.Readiness, false),
		probe("spec.serve.probes.liveness", p.Liveness, true))
}

// probe judges one probe. One whose failure restarts the container succeeds at
// once, and only such a one has a grace period of its own.
func probe(field string, p *corev1.Probe, restarts bool) []Finding {
	if p == nil {
		return nil
	}
	found := append(probeAction(field, p), probeNumbers(field, p)...)
	if restarts && p.SuccessThreshold > 1 {
		found = append(found, broken(field+".successThreshold", "The value must be 1 for this probe. Leave it out."))
	}
	switch grace := p.TerminationGracePeriodSeconds; {
	case grace != nil && !restarts:
		found = append(found, broken(field+".terminationGracePeriodSeconds", "A readiness probe stops no container and has no grace period. Remove it."))
	case grace != nil && *grace < 1:
		found = append(found, broken(field+".terminationGracePeriodSeconds", "The value must be 1 or more. Correct it or leave it out."))
	}
	return found
}

func probeAction(field string, p *corev1.Probe) []Finding {
	actions := 0
	for _, given := range []bool{p.Exec != nil, p.HTTPGet != nil, p.TCPSocket != nil, p.GRPC != nil} {
		if given {
			actions++
		}
	}
	if actions == 1 {
		return nil
	}
	return []Finding{broken(field, "The probe has %d actions and needs exactly one. Give one of exec, httpGet, tcpSocket and grpc, or leave out the probe for the operator's own.", actions)}
}

func probeNumbers(field string, p *corev1.Probe) []Finding {
	var found []Finding
	for _, number := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", p.InitialDelaySeconds},
		{"timeoutSeconds", p.TimeoutSeconds},
		{"periodSeconds", p.PeriodSeconds},
		{"successThreshold", p.SuccessThreshold},
		{"failureThreshold", p.FailureThreshold},
	} {
		if number.value < 0 {
			found = append(found, broken(field+"."+number.name, "%d is negative. Use a value above zero, or leave it out for the default.", number.value))
		}
	}
	return found
}
