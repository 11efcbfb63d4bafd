package observe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

func end(code *int32, at int, reason string) lifecycle.RunEnd {
	return lifecycle.RunEnd{ExitCode: code, FinishedAt: new(second(at).Time), Reason: &reason}
}

func TestFinishedJob(t *testing.T) {
	deadline := jobIs(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)
	drained := withCondition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "")
	yearOne := func(pod *corev1.Pod) { agentStatus(pod).State.Terminated.FinishedAt = metav1.Time{} }
	cases := map[string]struct {
		verdict  batchv1.JobCondition
		pods     []corev1.Pod
		phase    lifecycle.RunPhase
		end      lifecycle.RunEnd
		reason   string
		contains []string
	}{
		"A03 exit code 1": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(1, "Error"))},
			lifecycle.RunFailed, end(new(int32(1)), 30, "Error"), v1alpha1.ReasonRunFailed, []string{"exit code 1"}},
		"exit code 0": {
			complete, []corev1.Pod{runPod(corev1.PodSucceeded, exited(0, "Completed"))},
			lifecycle.RunSucceeded, end(new(int32(0)), 30, "Completed"), v1alpha1.ReasonCompleted, []string{"exit code 0"}},
		"A07 container's reason before the Job's": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(137, "OOMKilled"))},
			lifecycle.RunFailed, end(new(int32(137)), 30, "OOMKilled"), v1alpha1.ReasonOOMKilled, nil},
		"A22 agent found by name": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(4, "Error"), withSidecar("istio-proxy", exited(0, "Completed")))},
			lifecycle.RunFailed, end(new(int32(4)), 30, "Error"), v1alpha1.ReasonRunFailed, []string{"exit code 4"}},
		"A23 failed and the pods are gone": {
			failedJob, nil,
			lifecycle.RunFailed, end(nil, 50, "BackoffLimitExceeded"), v1alpha1.ReasonExitUnknown, []string{"cannot be known"}},
		"completed and the pods are gone": {
			complete, nil,
			lifecycle.RunSucceeded, end(nil, 50, "CompletionsReached"), v1alpha1.ReasonCompleted, []string{"cannot be known"}},
		"A24 drained": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(143, "Error"), drained)},
			lifecycle.RunFailed, end(new(int32(143)), 30, "EvictionByEvictionAPI"), v1alpha1.ReasonDisrupted, []string{"not run again by itself"}},
		"A24 drained and the pod is gone": {
			byPolicy(policyTellsDisruption), nil,
			lifecycle.RunFailed, end(nil, 50, "DisruptionTarget"), v1alpha1.ReasonDisrupted, []string{"taken away", "not at fault", "not run again by itself"}},
		"A24 drained and the pod still tells more": {
			byPolicy(policyTellsDisruption), []corev1.Pod{runPod(corev1.PodFailed, exited(143, "Error"), drained)},
			lifecycle.RunFailed, end(new(int32(143)), 30, "EvictionByEvictionAPI"), v1alpha1.ReasonDisrupted, []string{"EvictionByEvictionAPI"}},
		"failed, the pod is gone and the Job tells the exit code": {
			byPolicy(policyTellsCode), nil,
			lifecycle.RunFailed, end(new(int32(7)), 50, "PodFailurePolicy"), v1alpha1.ReasonRunFailed, []string{"PodFailurePolicy", "exit code 7"}},
		"failed by the policy and the container still tells more": {
			byPolicy(policyTellsCode), []corev1.Pod{runPod(corev1.PodFailed, exited(4, "Error"))},
			lifecycle.RunFailed, end(new(int32(4)), 30, "Error"), v1alpha1.ReasonRunFailed, []string{"exit code 4"}},
		"A22 the Job tells the exit code of another container": {
			byPolicy("Container agent-proxy for pod t/c-1-abcde failed with exit code 7 matching FailJob rule at index 1"), nil,
			lifecycle.RunFailed, end(nil, 50, "PodFailurePolicy"), v1alpha1.ReasonExitUnknown, []string{"cannot be known"}},
		"the Job tells a code that no program has": {
			byPolicy("Container agent for pod t/c-1-abcde failed with exit code 99999999999 matching FailJob rule at index 1"), nil,
			lifecycle.RunFailed, end(nil, 50, "PodFailurePolicy"), v1alpha1.ReasonExitUnknown, nil},
		"the Job's text comes with another reason": {
			func() batchv1.JobCondition { c := failedJob; c.Message = policyTellsCode; return c }(), nil,
			lifecycle.RunFailed, end(nil, 50, "BackoffLimitExceeded"), v1alpha1.ReasonExitUnknown, nil},
		"the Job's text of a disruption comes with another reason": {
			func() batchv1.JobCondition { c := failedJob; c.Message = policyTellsDisruption; return c }(), nil,
			lifecycle.RunFailed, end(nil, 50, "BackoffLimitExceeded"), v1alpha1.ReasonExitUnknown, nil},
		"A38 evicted with exit code 0": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(0, "Completed"), because("Evicted", ""))},
			lifecycle.RunFailed, end(new(int32(0)), 30, "Evicted"), v1alpha1.ReasonEvicted, nil},
		"A38 failed with exit code 0": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(0, "Completed"))},
			lifecycle.RunFailed, end(new(int32(0)), 30, "BackoffLimitExceeded"), v1alpha1.ReasonRunFailed, []string{"BackoffLimitExceeded", "exit code 0"}},
		"A41 deadline, no pod failed": {
			deadline, nil,
			lifecycle.RunFailed, end(nil, 50, "DeadlineExceeded"), v1alpha1.ReasonDeadlineExceeded, []string{"activeDeadlineSeconds"}},
		"A41 deadline before the reason of the killed container": {
			deadline, []corev1.Pod{runPod(corev1.PodFailed, exited(137, "Error"))},
			lifecycle.RunFailed, end(new(int32(137)), 30, "DeadlineExceeded"), v1alpha1.ReasonDeadlineExceeded, nil},
		"A44 two pods, completed": {
			complete, []corev1.Pod{runPod(corev1.PodSucceeded, exited(0, "Completed"), named("c-1-zzzzz"), created(5)), runPod(corev1.PodFailed, exited(1, "Error"))},
			lifecycle.RunSucceeded, end(new(int32(0)), 30, "Completed"), v1alpha1.ReasonCompleted, []string{"exit code 0", "may have run more than once"}},
		"retries, the last counts": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(2, "Error"), named("c-1-zzzzz"), created(5)), runPod(corev1.PodFailed, exited(1, "Error"))},
			lifecycle.RunFailed, end(new(int32(2)), 30, "Error"), v1alpha1.ReasonRunFailed, []string{"exit code 2"}},
		"A45 init container": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(137, "ContainerStatusUnknown"), withInit("setup", exited(103, "Error")), yearOne)},
			lifecycle.RunFailed, end(nil, 50, "InitContainerFailed: setup ended with exit code 103"), v1alpha1.ReasonInitContainerFailed, []string{"setup", "103"}},
		"A45 agent still waiting": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, waitingFor("PodInitializing", ""), withInit("setup", exited(103, "Error")))},
			lifecycle.RunFailed, end(nil, 50, "InitContainerFailed: setup ended with exit code 103"), v1alpha1.ReasonInitContainerFailed, nil},
		"A45 code that the agent never had": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(137, "Error"), withInit("setup", exited(103, "Error")), yearOne)},
			lifecycle.RunFailed, end(nil, 50, "InitContainerFailed: setup ended with exit code 103"), v1alpha1.ReasonInitContainerFailed, nil},
		"A61 unknown end": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(137, "ContainerStatusUnknown"), yearOne)},
			lifecycle.RunFailed, end(nil, 50, "ContainerStatusUnknown"), v1alpha1.ReasonExitUnknown, nil},
		"program that did not start has no exit code": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(128, "StartError"))},
			lifecycle.RunFailed, end(nil, 30, "StartError"), v1alpha1.ReasonContainerCannotRun, nil},
		"A63 AppArmor": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, corev1.ContainerState{}, because("AppArmor", ""))},
			lifecycle.RunFailed, end(nil, 50, "AppArmor"), v1alpha1.ReasonAppArmor, nil},
		"A66 out of memory with exit code 0": {
			complete, []corev1.Pod{runPod(corev1.PodSucceeded, exited(0, "OOMKilled"))},
			lifecycle.RunSucceeded, end(new(int32(0)), 30, "OOMKilled"), v1alpha1.ReasonCompleted, []string{"OOMKilled"}},
		"pods of another Job": {
			failedJob, []corev1.Pod{runPod(corev1.PodFailed, exited(1, "Error"), func(p *corev1.Pod) { p.OwnerReferences = controlledBy("other") })},
			lifecycle.RunFailed, end(nil, 50, "BackoffLimitExceeded"), v1alpha1.ReasonExitUnknown, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			view := Job(JobFacts{Name: "c", Job: job(c.verdict), Pods: c.pods})
			assert.Equal(t, lifecycle.ObserveRun{Name: "c", Phase: c.phase, End: c.end}, view.Observation)
			assert.True(t, view.Finished)
			assert.Equal(t, second(50).Time, view.FinishedAt)
			assert.Equal(t, len(c.pods) > 1, view.ExtraPods)
			assert.Equal(t, c.reason, view.Cause.Reason, view.Cause.Message)
			for _, text := range c.contains {
				assert.Contains(t, view.Cause.Message, text)
			}
		})
	}
}

