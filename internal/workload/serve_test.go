package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Case A32: a rolling update and a volume for one node wait for each other.
func TestNeverTwoPodsOnOneClaim(t *testing.T) {
	tests := map[string]struct {
		spec string
		want appsv1.DeploymentStrategyType
	}{
		"a claim":               {spec: "{workspace: {mountPath: /w, claimName: rwo}}", want: appsv1.RecreateDeploymentStrategyType},
		"a folder for each pod": {spec: "{workspace: {mountPath: /w}}", want: appsv1.RollingUpdateDeploymentStrategyType},
		"no workspace":          {spec: "{}", want: appsv1.RollingUpdateDeploymentStrategyType},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Deployment(with(t, test.spec)).Spec.Strategy
			assert.Equal(t, test.want, got.Type)
			if test.want == appsv1.RecreateDeploymentStrategyType {
				assert.Nil(t, got.RollingUpdate, "the API server refuses both")
				return
			}
			require.NotNil(t, got.RollingUpdate)
			assert.Equal(t, new(intstr.FromInt32(0)), got.RollingUpdate.MaxUnavailable)
			assert.Equal(t, new(intstr.FromInt32(1)), got.RollingUpdate.MaxSurge)
		})
	}
}

func TestReplicasAreLeftToOthersUnlessTheDocumentDecides(t *testing.T) {
	tests := map[string]struct {
		spec string
		want *int32
	}{
		"not named":                    {spec: "{}"},
		"not named beside a port":      {spec: "{serve: {port: 1}}"},
		"named":                        {spec: "{serve: {replicas: 3}}", want: new(int32(3))},
		"none":                         {spec: "{serve: {replicas: 0}}", want: new(int32(0))},
		"suspended":                    {spec: "{suspend: true}", want: new(int32(0))},
		"suspended, whatever is named": {spec: "{suspend: true, serve: {replicas: 3}}", want: new(int32(0))},
		"not suspended":                {spec: "{suspend: false}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, Deployment(with(t, test.spec)).Spec.Replicas)
		})
	}
}

func TestDeploymentWaitsBeforeItCallsAPodAvailable(t *testing.T) {
	spec := Deployment(with(t, "{}")).Spec
	assert.Equal(t, int32(10), spec.MinReadySeconds)
	assert.Equal(t, new(int32(600)), spec.ProgressDeadlineSeconds)
	assert.Equal(t, new(int32(2)), spec.RevisionHistoryLimit)
	assert.Equal(t, new(int64(30)), spec.Template.Spec.TerminationGracePeriodSeconds)
}

func TestServiceListensOnTheAgentsPort(t *testing.T) {
	for spec, port := range map[string]int32{"{}": 8080, "{serve: {port: 9090}}": 9090} {
		t.Run(spec, func(t *testing.T) {
			in := with(t, spec)
			assert.Equal(t, []corev1.ServicePort{{
				Name: "http", Port: port, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http"),
			}}, Service(in).Spec.Ports)
			assert.Equal(t, []corev1.ContainerPort{{
				Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP,
			}}, Deployment(in).Spec.Template.Spec.Containers[0].Ports)
			assert.Empty(t, Service(in).Spec.Type, "an administrator may expose it otherwise")
		})
	}
}

func TestProbes(t *testing.T) {
	ask := func(path string, timeout, period, failures int32) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Path: path, Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
			}},
			TimeoutSeconds: timeout, PeriodSeconds: period, SuccessThreshold: 1, FailureThreshold: failures,
		}
	}
	tests := map[string]struct {
		spec     string
		liveness *corev1.Probe
	}{
		"the standard one": {spec: "{}", liveness: ask("/healthz", 5, 10, 3)},
		"the standard one beside another": {
			spec: "{serve: {probes: {startup: {periodSeconds: 9}}}}", liveness: ask("/healthz", 5, 10, 3),
		},
		"other numbers ask the same": {
			spec: "{serve: {probes: {liveness: {periodSeconds: 9}}}}", liveness: ask("/healthz", 1, 9, 3),
		},
		"what the API server would add is there": {
			spec: "{serve: {probes: {liveness: {httpGet: {port: http}}}}}", liveness: ask("/", 1, 10, 3),
		},
		"what is given stays": {
			spec: `{serve: {probes: {liveness: {httpGet: {port: http, path: /x, scheme: HTTP}, timeoutSeconds: 2,
				periodSeconds: 3, successThreshold: 1, failureThreshold: 4}}}}`,
			liveness: ask("/x", 2, 3, 4),
		},
		"another handler is the only one": {
			spec: "{serve: {probes: {liveness: {exec: {command: ['true']}}}}}",
			liveness: &corev1.Probe{
				ProbeHandler:   corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}},
				TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
			},
		},
		"the service of a gRPC check is empty, not absent": {
			spec: "{serve: {probes: {liveness: {grpc: {port: 1}}}}}",
			liveness: &corev1.Probe{
				ProbeHandler:   corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 1, Service: new("")}},
				TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := Deployment(with(t, test.spec)).Spec.Template.Spec.Containers[0]
			assert.Equal(t, test.liveness, c.LivenessProbe)
			assert.Equal(t, ask("/readyz", 5, 5, 3), c.ReadinessProbe)
		})
	}
	t.Run("a start may take two minutes", func(t *testing.T) {
		assert.Equal(t, ask("/healthz", 5, 1, 120),
			Deployment(with(t, "{}")).Spec.Template.Spec.Containers[0].StartupProbe)
	})
}
