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
			assert.Nil(t, spec.PodFailurePolicy)
			assert.Nil(t, spec.ManualSelector)
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
		"all that the document can say": {
			spec: `{schedule: {cron: c, timeZone: Europe/Berlin, startingDeadlineSeconds: 0, suspend: true,
				concurrencyPolicy: Allow, successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 9}}`,
			want: batchv1.CronJobSpec{
				Schedule: "c", TimeZone: new("Europe/Berlin"), StartingDeadlineSeconds: new(int64(0)),
				Suspend: new(true), ConcurrencyPolicy: batchv1.AllowConcurrent,
				SuccessfulJobsHistoryLimit: new(int32(0)), FailedJobsHistoryLimit: new(int32(9)),
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
