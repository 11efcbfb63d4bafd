package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

const (
	// minReadySeconds a pod must stay ready to count as available. It keeps a
	// program that crashes some seconds after its start from being announced as
	// recovered (case A58), and costs every rollout the same time.
	minReadySeconds int32 = 10
	// progressDeadlineSeconds is Kubernetes' own default.
	progressDeadlineSeconds int32 = 600
	// revisionHistoryLimit is small since the document is the history.
	revisionHistoryLimit int32 = 2
)

// Deployment returns the Deployment of a serving agent. Replicas are set when
// the document names a number or suspends the agent, and are otherwise left to
// whatever scales it.
func Deployment(in Input) *appsv1.Deployment {
	agent := in.Agent.DeepCopy()
	template := podTemplate(in, ComponentServe)
	if in.ReferencesDigest != "" {
		if template.Annotations == nil {
			template.Annotations = map[string]string{}
		}
		template.Annotations[ReferencesAnnotation] = in.ReferencesDigest
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: meta(agent, DeploymentName(agent), ComponentServe),
		Spec: appsv1.DeploymentSpec{
			Replicas:                replicas(agent),
			Selector:                &metav1.LabelSelector{MatchLabels: Selector(agent)},
			Template:                template,
			Strategy:                strategy(agent),
			MinReadySeconds:         minReadySeconds,
			ProgressDeadlineSeconds: new(progressDeadlineSeconds),
			RevisionHistoryLimit:    new(revisionHistoryLimit),
		},
	}
	deployment.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return deployment
}

// Service returns the Service of a serving agent, on the agent's own port.
func Service(in Input) *corev1.Service {
	agent := in.Agent
	service := &corev1.Service{
		ObjectMeta: meta(agent, ServiceName(agent), ComponentServe),
		Spec: corev1.ServiceSpec{
			Selector: Selector(agent),
			Ports: []corev1.ServicePort{{
				Name:       PortName,
				Port:       servePort(agent),
				Protocol:   corev1.ProtocolTCP,
				TargetPort: intstr.FromString(PortName),
			}},
		},
	}
	service.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	return service
}

func replicas(agent *v1alpha1.LoomAgent) *int32 {
	if agent.Suspended() {
		return new(int32(0))
	}
	return serve(agent).Replicas
}

// strategy never runs two pods on one claim: a rolling update would wait for a
// volume that the old pod holds (case A32). Otherwise the old pod serves until
// the new one is available.
func strategy(agent *v1alpha1.LoomAgent) appsv1.DeploymentStrategy {
	if agent.Spec.Workspace != nil && agent.Spec.Workspace.ClaimName != nil {
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	return appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxUnavailable: new(intstr.FromInt32(0)),
			MaxSurge:       new(intstr.FromInt32(1)),
		},
	}
}

// serve returns the settings of a serving agent, the zero value when it has none.
func serve(agent *v1alpha1.LoomAgent) v1alpha1.ServeSettings {
	if agent.Spec.Serve == nil {
		return v1alpha1.ServeSettings{}
	}
	return *agent.Spec.Serve
}

func servePort(agent *v1alpha1.LoomAgent) int32 {
	if port := serve(agent).Port; port != nil {
		return *port
	}
	return DefaultPort
}

// addServing gives the container of a serving agent its port and its probes.
func addServing(container *corev1.Container, agent *v1alpha1.LoomAgent) {
	container.Ports = []corev1.ContainerPort{{
		Name: PortName, ContainerPort: servePort(agent), Protocol: corev1.ProtocolTCP,
	}}
	var given v1alpha1.Probes
	if probes := serve(agent).Probes; probes != nil {
		given = *probes
	}
	// Two minutes to start, asked each second so that a fast start is seen.
	container.StartupProbe = probe(given.Startup, get(LivePath, 1, 120))
	container.ReadinessProbe = probe(given.Readiness, get(ReadyPath, 5, 3))
	container.LivenessProbe = probe(given.Liveness, get(LivePath, 10, 3))
}

// get returns a probe that asks the agent's port. The timeout leaves room for a
// program that is busy, but not stuck.
func get(path string, periodSeconds, failureThreshold int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(PortName)},
		},
		TimeoutSeconds:   5,
		PeriodSeconds:    periodSeconds,
		FailureThreshold: failureThreshold,
	}
}

// probe returns the given probe, or the standard one when there is none. A
// given probe that does not say what to ask asks what the standard one asks.
// All that the API server would fill in is filled in: a field that it fills in
// belongs to nobody, and would stay when an apply takes its neighbors away.
func probe(given, standard *corev1.Probe) *corev1.Probe {
	if given == nil {
		given = standard
	}
	if given.ProbeHandler == (corev1.ProbeHandler{}) {
		given.ProbeHandler = standard.ProbeHandler
	}
	if get := given.HTTPGet; get != nil {
		get.Path = orDefault(get.Path, "/")
		get.Scheme = orDefault(get.Scheme, corev1.URISchemeHTTP)
	}
	if given.GRPC != nil && given.GRPC.Service == nil {
		given.GRPC.Service = new("")
	}
	given.TimeoutSeconds = orDefault(given.TimeoutSeconds, 1)
	given.PeriodSeconds = orDefault(given.PeriodSeconds, 10)
	given.SuccessThreshold = orDefault(given.SuccessThreshold, 1)
	given.FailureThreshold = orDefault(given.FailureThreshold, 3)
	return given
}
