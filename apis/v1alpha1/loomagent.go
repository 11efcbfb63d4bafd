package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LoomAgent runs one AI agent: as a service, as a program that runs once per
// generation, or on a schedule. The document is checked before anything runs.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=loomagents,singular=loomagent,shortName=la,categories=loom
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.serve.replicas,statuspath=.status.workload.replicas,selectorpath=.status.workload.selector
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Variant",type=string,JSONPath=`.status.variant`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.status.workload.image`
// +kubebuilder:printcolumn:name="Exit",type=integer,priority=1,JSONPath=`.status.run.exitCode`
// +kubebuilder:printcolumn:name="Schedule",type=string,priority=1,JSONPath=`.spec.schedule.cron`
// +kubebuilder:printcolumn:name="Zone",type=string,priority=1,JSONPath=`.spec.schedule.timeZone`
// +kubebuilder:printcolumn:name="Next Run",type=string,format=date-time,priority=1,JSONPath=`.status.nextRun`
// +kubebuilder:printcolumn:name="Last Run",type=string,priority=1,JSONPath=`.status.lastRun.phase`
// +kubebuilder:printcolumn:name="Last Exit",type=integer,priority=1,JSONPath=`.status.lastRun.exitCode`
type LoomAgent struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to run and how.
	// +required
	Spec LoomAgentSpec `json:"spec"`

	// What was decided, what runs and how it ended. Written by the operator.
	// +optional
	// +kubebuilder:default={state: Pending, observedGeneration: 0}
	Status LoomAgentStatus `json:"status,omitempty"`
}

// LoomAgentList is a list of LoomAgents.
//
// +kubebuilder:object:root=true
type LoomAgentList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoomAgent `json:"items"`
}

// Variant tells how the agent runs. It is a total function of the spec: a
// command makes it a Command, everything else is an AgentServe (seed
// loom-resource; design section 3). A schedule does not change the variant.
func (a *LoomAgent) Variant() AgentVariant {
	if a.Spec.Command != nil {
		return Command
	}
	return AgentServe
}

// Suspended tells whether the user asked the whole agent to rest.
func (a *LoomAgent) Suspended() bool { return a.Spec.Suspend != nil && *a.Spec.Suspend }

// Paused tells whether the operator is asked to leave the children as they are.
func (a *LoomAgent) Paused() bool { return a.Annotations[PausedAnnotation] == "true" }
