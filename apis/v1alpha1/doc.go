// Package v1alpha1 is the API of loom-operator: the LoomAgent, one document per AI agent.
//
// The model is the one of seed loom-resource: every field of its spec and of
// its entity exists here under its wire name. What the operator adds to it is
// marked as an addition where it is declared. Schema validation refuses only
// shapes that can never be right; everything else is judged by the check,
// whose verdict is recorded in the status.
//
// +kubebuilder:object:generate=true
// +groupName=loom.beyond10x.dev
package v1alpha1
