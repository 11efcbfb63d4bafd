package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AgentState is the state of the agent's lifecycle.
//
// +kubebuilder:validation:Enum=Pending;Running;Refused;Degraded;Completed;Failed
type AgentState string

// The six states of the lifecycle (docs/lifecycle.md).
const (
	StatePending   AgentState = "Pending"
	StateRunning   AgentState = "Running"
	StateRefused   AgentState = "Refused"
	StateDegraded  AgentState = "Degraded"
	StateCompleted AgentState = "Completed"
	StateFailed    AgentState = "Failed"
)

// AgentVariant tells how the agent runs.
//
// +kubebuilder:validation:Enum=AgentServe;Command
type AgentVariant string

// The two variants.
const (
	AgentServe AgentVariant = "AgentServe"
	Command    AgentVariant = "Command"
)

// RunPhase is the phase of a run.
//
// +kubebuilder:validation:Enum=Active;Succeeded;Failed
type RunPhase string

// The phases of a run.
const (
	RunActive    RunPhase = "Active"
	RunSucceeded RunPhase = "Succeeded"
	RunFailed    RunPhase = "Failed"
)

// DeploymentAvailability tells whether a serving agent can be used.
//
// +kubebuilder:validation:Enum=Available;Unavailable
type DeploymentAvailability string

// The two answers.
const (
	Available   DeploymentAvailability = "Available"
	Unavailable DeploymentAvailability = "Unavailable"
)

// LoomAgentStatus holds the fields of the entity of seed loom-resource. The
// fields workload and nextRun are additions of this operator.
type LoomAgentStatus struct {
	// Generation that the rest of the status is about. 0: not examined yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State of the lifecycle.
	// +optional
	State AgentState `json:"state,omitempty"`
	// Verdict of the check.
	// +optional
	Check *CheckResult `json:"check,omitempty"`
	// Availability of a serving agent.
	// +optional
	Deployment *DeploymentStatus `json:"deployment,omitempty"`
	// How the agent runs.
	// +optional
	Variant AgentVariant `json:"variant,omitempty"`
	// How the run of a command ended.
	// +optional
	Run *RunEnd `json:"run,omitempty"`
	// How the last finished run of a schedule ended.
	// +optional
	LastRun *LastRun `json:"lastRun,omitempty"`
	// When the schedule starts its next run: read in its time zone, or in UTC when it names none. Absent while suspended
	// and for @every, which counts from its last run.
	// +optional
	NextRun *metav1.Time `json:"nextRun,omitempty"`
	// Object that runs the agent.
	// +optional
	Workload *Workload `json:"workload,omitempty"`
	// Conditions, keyed by type (docs/conditions.md).
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CheckResult is the verdict of the check.
type CheckResult struct {
	// 0 accepted, 1 refused.
	ExitCode int32 `json:"exitCode"`
	// One line per finding.
	Message string `json:"message"`
}

// DeploymentStatus tells about the Deployment of a serving agent.
type DeploymentStatus struct {
	// Whether the agent can be used.
	Availability DeploymentAvailability `json:"availability"`
}

// RunEnd tells how a run ended. What could not be known is absent.
type RunEnd struct {
	// Exit code of the program.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// When the program ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// Why it ended.
	// +optional
	Reason *string `json:"reason,omitempty"`
}

// LastRun tells how the last finished run of a schedule ended.
type LastRun struct {
	// Phase of the run.
	Phase  RunPhase `json:"phase"`
	RunEnd `json:",inline"`
}

// Workload is the object that runs the agent.
type Workload struct {
	// Kind: Deployment, Job or CronJob.
	Kind string `json:"kind"`
	// Name in the agent's namespace.
	Name string `json:"name"`
	// UID. A generation whose Job UID is recorded is never created again.
	UID types.UID `json:"uid"`
	// Image it runs.
	// +optional
	Image string `json:"image,omitempty"`
	// Pods of a serving agent, for the scale subresource.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// Label selector of its pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Runs of a schedule that lastRun already counts.
	// +optional
	Recorded *RecordedRuns `json:"recorded,omitempty"`
}

// RecordedRuns marks how far the finished runs of a schedule are recorded, so
// that each is recorded once although the Jobs stay for a while.
type RecordedRuns struct {
	// When the newest recorded Job finished.
	FinishedAt metav1.Time `json:"finishedAt"`
	// The recorded Jobs that finished at that time.
	// +listType=atomic
	UIDs []types.UID `json:"uids"`
}
