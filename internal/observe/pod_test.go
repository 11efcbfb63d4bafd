package observe

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

func TestPodNamesTheCause(t *testing.T) {
	pullError := `Failed to pull image "` + image + `": rpc error: code = NotFound desc = ` + image + `: not found`
	gated := withCondition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonSchedulingGated, "")
	unschedulable := func(message string) func(*corev1.Pod) {
		return withCondition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, message)
	}
	pending := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	initializing := waitingFor("PodInitializing", "")
	cases := map[string]struct {
		pod      corev1.Pod
		reason   string
		contains []string
	}{
		"A08 image not found": {servePod(waitingFor("ErrImagePull", pullError)), v1alpha1.ReasonImagePullFailed, []string{image, "was not found"}},
		"image of a registry that refuses access": {
			servePod(waitingFor("ErrImagePull", "pull access denied, repository does not exist or may require authorization")),
			v1alpha1.ReasonImagePullFailed, []string{"imagePullSecrets"}},
		"image whose name looks like an error": {
			runPod(corev1.PodPending, waitingFor("ErrImagePull", "dial tcp: lookup x/unauthorized:1: no such host"), func(p *corev1.Pod) { p.Spec.Containers[0].Image = "x/unauthorized:1" }),
			v1alpha1.ReasonImagePullFailed, []string{"cannot be reached"}},
		"image that may not be pulled":   {servePod(waitingFor("ErrImageNeverPull", "")), v1alpha1.ReasonImagePullFailed, []string{"Never"}},
		"image with a bad name":          {servePod(waitingFor("InvalidImageName", "couldn't parse")), v1alpha1.ReasonInvalidImageName, []string{image, "spec.image"}},
		"A09 missing Secret":             {servePod(waitingFor("CreateContainerConfigError", `secret "keys" not found`)), v1alpha1.ReasonContainerConfigError, []string{`Secret "keys" does not exist`}},
		"A09 missing key of a ConfigMap": {servePod(waitingFor("CreateContainerConfigError", "couldn't find key absent in ConfigMap t/prompts")), v1alpha1.ReasonContainerConfigError, []string{`ConfigMap "prompts" has no key "absent"`}},
		"image that runs as root":        {servePod(waitingFor("CreateContainerConfigError", "container has runAsNonRoot and image will run as root (pod: x)")), v1alpha1.ReasonContainerConfigError, []string{"run as root"}},
		"unknown settings":               {servePod(waitingFor("CreateContainerError", "canary")), v1alpha1.ReasonContainerConfigError, []string{"kubectl -n t describe pod s-1-abcde"}},
		"program that does not exist":    {servePod(waitingFor("RunContainerError", `exec: "/bin/agent": stat /bin/agent: no such file or directory`)), v1alpha1.ReasonContainerCannotRun, []string{`"/bin/agent"`, "does not exist in the image"}},
		"program that did not start": {
			runPod(corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: "exec: permission denied"}}),
			v1alpha1.ReasonContainerCannotRun, []string{"may not be executed"}},
		"A58 crash loop":                                  {servePod(waitingFor("CrashLoopBackOff", "back-off 20s restarting failed container"), lastExit(3, "Error")), v1alpha1.ReasonCrashLooping, []string{"exit code 3", "kubectl -n t logs s-1-abcde -c agent --previous\""}},
		"crash loop of an unknown code":                   {servePod(waitingFor("CrashLoopBackOff", "")), v1alpha1.ReasonCrashLooping, []string{"again and again"}},
		"crash loop for want of memory":                   {servePod(waitingFor("CrashLoopBackOff", ""), lastExit(137, "OOMKilled")), v1alpha1.ReasonOOMKilled, []string{"limits.memory"}},
		"A07 out of memory":                               {runPod(corev1.PodFailed, exited(137, "OOMKilled")), v1alpha1.ReasonOOMKilled, []string{"137"}},
		"program that failed":                             {runPod(corev1.PodFailed, exited(4, "Error")), v1alpha1.ReasonRunFailed, []string{"exit code 4", "kubectl -n t logs c-1-abcde -c agent\""}},
		"A61 end that the node lost":                      {runPod(corev1.PodFailed, exited(137, "ContainerStatusUnknown")), v1alpha1.ReasonExitUnknown, []string{"ContainerStatusUnknown"}},
		"crash loop of a program that cannot start":       {servePod(waitingFor("CrashLoopBackOff", ""), lastExit(128, "StartError")), v1alpha1.ReasonContainerCannotRun, []string{"/bin/agent"}},
		"A22 pod that failed with a sidecar's old status": {runPod(corev1.PodFailed, exited(4, "Error"), withSidecar("istio-proxy", running)), v1alpha1.ReasonRunFailed, []string{"exit code 4"}},
		"A22 sidecar before the agent":                    {runPod(corev1.PodRunning, exited(4, "Error"), withSidecar("istio-proxy", running)), v1alpha1.ReasonSidecarStillRunning, []string{"exit code 4", "istio-proxy"}},
		"sidecar whose image is missing":                  {servePod(running, withSidecar("istio-proxy", waitingFor("ImagePullBackOff", ""))), v1alpha1.ReasonImagePullFailed, []string{"istio-proxy", "registry.test/proxy:1"}},
		"sidecar that failed the pod":                     {runPod(corev1.PodFailed, exited(0, "Completed"), withSidecar("proxy", exited(2, "Error"))), v1alpha1.ReasonRunFailed, []string{"Container proxy", "exit code 2", "kubectl -n t logs c-1-abcde -c proxy\""}},
		"A45 init container that failed":                  {runPod(corev1.PodFailed, exited(137, "ContainerStatusUnknown"), withInit("setup", exited(103, "Error"))), v1alpha1.ReasonInitContainerFailed, []string{"setup", "103"}},
		"init container behind the agent":                 {runPod(corev1.PodPending, initializing, withInit("setup", waitingFor("ImagePullBackOff", ""))), v1alpha1.ReasonImagePullFailed, []string{"setup", "registry.test/init:1"}},
		"A27 claim that does not exist":                   {runPod(corev1.PodPending, corev1.ContainerState{}, withClaim("nope"), unschedulable(`0/1 nodes are available: persistentvolumeclaim "nope" not found. not found`)), v1alpha1.ReasonVolumeUnavailable, []string{`"nope"`, "not found"}},
		"A27 claim that is not bound":                     {runPod(corev1.PodPending, corev1.ContainerState{}, withClaim("work"), unschedulable("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.")), v1alpha1.ReasonVolumeUnavailable, []string{`"work"`, "unbound"}},
		"A27 claim that is not bound, in fewer words":     {runPod(corev1.PodPending, corev1.ContainerState{}, withClaim("work"), unschedulable("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found")), v1alpha1.ReasonVolumeUnavailable, []string{"PersistentVolumeClaims. Create or bind"}},
		"no node fits":                                    {runPod(corev1.PodPending, corev1.ContainerState{}, unschedulable("0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match PersistentVolume's node affinity.")), v1alpha1.ReasonUnschedulable, []string{"Insufficient cpu, node(s) didn't match"}},
		"held by a gate": {runPod(corev1.PodPending, corev1.ContainerState{}, gated, func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}
		}), v1alpha1.ReasonUnschedulable, []string{"kueue.x-k8s.io/admission"}},
		"A63 AppArmor, pod pending":          {runPod(corev1.PodPending, pending, because("AppArmor", `Cannot enforce AppArmor: profile "not-loaded" is not loaded`)), v1alpha1.ReasonAppArmor, []string{"cannot enforce AppArmor"}},
		"A63 AppArmor, pod failed":           {runPod(corev1.PodFailed, corev1.ContainerState{}, because("AppArmor", ""), localhostProfile("not-loaded")), v1alpha1.ReasonAppArmor, []string{"cannot enforce AppArmor", `"not-loaded"`}},
		"A63 AppArmor, container not made":   {servePod(waitingFor("CreateContainerError", "apparmor profile not found not-loaded"), localhostProfile("not-loaded")), v1alpha1.ReasonAppArmor, []string{`"not-loaded"`}},
		"evicted for what it wrote":          {runPod(corev1.PodFailed, exited(137, "Error"), because("Evicted", `Container agent exceeded its local ephemeral storage limit "1Mi". `)), v1alpha1.ReasonEvicted, []string{"pod.resources.limits.ephemeral-storage"}},
		"stopped by a probe again and again": {servePod(waitingFor("CrashLoopBackOff", ""), lastExit(0, "Completed")), v1alpha1.ReasonCrashLooping, []string{"exit code 0", "liveness or startup probe", "kubectl -n t describe pod s-1-abcde"}},
		"user of the pod that is root":       {servePod(waitingFor("CreateContainerConfigError", "container's runAsUser breaks non-root policy (pod: x)")), v1alpha1.ReasonContainerConfigError, []string{"run as root"}},
		"node that refused the pod":          {runPod(corev1.PodFailed, corev1.ContainerState{}, because("OutOfcpu", "")), v1alpha1.ReasonUnschedulable, []string{"OutOfcpu"}},
		"A38 evicted with exit code 0":       {runPod(corev1.PodFailed, exited(0, "Completed"), because("Evicted", "The node was low on resource: ephemeral-storage. Threshold quantity: 1, available: 0.")), v1alpha1.ReasonEvicted, []string{"ephemeral-storage"}},
		"A24 drained":                        {runPod(corev1.PodFailed, exited(143, "Error"), withCondition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "")), v1alpha1.ReasonDisrupted, []string{"EvictionByEvictionAPI"}},
		"A29 stuck in its deletion":          {runPod(corev1.PodRunning, running, deleted), v1alpha1.ReasonDisrupted, []string{"is being deleted"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cause := Pod(&c.pod)
			assert.Equal(t, c.reason, cause.Reason, cause.Message)
			for _, text := range append(c.contains, c.pod.Name) {
				assert.Contains(t, cause.Message, text)
			}
		})
	}
}