func TestA61NoTimeIsInvented(t *testing.T) {
	for name, at := range map[string]time.Time{"year 1": {}, "year 1970": time.Unix(0, 0)} {
		t.Run(name, func(t *testing.T) {
			failed := failedJob
			failed.LastTransitionTime = metav1.NewTime(at)
			assert.Nil(t, Job(JobFacts{Job: job(failed)}).Observation.End.FinishedAt)
		})
	}
}

func TestActiveJob(t *testing.T) {
	quotaText := `Error creating: pods "c-1-x7k2p" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0`
	ofJob := func(change func(*batchv1.Job)) *batchv1.Job {
		j := job()
		change(j)
		return j
	}
	cases := map[string]struct {
		job      *batchv1.Job
		pods     []corev1.Pod
		events   []corev1.Event
		reason   string
		contains []string
	}{
		"no pod yet":     {job(), nil, nil, v1alpha1.ReasonRunning, []string{"c-1 is being run"}},
		"running":        {job(), []corev1.Pod{runPod(corev1.PodRunning, running)}, nil, v1alpha1.ReasonRunning, []string{"c-1 is being run"}},
		"A08 bad image":  {job(), []corev1.Pod{runPod(corev1.PodPending, waitingFor("ImagePullBackOff", ""))}, nil, v1alpha1.ReasonImagePullFailed, []string{image}},
		"A22 proxy runs": {job(), []corev1.Pod{runPod(corev1.PodRunning, exited(4, "Error"), withSidecar("istio-proxy", running))}, nil, v1alpha1.ReasonSidecarStillRunning, []string{"istio-proxy", "exit code 4"}},
		"A22 proxy ended first": {
			job(), []corev1.Pod{runPod(corev1.PodRunning, running, withSidecar("istio-proxy", exited(0, "Completed")))}, nil, v1alpha1.ReasonRunning, nil},
		"A25 quota": {
			job(), nil, []corev1.Event{failedCreateEvent(9, quotaText), failedCreateEvent(3, "older"), {Reason: "Other", LastTimestamp: second(20)}}, v1alpha1.ReasonQuotaExceeded, []string{failedCreate, "exceeded quota: small"}},
		"A25 quota raised": {
			job(), []corev1.Pod{runPod(corev1.PodRunning, running)}, []corev1.Event{failedCreateEvent(9, quotaText)}, v1alpha1.ReasonRunning, nil},
		"A38 pod succeeded, Job silent": {
			job(), []corev1.Pod{runPod(corev1.PodSucceeded, exited(0, "Completed"))}, nil, v1alpha1.ReasonRunning, nil},
		"pod failed, Job silent": {
			job(), []corev1.Pod{runPod(corev1.PodFailed, exited(1, "Error"))}, nil, v1alpha1.ReasonRunning, nil},
		"condition that is not True": {
			job(batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionFalse}), nil, nil, v1alpha1.ReasonRunning, nil},
		"deadline passed, pod still ending": {
			job(jobIs(batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded)), []corev1.Pod{runPod(corev1.PodRunning, running, deleted)}, nil, v1alpha1.ReasonDeadlineExceeded, nil},
		"A47 suspended": {
			ofJob(func(j *batchv1.Job) { j.Spec.Suspend = new(true) }), nil, []corev1.Event{failedCreateEvent(9, quotaText)}, v1alpha1.ReasonJobSuspended, []string{"suspended by somebody else", `kubectl -n t patch job c-1 -p '{"spec":{"suspend":false}}'`}},
		"pod that only the Job knows": {
			ofJob(func(j *batchv1.Job) { j.Status.Active = 1 }), nil, []corev1.Event{failedCreateEvent(9, quotaText)}, v1alpha1.ReasonRunning, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			view := Job(JobFacts{Name: "c", Job: c.job, Pods: c.pods, Events: c.events})
			assert.Equal(t, lifecycle.ObserveRun{Name: "c", Phase: lifecycle.RunActive}, view.Observation)
			assert.False(t, view.Finished)
			assert.Zero(t, view.FinishedAt)
			assert.Equal(t, c.reason, view.Cause.Reason, view.Cause.Message)
			for _, text := range c.contains {
				assert.Contains(t, view.Cause.Message, text)
			}
		})
	}
}

