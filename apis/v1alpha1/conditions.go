package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Types of condition. Checked, Available, Completed and LastRunSucceeded come
// from seed loom-resource; Ready and Synced summarize, as seeds stages and
// create-outcome-unknown have them. ReferencesResolved and Scheduled are the
// conditions of the stages between (docs/decisions/0004).
const (
	// ConditionReady is True when the agent does what its document asks for:
	// it serves, its command has completed, or its schedule is in force.
	ConditionReady = "Ready"
	// ConditionSynced is True when the last pass reached its end without an
	// error, also when it ended in waiting.
	ConditionSynced = "Synced"
	// ConditionStalled is True when the agent will not become ready before its
	// document changes: it or one of its children was refused, or its run
	// failed. Otherwise it is absent. Tools that follow kstatus read a failure from it.
	ConditionStalled = "Stalled"
	// ConditionChecked is True when the check accepted the document.
	ConditionChecked = "Checked"
	// ConditionReferencesResolved is True when every Secret, ConfigMap key and
	// claim that the document names exists, or when the agent needs them no
	// more: its run was started, or it rests.
	ConditionReferencesResolved = "ReferencesResolved"
	// ConditionAvailable is True when a serving agent can be used.
	ConditionAvailable = "Available"
	// ConditionCompleted is True when the program of a command ended well.
	ConditionCompleted = "Completed"
	// ConditionScheduled is True when the schedule is in force.
	ConditionScheduled = "Scheduled"
	// ConditionLastRunSucceeded tells how the last run of a schedule ended.
	ConditionLastRunSucceeded = "LastRunSucceeded"
)

// GetConditions gives the reconcile runtime the conditions to report in.
func (a *LoomAgent) GetConditions() []metav1.Condition { return a.Status.Conditions }

// SetConditions replaces the conditions.
func (a *LoomAgent) SetConditions(conditions []metav1.Condition) { a.Status.Conditions = conditions }

// SetObservedGeneration records the generation that the status is about.
func (a *LoomAgent) SetObservedGeneration(generation int64) { a.Status.ObservedGeneration = generation }
