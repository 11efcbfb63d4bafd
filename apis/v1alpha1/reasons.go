package v1alpha1

// Reasons of conditions: a closed list, so that consumers can classify every
// one of them (seed create-outcome-unknown). docs/conditions.md is generated
// from these comments.
const (
	// ReasonAccepted: the check accepted the document.
	ReasonAccepted = "Accepted"
	// ReasonRefused: the check refused the document and nothing runs. Correct the fields that the message names.
	ReasonRefused = "Refused"
	// ReasonReconcileSuccess: the last pass reached its end.
	ReasonReconcileSuccess = "ReconcileSuccess"
	// ReasonReconcileError: the last pass failed. The message names what failed, and whether it is tried again by itself.
	ReasonReconcileError = "ReconcileError"
	// ReasonPaused: the paused annotation is set and the children stay as they are. Remove the annotation to go on.
	ReasonPaused = "Paused"
	// ReasonSuspended: the field spec.suspend, or spec.schedule.suspend, is true. Set it to false to go on.
	ReasonSuspended = "Suspended"
	// ReasonResolved: every object that the document names exists.
	ReasonResolved = "Resolved"
	// ReasonReferenceMissing: an object that the document names does not exist. Create it; the agent goes on without an edit.
	ReasonReferenceMissing = "ReferenceMissing"
	// ReasonReferenceUnreadable: an object that the document names could not be read. Check the permissions of the operator.
	ReasonReferenceUnreadable = "ReferenceUnreadable"
	// ReasonNameTaken: an object of the child's name belongs to somebody else and is left alone. Remove or rename it.
	ReasonNameTaken = "NameTaken"
	// ReasonChildForbidden: the API server did not let the operator read or write a child. The message has the server's text.
	ReasonChildForbidden = "ChildForbidden"
	// ReasonChildInvalid: the API server refused a child as invalid. The message has the server's text; correct the document.
	ReasonChildInvalid = "ChildInvalid"
	// ReasonReplacingVariant: the child of the former variant is being removed first.
	ReasonReplacingVariant = "ReplacingVariant"
	// ReasonDependencyNotReady: not examined, because an earlier condition is not True. Look at that one.
	ReasonDependencyNotReady = "DependencyNotReady"
	// ReasonChildTerminating: a child is being deleted and is made again once it is gone.
	ReasonChildTerminating = "ChildTerminating"

	// ReasonAvailable: the serving agent can be used.
	ReasonAvailable = "Available"
	// ReasonRolloutInProgress: pods of the current document are starting.
	ReasonRolloutInProgress = "RolloutInProgress"
	// ReasonProgressDeadlineExceeded: the rollout made no progress in time. The message has the Deployment's text.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonScaledToZero: the Deployment is scaled to no pods. Raise serve.replicas, or let an autoscaler do it.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonUnavailable: too few pods are ready.
	ReasonUnavailable = "Unavailable"

	// ReasonCompleted: the program ended with exit code 0, or its Job completed and the code cannot be known any more. The message tells which.
	ReasonCompleted = "Completed"
	// ReasonRunning: the program runs, or its pod is starting.
	ReasonRunning = "Running"
	// ReasonRunFailed: the program ended with another exit code. Read its log; a change of the document runs it again.
	ReasonRunFailed = "RunFailed"
	// ReasonRunLost: the Job vanished before its end could be recorded. Look for what the program did; a change of the document runs it again.
	ReasonRunLost = "RunLost"
	// ReasonExitUnknown: the run failed, and its exit code cannot be known because its pod or the status of its container is gone. Look for what the program did; a change of the document runs it again.
	ReasonExitUnknown = "ExitUnknown"
	// ReasonDeadlineExceeded: the run was stopped at its deadline, run.activeDeadlineSeconds.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonDisrupted: the cluster took the pod away, by a drain, an eviction or a lost node. The program is not at fault.
	ReasonDisrupted = "Disrupted"
	// ReasonEvicted: the node evicted the pod for want of a resource.
	ReasonEvicted = "Evicted"
	// ReasonSidecarStillRunning: the program has ended, and another container keeps its pod alive.
	ReasonSidecarStillRunning = "SidecarStillRunning"
	// ReasonJobSuspended: another controller, such as a queue, holds the Job suspended.
	ReasonJobSuspended = "JobSuspended"
	// ReasonCreateOutcomeUnknown: a create was started and the read that would tell its outcome fails. Nothing is created until a read succeeds, or a person who has looked removes the annotation loom.beyond10x.dev/create-pending.
	ReasonCreateOutcomeUnknown = "CreateOutcomeUnknown"

	// ReasonScheduled: the schedule is in force.
	ReasonScheduled = "Scheduled"
	// ReasonNoRunYet: no run of this generation has finished.
	ReasonNoRunYet = "NoRunYet"
	// ReasonLastRunSucceeded: the last run ended with exit code 0, or its Job completed and the code cannot be known any more.
	ReasonLastRunSucceeded = "LastRunSucceeded"
	// ReasonLastRunFailed: the last run ended otherwise. Read the log of its pod.
	ReasonLastRunFailed = "LastRunFailed"
	// ReasonRunBlocked: an active run cannot start or go on, and runs that are due are skipped meanwhile.
	ReasonRunBlocked = "RunBlocked"

	// ReasonImagePullFailed: the image cannot be pulled. Check its name, its tag and the pull Secrets.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonInvalidImageName: the image's name cannot be parsed. Correct spec.image.
	ReasonInvalidImageName = "InvalidImageName"
	// ReasonCrashLooping: the program ends again and again. The message has its last exit code; read its log.
	ReasonCrashLooping = "CrashLooping"
	// ReasonOOMKilled: the program used more memory than its limit, pod.resources.limits.memory.
	ReasonOOMKilled = "OOMKilled"
	// ReasonContainerConfigError: the container cannot be made, for want of a Secret or ConfigMap or for a setting that the node refuses.
	ReasonContainerConfigError = "ContainerConfigError"
	// ReasonContainerCannotRun: the container was made and its program cannot be started. Check command.entrypoint.
	ReasonContainerCannotRun = "ContainerCannotRun"
	// ReasonInitContainerFailed: an init container, added by another controller, failed.
	ReasonInitContainerFailed = "InitContainerFailed"
	// ReasonUnschedulable: no node fits the pod. The message has the scheduler's text.
	ReasonUnschedulable = "Unschedulable"
	// ReasonVolumeUnavailable: a volume of the pod cannot be used, such as a claim that is not bound.
	ReasonVolumeUnavailable = "VolumeUnavailable"
	// ReasonQuotaExceeded: a ResourceQuota forbids the pod.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonLimitRangeViolation: a LimitRange forbids the pod. Set pod.resources within it.
	ReasonLimitRangeViolation = "LimitRangeViolation"
	// ReasonPodSecurityViolation: the namespace's Pod Security level forbids the pod.
	ReasonPodSecurityViolation = "PodSecurityViolation"
	// ReasonPodForbidden: a webhook or another policy forbids the pod.
	ReasonPodForbidden = "PodForbidden"
	// ReasonAppArmor: the node cannot enforce the AppArmor profile.
	ReasonAppArmor = "AppArmor"
)
