package v1alpha1

import batchv1 "k8s.io/api/batch/v1"

// ScheduleSpec runs the agent at given times.
type ScheduleSpec struct {
	// Five-field cron expression, or a macro such as @daily.
	Cron string `json:"cron"`
	// IANA time zone, such as Europe/Berlin. Default: the zone of the cluster's
	// controller manager, usually UTC.
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`
	// Start no further run until it is false again.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// Seconds after which a run that could not start on time is skipped.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// Text given to each run as a file.
	// +optional
	Input *ScheduleInput `json:"input,omitempty"`

	// What happens when a run is due while another is active.
	// +optional
	// +kubebuilder:validation:Enum=Allow;Forbid;Replace
	// +kubebuilder:default=Forbid
	ConcurrencyPolicy batchv1.ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// Number of successful runs kept. At least the last one is, to be recorded.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=3
	// +kubebuilder:validation:Maximum=2147483647
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`
	// Number of failed runs kept. At least the last one is, to be recorded.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	// +kubebuilder:validation:Maximum=2147483647
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`
}

// ScheduleInput is the input of each scheduled run.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.text) && has(self.configMapKeyRef))",message="give text or configMapKeyRef, not both"
type ScheduleInput struct {
	// The text itself.
	// +optional
	Text *string `json:"text,omitempty"`
	// A ConfigMap key that holds the text.
	// +optional
	ConfigMapKeyRef *ConfigMapKeyRef `json:"configMapKeyRef,omitempty"`
}

// ConfigMapKeyRef names one key of a ConfigMap in the agent's namespace.
type ConfigMapKeyRef struct {
	// Name of the ConfigMap.
	Name string `json:"name"`
	// Key in the ConfigMap.
	Key string `json:"key"`
}
