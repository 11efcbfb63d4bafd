package v1alpha1

import "bytes"

// AgentDocument is a loom.agent/1 document: a JSON object with the keys
// schema, model and instructions, and others that belong to the runtime. It is
// kept as the JSON that the API server stored and reaches the runtime
// unchanged: it never passes through a float64, so 9007199254740993 stays.
//
// Reading one never fails, whatever it holds: a document that breaks a rule is
// refused by the check and must not keep the operator from listing the others.
//
// +kubebuilder:validation:Type=object
// +kubebuilder:pruning:PreserveUnknownFields
type AgentDocument struct {
	// Raw is the document as it was read.
	Raw []byte `json:"-"`
}

// NewAgentDocument keeps a document's text.
func NewAgentDocument(text string) *AgentDocument {
	return &AgentDocument{Raw: []byte(text)}
}

// JSON returns the document as it was read. The caller must not change it.
func (d *AgentDocument) JSON() []byte { return d.Raw }

// UnmarshalJSON keeps the text.
func (d *AgentDocument) UnmarshalJSON(text []byte) error {
	d.Raw = bytes.Clone(text)
	return nil
}

// MarshalJSON writes the document as it was read, an empty one as {}.
func (d AgentDocument) MarshalJSON() ([]byte, error) {
	if len(d.Raw) == 0 {
		return []byte("{}"), nil
	}
	return d.Raw, nil
}
