package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Write is one write request that the API server has answered.
type Write struct {
	// User who wrote.
	User string
	// Verb: create, update, patch, delete or deletecollection.
	Verb string
	// Resource in the plural, with the subresource after a slash.
	Resource        string
	Namespace, Name string
	// Code of the answer.
	Code int
	// At is when the request arrived, by the API server's clock.
	At time.Time
}

// String shows the write in a failure.
func (w Write) String() string {
	return fmt.Sprintf("%s %s %s/%s (%d)", w.Verb, w.Resource, w.Namespace, w.Name, w.Code)
}

// Writes lists what a user wrote into a namespace, oldest first, as the audit
// log of the API server has it. A write is in it before its client gets the
// answer.
func (c *Cluster) Writes(t testing.TB, user, namespace string) []Write {
	t.Helper()
	file, err := os.Open(c.auditLog)
	require.NoError(t, err)
	defer file.Close()
	var writes []Write
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(`"`+namespace+`"`)) {
			continue
		}
		// The line that is being written when the file ends is not complete.
		if write, err := parse(lines.Bytes()); err == nil && write.User == user && write.Namespace == namespace {
			writes = append(writes, write)
		}
	}
	require.NoError(t, lines.Err())
	return writes
}

func parse(line []byte) (Write, error) {
	var event struct {
		Verb string `json:"verb"`
		User struct {
			Username string `json:"username"`
		} `json:"user"`
		ObjectRef struct {
			Resource    string `json:"resource"`
			Subresource string `json:"subresource"`
			Namespace   string `json:"namespace"`
			Name        string `json:"name"`
		} `json:"objectRef"`
		ResponseStatus struct {
			Code int `json:"code"`
		} `json:"responseStatus"`
		RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return Write{}, fmt.Errorf("read the audit log: %w", err)
	}
	resource := event.ObjectRef.Resource
	if event.ObjectRef.Subresource != "" {
		resource += "/" + event.ObjectRef.Subresource
	}
	return Write{
		User: event.User.Username, Verb: event.Verb, Resource: resource,
		Namespace: event.ObjectRef.Namespace, Name: event.ObjectRef.Name,
		Code: event.ResponseStatus.Code, At: event.RequestReceivedTimestamp,
	}, nil
}