func TestPodFindsNothingWrong(t *testing.T) {
	cases := map[string]corev1.Pod{
		"starting":               servePod(waitingFor("ContainerCreating", "")),
		"running":                servePod(running),
		"restarted and ready":    servePod(running, lastExit(1, "Error")),
		"ended well":             runPod(corev1.PodSucceeded, exited(0, "Completed")),
		"native sidecar left":    runPod(corev1.PodRunning, exited(0, "Completed"), withInit("proxy", running), native),
		"native sidecar stopped": runPod(corev1.PodRunning, exited(0, "Completed"), withInit("proxy", exited(143, "Error")), native),
		"drained after its end":  runPod(corev1.PodSucceeded, exited(0, "Completed"), withCondition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "")),
		"init container done":    servePod(running, withInit("setup", exited(0, "Completed"))),
		"without any status":     {},
	}
	for name, pod := range cases {
		t.Run(name, func(t *testing.T) { assert.Zero(t, Pod(&pod)) })
	}
	assert.Zero(t, Pod(nil))
}

// Each group holds the faces that one fault shows in turn.
func TestPodSaysTheSameWhileTheKubeletAlternates(t *testing.T) {
	notFound := "rpc error: " + image + ": not found"
	unscheduled := func(message string) corev1.Pod {
		return runPod(corev1.PodPending, corev1.ContainerState{}, withCondition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, message))
	}
	groups := map[string][]corev1.Pod{
		"pull error and back-off": {
			servePod(waitingFor("ErrImagePull", notFound)),
			servePod(waitingFor("ImagePullBackOff", `Back-off pulling image "`+image+`": ErrImagePull: `+notFound)),
		},
		"A58 crash, back-off, next try": {
			servePod(exited(1, "Error")),
			servePod(waitingFor("CrashLoopBackOff", "back-off 10s"), lastExit(1, "Error")),
			servePod(waitingFor("CrashLoopBackOff", "back-off 5m0s"), lastExit(1, "Error"), lastExit(1, "Error")),
			servePod(running, lastExit(1, "Error"), func(p *corev1.Pod) { agentStatus(p).Ready = false }),
		},
		"init container and its next try": {
			servePod(waitingFor("PodInitializing", ""), withInit("setup", exited(1, "Error"))),
			servePod(waitingFor("PodInitializing", ""), withInit("setup", running), func(p *corev1.Pod) {
				p.Status.InitContainerStatuses[0].LastTerminationState = exited(1, "Error")
			}),
		},
		"more nodes of the same kinds": {
			unscheduled("0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims found."),
			unscheduled("0/9 nodes are available: 4 Insufficient cpu, 5 node(s) had untolerated taint {a: b}. no new claims to deallocate, preemption: none"),
		},
	}
	for name, pods := range groups {
		t.Run(name, func(t *testing.T) {
			first := Pod(&pods[0])
			assert.NotZero(t, first)
			for _, pod := range pods[1:] {
				assert.Equal(t, first, Pod(&pod))
			}
		})
	}
}

func TestA39NoTextOfTheKubeletIsCopied(t *testing.T) {
	const canary = "canary-5f1e"
	for _, reason := range []string{"ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff", "InvalidImageName"} {
		pod := servePod(waitingFor(reason, "https://user:"+canary+"@registry.test failed"))
		assert.NotZero(t, Pod(&pod), reason)
		assert.NotContains(t, Pod(&pod).Message, canary, reason)
	}
	for _, reason := range []string{"Error", "StartError", "ContainerStatusUnknown", "OOMKilled"} {
		pod := runPod(corev1.PodFailed, exited(1, reason))
		agentStatus(&pod).State.Terminated.Message = "token=" + canary
		assert.NotZero(t, Pod(&pod), reason)
		assert.NotContains(t, Pod(&pod).Message, canary, reason)
	}
}

// native makes the first init container a native sidecar.
func native(pod *corev1.Pod) {
	pod.Spec.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
}

func localhostProfile(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}}
	}
}
