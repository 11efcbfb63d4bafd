package observe

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

// TestViews judges whatever the cluster may show. Every answer has a reason of
// the closed list and a message, and says the same when the facts come in
// another order (case A37).
func TestViews(t *testing.T) {
	reasons := closedList(t)
	for seed := range uint64(3000) {
		checkViews(t, seed, reasons)
	}
}

func FuzzViews(f *testing.F) {
	reasons := closedList(f)
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { checkViews(t, seed, reasons) })
}

func checkViews(t *testing.T, seed uint64, reasons []string) {
	g := dice{rand.New(rand.NewPCG(seed, 1))}
	checkServe(t, g, reasons)
	checkRun(t, g, reasons)
	checkSchedule(t, g, reasons)
	if t.Failed() {
		t.Fatalf("seed %d", seed)
	}
}

func checkServe(t *testing.T, g dice, reasons []string) {
	facts := DeploymentFacts{Name: "s", Deployment: g.deployment(), Pods: g.pods(), Recorded: pick(g, "", lifecycle.Available, lifecycle.Unavailable)}
	view := Deployment(facts)
	assertFilled(t, reasons, view.Cause, append(podNames(facts.Pods), "Deployment s", "Agent s")...)
	if view.Observation != nil {
		assert.Equal(t, view.Available, view.Observation.Availability == lifecycle.Available)
	}
	facts.Pods = g.shuffledPods(facts.Pods)
	assert.Equal(t, view, Deployment(facts))
	for _, pod := range facts.Pods {
		if cause := Pod(&pod); cause != (Cause{}) {
			assertFilled(t, reasons, cause, pod.Name)
		}
	}
}

func checkRun(t *testing.T, g dice, reasons []string) {
	facts := JobFacts{Name: "c", Job: new(g.job()), Pods: g.pods(), Events: g.events()}
	view := Job(facts)
	assertFilled(t, reasons, view.Cause, append(podNames(facts.Pods), "Job "+facts.Job.Name)...)
	assert.Equal(t, view.Finished, view.Observation.Phase != lifecycle.RunActive)
	if !view.Finished {
		assert.Zero(t, view.Observation.End)
	}
	if at := view.Observation.End.FinishedAt; at != nil {
		assert.Greater(t, at.Year(), 1970)
	}
	facts.Pods, facts.Events = g.shuffledPods(facts.Pods), shuffled(g, facts.Events)
	assert.Equal(t, view, Job(facts))
}

func checkSchedule(t *testing.T, g dice, reasons []string) {
	facts := schedule(g.job(), g.job(), g.job())
	facts.Pods, facts.Recorded = g.pods(), pick(g, nil, recordedUntil(20, "job-uid"))
	facts.Events = map[types.UID][]corev1.Event{"job-uid": g.events()}
	view := Schedule(facts)
	for _, run := range view.Finished {
		assertFilled(t, reasons, run.Cause, append(podNames(facts.Pods), "Job c-")...)
	}
	if view.Blocked != (Cause{}) {
		assertFilled(t, reasons, view.Blocked, "Run c-")
	}
	facts.Jobs, facts.Pods = shuffled(g, facts.Jobs), g.shuffledPods(facts.Pods)
	assert.Equal(t, view, Schedule(facts))
	facts.Recorded = view.Recorded
	assert.Empty(t, Schedule(facts).Finished)
}

// assertFilled also wants the message to name one of the objects.
func assertFilled(t *testing.T, reasons []string, cause Cause, names ...string) {
	t.Helper()
	assert.Contains(t, reasons, cause.Reason)
	named := slices.ContainsFunc(names, func(name string) bool { return strings.Contains(cause.Message, name) })
	assert.True(t, named, cause.Message)
	assert.Less(t, len(cause.Message), 32768, "the API's limit for a message")
}

func podNames(pods []corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// closedList reads the reasons from their declaration.
func closedList(t testing.TB) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "../../apis/v1alpha1/reasons.go", nil, 0)
	require.NoError(t, err)
	var reasons []string
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			reason, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			reasons = append(reasons, reason)
		}
		return true
	})
	require.NotEmpty(t, reasons)
	return reasons
}

// dice makes objects that hold anything the cluster's vocabulary allows, in
// combinations that make no sense too.
type dice struct{ *rand.Rand }

func pick[T any](g dice, choices ...T) T { return choices[g.IntN(len(choices))] }