func TestNeedsEvents(t *testing.T) {
	pods := []corev1.Pod{runPod(corev1.PodPending, corev1.ContainerState{})}
	tried := func(conditions ...batchv1.JobCondition) *batchv1.Job {
		tried := job(conditions...)
		tried.Status.StartTime = new(second(0))
		return tried
	}
	suspended := tried()
	suspended.Spec.Suspend = new(true)
	assert.True(t, NeedsEvents(tried(), nil))
	assert.False(t, NeedsEvents(job(), nil), "the Job controller has not tried yet")
	assert.False(t, NeedsEvents(tried(), pods), "a pod tells by itself")
	assert.False(t, NeedsEvents(suspended, nil), "a suspended Job makes no pod")
	assert.False(t, NeedsEvents(tried(complete), nil), "a finished Job makes no pod")
}

func TestEnded(t *testing.T) {
	for name, c := range map[string]struct {
		condition batchv1.JobCondition
		want      bool
	}{
		"completed":             {complete, true},
		"failed":                {failedJob, true},
		"about to fail":         {jobIs(batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded), false},
		"suspended":             {jobIs(batchv1.JobSuspended, "JobSuspended"), false},
		"not failed, expressly": {batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionFalse}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, Ended(job(c.condition))) })
	}
}

