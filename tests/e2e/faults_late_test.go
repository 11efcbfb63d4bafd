package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// faultsFromTheStart are those of containers and of what others do to them.
func faultsFromTheStart() []fault {
	type spec = v1alpha1.LoomAgentSpec
	waits := commandSpec("run", "--sleep=1h")
	return []fault{
		{
			chapter: ofStart, what: "A08 The image cannot be pulled", agent: "no-image",
			spec:  with(servingSpec(), func(s *spec) { s.Image = absentImage }),
			state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonImagePullFailed,
		},
		{
			chapter: ofStart, what: "The image may not be pulled and is not there", agent: "never-pulled",
			spec: with(commandSpec("run"), func(s *spec) {
				s.Image, s.Pod = absentImage, &v1alpha1.PodSettings{ImagePullPolicy: corev1.PullNever}
			}),
			state: v1alpha1.StateRunning, reason: v1alpha1.ReasonImagePullFailed,
		},
		{
			chapter: ofStart, what: "A29 A scheduled run is stuck", agent: "stuck",
			spec:  with(scheduleSpec(everyMinute), func(s *spec) { s.Image = absentImage }),
			state: v1alpha1.StateRunning, reason: v1alpha1.ReasonRunBlocked,
		},
		{
			chapter: ofStart, what: "The program would run as root", agent: "root", in: inPlain, spec: withAdmission(servingSpec(), "as-root"),
			before: func(t *testing.T, namespace string) {
				admission(t, namespace, "as-root", mutates, `[JSONPatch{op: "add", path: "/spec/securityContext/runAsUser", value: 0}]`)
			},
			state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonContainerConfigError,
		},
		{
			chapter: ofStart, what: "The program is not in the image", agent: "no-program",
			spec:  with(commandSpec(), func(s *spec) { s.Command.Entrypoint = []string{"/bin/absent"} }),
			state: v1alpha1.StateFailed, reason: v1alpha1.ReasonContainerCannotRun,
		},
		{
			chapter: ofStart, what: "A45 An init container of somebody else fails", agent: "bad-init", spec: withAdmission(commandSpec("run"), "init"),
			before: func(t *testing.T, namespace string) {
				admission(t, namespace, "init", mutates, `[JSONPatch{op: "add", path: "/spec/initContainers", value: [`+injected("initContainers", "fetch-keys", `"run", "--exit-code=103"`)+`]}]`)
			},
			state: v1alpha1.StateFailed, reason: v1alpha1.ReasonInitContainerFailed,
		},
		{
			chapter: ofRun, what: "The program fails", agent: "failing", spec: commandSpec("run", "--exit-code=7"),
			state: v1alpha1.StateFailed, reason: v1alpha1.ReasonRunFailed,
		},
		{
			chapter: ofRun, what: "A58 The program crashes again and again", agent: crashing,
			spec:  with(servingSpec(), func(s *spec) { s.Agent = agentWith(`{"exitCode":4}`) }),
			state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonCrashLooping,
		},
		{
			chapter: ofRun, what: "A liveness probe fails", agent: "bad-probe",
			spec: with(servingSpec(), func(s *spec) {
				s.Serve = &v1alpha1.ServeSettings{Probes: &v1alpha1.Probes{Liveness: &corev1.Probe{
					PeriodSeconds: 1, FailureThreshold: 1,
					ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/nothing", Port: intstr.FromString("http")}},
				}}}
			}),
			state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonCrashLooping,
		},
		{
			chapter: ofRun, what: "A readiness probe never succeeds", agent: "not-ready",
			spec: with(servingSpec(), func(s *spec) {
				s.Serve = &v1alpha1.ServeSettings{Probes: &v1alpha1.Probes{Readiness: &corev1.Probe{
					ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/nothing", Port: intstr.FromString("http")}},
				}}}
			}),
			state: v1alpha1.StateRunning, reason: v1alpha1.ReasonRolloutInProgress,
		},
		{
			chapter: ofRun, what: "A07 The program needs more memory than its limit", agent: "hungry",
			spec:  with(commandSpec("show", "/dev/zero"), func(s *spec) { s.Pod = limits(corev1.ResourceMemory, "48Mi") }),
			state: v1alpha1.StateFailed, reason: v1alpha1.ReasonOOMKilled,
		},
		{
			chapter: ofRun, what: "The program writes more than its limit", agent: "chatty",
			spec: with(commandSpec("run"), func(s *spec) {
				s.Agent = agentWith(`{"sleep":"1h","message":"` + strings.Repeat("talk ", 100_000) + `"}`)
				s.Pod = limits(corev1.ResourceEphemeralStorage, "256Ki")
			}),
			state: v1alpha1.StateFailed, reason: v1alpha1.ReasonEvicted,
		},
		{
			chapter: ofRun, what: "A41 The run passes its deadline", agent: "late",
			spec:  with(commandSpec("serve"), func(s *spec) { s.Run = &v1alpha1.RunSettings{ActiveDeadlineSeconds: new(int64(3))} }),
			state: v1alpha1.StateFailed, reason: v1alpha1.ReasonDeadlineExceeded,
		},
		{
			chapter: ofRun, what: "A22 A sidecar of somebody else runs on", agent: "sidecar", spec: withAdmission(commandSpec("run", "--exit-code=4"), "mesh"),
			before: func(t *testing.T, namespace string) {
				admission(t, namespace, "mesh", mutates, `[JSONPatch{op: "add", path: "/spec/containers/0", value: `+injected("containers", "mesh-proxy", `"serve"`)+`}]`)
			},
			state: v1alpha1.StateRunning, reason: v1alpha1.ReasonSidecarStillRunning,
		},
		{
			chapter: ofOthers, what: "A24 The pod is drained from its node", agent: "drained", spec: waits,
			after: func(t *testing.T, _ *v1alpha1.LoomAgent, pod corev1.Pod) {
				keep(t, pod) // Without its pod, only the Job can tell, in fewer words.
				eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
				require.NoError(t, cluster.Client.SubResource("eviction").Create(t.Context(), &pod, eviction))
			},
			state: v1alpha1.StateFailed, reason: v1alpha1.ReasonDisrupted,
		},
		{
			chapter: ofOthers, what: "A47 Somebody suspends the Job", agent: "held", spec: waits,
			after: func(t *testing.T, agent *v1alpha1.LoomAgent, _ corev1.Pod) {
				kubectl(t, agent.Namespace, "patch", "job", agent.Status.Workload.Name, "--patch", `{"spec":{"suspend":true}}`)
			},
			state: v1alpha1.StateRunning, reason: v1alpha1.ReasonJobSuspended,
		},
		{
			chapter: ofOthers, what: "Somebody deletes the Job", agent: "lost", spec: waits,
			after: func(t *testing.T, agent *v1alpha1.LoomAgent, _ corev1.Pod) {
				job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: agent.Namespace, Name: agent.Status.Workload.Name}}
				require.NoError(t, cluster.Client.Delete(t.Context(), job, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground)))
			},
			state: v1alpha1.StateFailed, reason: v1alpha1.ReasonRunLost,
		},
	}
}