func shuffled[T any](g dice, list []T) []T {
	list = slices.Clone(list)
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// shuffledPods shuffles what the API does not order: pods and the conditions
// and statuses in them.
func (g dice) shuffledPods(pods []corev1.Pod) []corev1.Pod {
	pods = shuffled(g, pods)
	for i := range pods {
		pods[i].Status.Conditions = shuffled(g, pods[i].Status.Conditions)
		pods[i].Status.ContainerStatuses = shuffled(g, pods[i].Status.ContainerStatuses)
	}
	return pods
}

func (g dice) text() string {
	return pick(g, "", "Error", "Completed", "OOMKilled", "StartError", "ContainerStatusUnknown", "Evicted", "AppArmor", "NodeLost", "OutOfcpu",
		"DeadlineExceeded", "BackoffLimitExceeded", "FailedCreate", "Unschedulable", "SchedulingGated", "exceeded quota: ", "Invalid value: ",
		`pods "c-1-x7k2p" is forbidden: [minimum memory usage per Container is 1, maximum`, "0/0 nodes are available: 1 , 2 x", "\xff\x00", "…", "%!s(MISSING) %d")
}

func (g dice) state() corev1.ContainerState {
	var state corev1.ContainerState
	if g.IntN(3) == 0 {
		state.Waiting = &corev1.ContainerStateWaiting{Message: g.text(), Reason: pick(g, "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull",
			"InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff", "PodInitializing", g.text())}
	}
	if g.IntN(3) == 0 {
		state.Running = &corev1.ContainerStateRunning{}
	}
	if g.IntN(3) == 0 {
		at := pick(g, metav1.Time{}, metav1.Unix(0, 0), second(g.IntN(60)))
		state.Terminated = &corev1.ContainerStateTerminated{ExitCode: pick[int32](g, -1, 0, 1, 137), Reason: g.text(), Message: g.text(), FinishedAt: at}
	}
	return state
}

func (g dice) status(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: g.state(), LastTerminationState: g.state(), Ready: g.IntN(2) == 0}
}

func (g dice) pods() []corev1.Pod {
	var pods []corev1.Pod
	for i := range g.IntN(4) {
		pod := runPod(pick(g, "", corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed), g.state(),
			named(fmt.Sprintf("c-s-%d", i)), created(g.IntN(2)), because(g.text(), g.text()))
		pod.Spec.RestartPolicy = pick(g, "", corev1.RestartPolicyAlways, corev1.RestartPolicyNever)
		pod.OwnerReferences = pick(g, nil, controlledBy("other"), controlledBy(jobUID), controlledBy(jobUID))
		pod.Spec.Containers = pick(g, nil, pod.Spec.Containers)
		pod.Spec.InitContainers = pick(g, nil, []corev1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}})
		pod.Status.InitContainerStatuses = pick(g, nil, []corev1.ContainerStatus{g.status("setup"), g.status("proxy")})
		pod.Status.ContainerStatuses = pick(g, nil, pod.Status.ContainerStatuses, []corev1.ContainerStatus{g.status("z"), g.status("agent"), g.status("a")})
		if g.IntN(4) == 0 {
			deleted(&pod)
		}
		for _, of := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady, corev1.DisruptionTarget} {
			if g.IntN(2) == 0 {
				withCondition(of, pick(g, corev1.ConditionTrue, corev1.ConditionFalse), g.text(), g.text())(&pod)
			}
		}
		withHash(pick(g, "old", "new"))(&pod)
		pods = append(pods, pod)
	}
	return pods
}

func (g dice) job() batchv1.Job {
	var conditions []batchv1.JobCondition
	for _, of := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget} {
		if g.IntN(3) == 0 {
			conditions = append(conditions, batchv1.JobCondition{Type: of, Status: pick(g, corev1.ConditionTrue, corev1.ConditionFalse, "garbage"),
				Reason: pick(g, g.text(), batchv1.JobReasonPodFailurePolicy), Message: pick(g, g.text(), policyTellsCode, policyTellsDisruption), LastTransitionTime: pick(g, metav1.Time{}, second(g.IntN(60)))})
		}
	}
	job := tick(fmt.Sprintf("c-%d", g.IntN(1000)), conditions...)
	job.UID = pick(g, jobUID, types.UID(job.Name))
	job.Spec.Suspend, job.Spec.BackoffLimit = pick(g, nil, new(true), new(false)), pick(g, nil, new(int32(-1)), new(int32(0)))
	job.Spec.ActiveDeadlineSeconds = pick(g, nil, new(int64(5)))
	job.Status.Active, job.Status.Failed = int32(g.IntN(2)), int32(g.IntN(3))
	job.Annotations = pick(g, nil, job.Annotations, job.Annotations)
	return job
}

func (g dice) events() []corev1.Event {
	var events []corev1.Event
	for range g.IntN(3) {
		events = append(events, corev1.Event{Reason: pick(g, failedCreate, g.text()), Message: g.text(), LastTimestamp: pick(g, metav1.Time{}, second(g.IntN(9)))})
	}
	return events
}

func (g dice) deployment() *appsv1.Deployment {
	number := func() int32 { return int32(g.IntN(5)) - 1 }
	deployment := deployment(number(), counts(number(), number(), number()))
	deployment.Generation = int64(g.IntN(3))
	deployment.Spec.Replicas = pick(g, nil, deployment.Spec.Replicas)
	for _, of := range []appsv1.DeploymentConditionType{appsv1.DeploymentReplicaFailure, appsv1.DeploymentProgressing} {
		if g.IntN(3) == 0 {
			deployment.Status.Conditions = append(deployment.Status.Conditions, deploymentIs(of, pick(g, corev1.ConditionTrue, corev1.ConditionFalse), g.text(), g.text()))
		}
	}
	return pick(g, nil, deployment, deployment, deployment)
}