func TestA29UnstartedRunTakesNothingAwayWithIt(t *testing.T) {
	stuck := runPod(corev1.PodPending, waitingFor("ImagePullBackOff", ""))
	unschedulable := withCondition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, "0/1 nodes are available: 1 Insufficient cpu.")
	refused := []corev1.Event{failedCreateEvent(9, "exceeded quota: small")}
	tried := func(change func(*batchv1.JobStatus)) *batchv1.Job {
		tried := job()
		tried.Status.StartTime = new(second(0))
		change(&tried.Status)
		return tried
	}
	nothing := func(*batchv1.JobStatus) {}
	suspended := tried(nothing)
	suspended.Spec.Suspend = new(true)
	for name, c := range map[string]struct {
		job    *batchv1.Job
		pods   []corev1.Pod
		events []corev1.Event
		want   bool
	}{
		"bad image":                             {job(), []corev1.Pod{stuck}, nil, true},
		"no node":                               {job(), []corev1.Pod{runPod(corev1.PodPending, corev1.ContainerState{}, unschedulable)}, nil, true},
		"init container that fails":             {job(), []corev1.Pod{runPod(corev1.PodPending, waitingFor("PodInitializing", ""), withInit("setup", exited(1, "Error")))}, nil, true},
		"no pod yet":                            {job(), nil, nil, false},
		"about to start":                        {job(), []corev1.Pod{runPod(corev1.PodPending, waitingFor("ContainerCreating", ""))}, nil, false},
		"the program runs":                      {job(), []corev1.Pod{runPod(corev1.PodRunning, running)}, nil, false},
		"the program runs and is being stopped": {job(), []corev1.Pod{runPod(corev1.PodRunning, running, deleted)}, nil, false},
		"the program has ended, a sidecar has not": {job(), []corev1.Pod{runPod(corev1.PodRunning, exited(0, "Completed"), withSidecar("istio-proxy", running))}, nil, false},
		"the program ended before":                 {job(), []corev1.Pod{runPod(corev1.PodPending, waitingFor("ImagePullBackOff", ""), lastExit(1, "Error"))}, nil, false},
		"the program of another try runs":          {job(), []corev1.Pod{stuck, runPod(corev1.PodRunning, running, named("c-1-zzzzz"))}, nil, false},
		"the Job has ended":                        {job(failedJob), []corev1.Pod{stuck}, nil, false},
		"pod of another Job":                       {job(), []corev1.Pod{changed(stuck, []func(*corev1.Pod){func(p *corev1.Pod) { p.OwnerReferences = controlledBy("other") }})}, nil, false},
		"no pod, refused":                          {tried(nothing), nil, refused, true},
		"no pod, and nothing tells why":            {tried(nothing), nil, []corev1.Event{{Reason: "Other"}}, false},
		"a pod since it was refused":               {tried(nothing), []corev1.Pod{runPod(corev1.PodPending, waitingFor("ContainerCreating", ""))}, refused, false},
		"no pod, refused before it was tried":      {job(), nil, refused, false},
		"no pod, refused, and suspended":           {suspended, nil, refused, false},
		"refused, and a pod only the Job knows":    {tried(func(s *batchv1.JobStatus) { s.Active = 1 }), nil, refused, false},
		"refused after a try that failed":          {tried(func(s *batchv1.JobStatus) { s.Failed = 1 }), nil, refused, false},
		"refused after a try that succeeded":       {tried(func(s *batchv1.JobStatus) { s.Succeeded = 1 }), nil, refused, false},
		"refused after a failure not counted yet": {tried(func(s *batchv1.JobStatus) {
			s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"p"}}
		}), nil, refused, false},
		"refused after a success not counted yet": {tried(func(s *batchv1.JobStatus) {
			s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"p"}}
		}), nil, refused, false},
		"refused, nothing left to count": {tried(func(s *batchv1.JobStatus) { s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{} }), nil, refused, true},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, Unstarted(c.job, c.pods, c.events)) })
	}
}

