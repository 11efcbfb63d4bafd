// Package gather reads the objects that a LoomAgent refers to: whether they
// exist, and a digest of what a running agent was given of them.
package gather

import (
	"fmt"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Kind is the kind of a referenced object.
type Kind string

// The kinds that an agent can refer to.
const (
	Secret    Kind = "Secret"
	ConfigMap Kind = "ConfigMap"
	Claim     Kind = "PersistentVolumeClaim"
)

// Reference is one object, or one key of it, that the document names.
type Reference struct {
	Kind Kind
	// Name in the agent's namespace.
	Name string
	// Key that must exist in it; empty when the object is enough.
	Key string
	// Field of the document that names it.
	Field string
}

// String names the reference as a message does.
func (r Reference) String() string {
	if r.Key != "" {
		return fmt.Sprintf("%s %q, key %q", r.Kind, r.Name, r.Key)
	}
	return fmt.Sprintf("%s %q", r.Kind, r.Name)
}

// References lists what the document refers to, in the order of its fields.
// The agent's pods cannot start without any of them.
func References(spec v1alpha1.LoomAgentSpec) []Reference {
	var references []Reference
	if spec.SecretRef != nil {
		references = append(references, Reference{Kind: Secret, Name: spec.SecretRef.Name, Field: "spec.secretRef"})
	}
	if spec.SecretFiles != nil {
		references = append(references, Reference{Kind: Secret, Name: spec.SecretFiles.Name, Field: "spec.secretFiles"})
	}
	if spec.Workspace != nil && spec.Workspace.ClaimName != nil {
		references = append(references, Reference{Kind: Claim, Name: *spec.Workspace.ClaimName, Field: "spec.workspace.claimName"})
	}
	if spec.Schedule != nil && spec.Schedule.Input != nil && spec.Schedule.Input.ConfigMapKeyRef != nil {
		key := spec.Schedule.Input.ConfigMapKeyRef
		references = append(references, Reference{Kind: ConfigMap, Name: key.Name, Key: key.Key, Field: "spec.schedule.input.configMapKeyRef"})
	}
	return references
}

// IndexKeys are the keys under which an agent is found from an object that it
// refers to.
func IndexKeys(agent *v1alpha1.LoomAgent) []string {
	var keys []string
	for _, reference := range References(agent.Spec) {
		keys = append(keys, IndexKey(reference.Kind, reference.Name), IndexKey(reference.Kind, anyName))
	}
	return keys
}

// anyName stands for every name: it finds all agents that refer to a kind.
const anyName = ""

// IndexKey is the key of one object in the agent's namespace.
func IndexKey(kind Kind, name string) string { return string(kind) + "/" + name }
