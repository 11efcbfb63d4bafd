package guard

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Mark says that a create of a Job may have been sent.
type Mark struct {
	// UID and Generation of the agent that it belongs to. A mark of another
	// UID or generation came with restored or copied YAML and is ignored.
	UID        types.UID `json:"uid"`
	Generation int64     `json:"generation"`
	// Job is the name of the Job.
	Job string `json:"job"`
	// Attempt is when the create was started, for people. No decision rests
	// on it (case A64).
	Attempt time.Time `json:"attempt"`
}

// Start says that a Job may have been resumed.
type Start struct {
	// UID and Generation of the agent that it belongs to, as in Mark.
	UID        types.UID `json:"uid"`
	Generation int64     `json:"generation"`
	// Job is the UID of the Job.
	Job types.UID `json:"job"`
}

// MarkOf returns the mark of the agent's own generation, if there is one.
func MarkOf(agent *v1alpha1.LoomAgent) (Mark, bool) {
	mark := Mark{}
	ok := decode(agent, v1alpha1.CreatePendingAnnotation, &mark)
	return mark, ok && mark.UID == agent.UID && mark.Generation == agent.Generation
}

// StartOf returns the start of the agent's own generation, if there is one.
func StartOf(agent *v1alpha1.LoomAgent) (Start, bool) {
	start := Start{}
	ok := decode(agent, v1alpha1.RunAnnotation, &start)
	return start, ok && start.UID == agent.UID && start.Generation == agent.Generation
}

// String encodes the mark as the annotation's value.
func (m Mark) String() string { return encode(m) }

// String encodes the start as the annotation's value.
func (s Start) String() string { return encode(s) }

// decode reads an annotation. One that cannot be read was not written by this
// operator and counts as absent.
func decode(agent *v1alpha1.LoomAgent, key string, into any) bool {
	value, ok := agent.Annotations[key]
	return ok && json.Unmarshal([]byte(value), into) == nil
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // Unreachable: the types hold nothing that JSON cannot hold.
	}
	return string(text)
}