func TestNeedsPods(t *testing.T) {
	failed := []corev1.Pod{runPod(corev1.PodFailed, exited(1, "Error"))}
	retried := job(failedJob)
	retried.Spec.BackoffLimit = new(int32(2))
	assert.False(t, NeedsPods(job(), nil), "it goes on")
	assert.True(t, NeedsPods(job(failedJob), nil), "a pod may tell the exit code")
	assert.True(t, NeedsPods(job(byPolicy(policyTellsDisruption)), nil), "a pod may tell the exit code")
	assert.False(t, NeedsPods(job(failedJob), failed), "the pod tells it")
	assert.True(t, NeedsPods(job(byPolicy(policyTellsCode)), nil), "the Job tells the exit code; a pod may tell the reason and the time")
	assert.True(t, NeedsPods(retried, failed), "there may be a later try")
}

func TestRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		run       *v1alpha1.RunEnd
		completed bool
		want      Cause
	}{
		"completed": {&v1alpha1.RunEnd{ExitCode: new(int32(0)), Reason: new("Completed")}, true,
			Cause{v1alpha1.ReasonCompleted, "The program ended with exit code 0 (Completed)."}},
		"failed": {&v1alpha1.RunEnd{ExitCode: new(int32(137)), Reason: new("OOMKilled")}, false,
			Cause{v1alpha1.ReasonRunFailed, "The program ended with exit code 137 (OOMKilled)."}},
		"A23 failed, no code": {&v1alpha1.RunEnd{Reason: new("BackoffLimitExceeded")}, false,
			Cause{v1alpha1.ReasonRunFailed, "The program ended with an exit code that is not known (BackoffLimitExceeded)."}},
		"failed, no reason": {&v1alpha1.RunEnd{ExitCode: new(int32(1))}, false,
			Cause{v1alpha1.ReasonRunFailed, "The program ended with exit code 1."}},
		"the Job is gone": {&v1alpha1.RunEnd{Reason: new(v1alpha1.ReasonRunLost)}, false,
			Cause{v1alpha1.ReasonRunLost, "The program ended with an exit code that is not known (RunLost)."}},
		"nothing is known": {nil, false,
			Cause{v1alpha1.ReasonRunFailed, "The program ended with an exit code that is not known."}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, Recorded(c.run, c.completed)) })
	}
}

func TestA44RetriesThatTheJobMayMakeAreNotExtra(t *testing.T) {
	retried := job(failedJob)
	retried.Status.Failed = 3
	assert.True(t, Job(JobFacts{Job: retried}).ExtraPods)
	retried.Spec.BackoffLimit = new(int32(2))
	assert.False(t, Job(JobFacts{Job: retried}).ExtraPods)
}
