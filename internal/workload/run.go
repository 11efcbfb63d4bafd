package workload

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

const (
	// successfulJobsHistoryLimit and failedJobsHistoryLimit are Kubernetes' own.
	successfulJobsHistoryLimit int32 = 3
	failedJobsHistoryLimit     int32 = 1
)

// Job returns the Job that runs a command once. It is suspended, so that its
// create does no harm; the caller resumes it once its UID is recorded, and never
// while the agent is suspended (design section 7).
func Job(in Input) *batchv1.Job {
	agent := in.Agent.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: meta(agent, JobName(agent), ComponentRun),
		Spec:       jobSpec(in, ComponentRun),
	}
	job.Annotations = generationMark(agent)
	job.Spec.Suspend = new(true)
	job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	return job
}

// CronJob returns the CronJob of a scheduled agent. The Jobs that it starts
// carry the generation of the document that they come from. They get no TTL:
// the history limits remove them. One of each kind is kept in any case: with a
// limit of 0 Kubernetes removes a Job before its end can be recorded.
func CronJob(in Input) *batchv1.CronJob {
	agent := in.Agent.DeepCopy()
	var schedule v1alpha1.ScheduleSpec
	if agent.Spec.Schedule != nil {
		schedule = *agent.Spec.Schedule
	}
	template := batchv1.JobTemplateSpec{Spec: jobSpec(in, ComponentSchedule)}
	template.Labels = Labels(agent, ComponentSchedule)
	template.Annotations = generationMark(agent)

	cronJob := &batchv1.CronJob{
		ObjectMeta: meta(agent, CronJobName(agent), ComponentSchedule),
		Spec: batchv1.CronJobSpec{
			Schedule:                   schedule.Cron,
			TimeZone:                   schedule.TimeZone,
			StartingDeadlineSeconds:    schedule.StartingDeadlineSeconds,
			Suspend:                    new(agent.Suspended() || valueOr(schedule.Suspend, false)),
			ConcurrencyPolicy:          orDefault(schedule.ConcurrencyPolicy, batchv1.ForbidConcurrent),
			SuccessfulJobsHistoryLimit: new(max(1, valueOr(schedule.SuccessfulJobsHistoryLimit, successfulJobsHistoryLimit))),
			FailedJobsHistoryLimit:     new(max(1, valueOr(schedule.FailedJobsHistoryLimit, failedJobsHistoryLimit))),
			JobTemplate:                template,
		},
	}
	cronJob.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("CronJob"))
	return cronJob
}

// jobSpec returns the Job of one run: one pod, and no second try unless the
// document asks for it, since a run costs money and changes things (case A03).
// A pod that was taken away is replaced only once it has ended, which makes it
// less likely that two run at once (case A44).
func jobSpec(in Input, component string) batchv1.JobSpec {
	var run v1alpha1.RunSettings
	if settings := in.Agent.DeepCopy().Spec.Run; settings != nil {
		run = *settings
	}
	backoffLimit := valueOr(run.BackoffLimit, 0)
	return batchv1.JobSpec{
		PodFailurePolicy:      failurePolicy(backoffLimit),
		Parallelism:           new(int32(1)),
		Completions:           new(int32(1)),
		CompletionMode:        new(batchv1.NonIndexedCompletion),
		BackoffLimit:          new(backoffLimit),
		ActiveDeadlineSeconds: run.ActiveDeadlineSeconds,
		PodReplacementPolicy:  new(batchv1.Failed),
		Template:              podTemplate(in, component),
	}
}

// failurePolicy makes the Job itself tell why its one pod failed: an eviction
// removes the pod before the Job has ended, and with it the exit code and the
// disruption (case A24). It changes nothing else, since the first failure ends
// such a Job anyway; a Job with further tries keeps Kubernetes' own rules.
func failurePolicy(backoffLimit int32) *batchv1.PodFailurePolicy {
	if backoffLimit > 0 {
		return nil
	}
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:          batchv1.PodFailurePolicyActionFailJob,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}, {
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: new(v1alpha1.AgentContainer), Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0},
		},
	}}}
}

func generationMark(agent *v1alpha1.LoomAgent) map[string]string {
	return map[string]string{v1alpha1.GenerationAnnotation: strconv.FormatInt(agent.Generation, 10)}
}
