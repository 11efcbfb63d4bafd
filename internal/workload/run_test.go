package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestA03ARunIsNotRepeatedUnlessTheDocumentAsksForIt(t *testing.T) {
	in := with(t, "{command: {}, schedule: {cron: x}}")
	for name, spec := range map[string]batchv1.JobSpec{
		"Job": Job(in).Spec, "CronJob": CronJob(in).Spec.JobTemplate.Spec,
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, new(int32(0)), spec.BackoffLimit)
			assert.Equal(t, new(int32(1)), spec.Completions)
			assert.Equal(t, new(int32(1)), spec.Parallelism)
			assert.Equal(t, new(batchv1.Failed), spec.PodReplacementPolicy)
			assert.Equal(t, corev1.RestartPolicyNever, spec.Template.Spec.RestartPolicy)
			assert.Nil(t, spec.ActiveDeadlineSeconds)
			assert.Nil(t, spec.ManualSelector)
		})
	}
}

// An eviction removes the pod before the Job has ended. The policy makes the Job
// tell why its pod failed, the disruption before the exit code that comes of it.
func TestA24TheJobItselfTellsWhyItsPodFailed(t *testing.T) {
	for name, c := range map[string]struct {
		run  string
		want *batchv1.PodFailurePolicy
	}{
		"one try": {"{}", &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			{Action: batchv1.PodFailurePolicyActionFailJob, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
			}},
			{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: new("agent"), Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0},
			}},
		}}},
		"more tries, which a policy that fails the Job would take away": {"{backoffLimit: 1}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := with(t, "{run: "+c.run+"}")
			assert.Equal(t, c.want, Job(in).Spec.PodFailurePolicy)
			assert.Equal(t, c.want, CronJob(in).Spec.JobTemplate.Spec.PodFailurePolicy)
		})
	}
}

func TestRunSettingsReachBothKinds(t *testing.T) {
	in := with(t, "{run: {backoffLimit: 2, activeDeadlineSeconds: 9}}")
	for name, spec := range map[string]batchv1.JobSpec{
		"Job": Job(in).Spec, "CronJob": CronJob(in).Spec.JobTemplate.Spec,
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, new(int32(2)), spec.BackoffLimit)
			assert.Equal(t, new(int64(9)), spec.ActiveDeadlineSeconds)
		})
	}
}

func TestJobIsCreatedSuspendedAndCarriesItsGeneration(t *testing.T) {
	for _, spec := range []string{"{command: {}}", "{command: {}, suspend: true}", "{command: {}, suspend: false}"} {
		t.Run(spec, func(t *testing.T) {
			in := with(t, spec)
			in.Agent.Generation = 42
			job := Job(in)
			assert.Equal(t, new(true), job.Spec.Suspend)
			assert.Equal(t, map[string]string{"loom.beyond10x.dev/generation": "42"}, job.Annotations)
			assert.NotContains(t, job.Spec.Template.Annotations, "loom.beyond10x.dev/generation")
			assert.Equal(t, JobName(in.Agent), job.Name)
			assert.Nil(t, job.Spec.Selector)
		})
	}
}

func TestCronJob(t *testing.T) {
	tests := map[string]struct {
		spec string
		want batchv1.CronJobSpec
	}{
		"defaults": {
			spec: `{schedule: {cron: "@daily"}}`,
			want: batchv1.CronJobSpec{
				Schedule: "@daily", Suspend: new(false), ConcurrencyPolicy: batchv1.ForbidConcurrent,
				SuccessfulJobsHistoryLimit: new(int32(3)), FailedJobsHistoryLimit: new(int32(1)),
			},
		},
		"the last run of each kind is kept to be recorded": {
			spec: "{schedule: {cron: c, successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0}}",
			want: batchv1.CronJobSpec{
				Schedule: "c", Suspend: new(false), ConcurrencyPolicy: batchv1.ForbidConcurrent,
				SuccessfulJobsHistoryLimit: new(int32(1)), FailedJobsHistoryLimit: new(int32(1)),
			},
		},
		"all that the document can say": {
			spec: `{schedule: {cron: c, timeZone: Europe/Berlin, startingDeadlineSeconds: 0, suspend: true,
				concurrencyPolicy: Allow, successfulJobsHistoryLimit: 4, failedJobsHistoryLimit: 9}}`,
			want: batchv1.CronJobSpec{
				Schedule: "c", TimeZone: new("Europe/Berlin"), StartingDeadlineSeconds: new(int64(0)),
				Suspend: new(true), ConcurrencyPolicy: batchv1.AllowConcurrent,
				SuccessfulJobsHistoryLimit: new(int32(4)), FailedJobsHistoryLimit: new(int32(9)),
			},
		},
		"the agent is suspended, its schedule is not": {
			spec: "{suspend: true, schedule: {cron: c, suspend: false}}",
			want: batchv1.CronJobSpec{
				Schedule: "c", Suspend: new(true), ConcurrencyPolicy: batchv1.ForbidConcurrent,
				SuccessfulJobsHistoryLimit: new(int32(3)), FailedJobsHistoryLimit: new(int32(1)),
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := with(t, test.spec)
			in.Agent.Generation = 42
			got := CronJob(in).Spec
			assert.Equal(t, map[string]string{"loom.beyond10x.dev/generation": "42"}, got.JobTemplate.Annotations)
			assert.Equal(t, Labels(in.Agent, ComponentSchedule), got.JobTemplate.Labels)
			assert.Nil(t, got.JobTemplate.Spec.Suspend)
			got.JobTemplate = batchv1.JobTemplateSpec{}
			assert.Equal(t, test.want, got)
		})
	}
}
