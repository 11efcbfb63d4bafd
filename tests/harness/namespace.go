package harness

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// maxPrefix leaves room for what the API server adds to a generated name.
const maxPrefix = 50

var (
	notInName  = regexp.MustCompile(`[^a-z0-9]+`)
	namespaces sync.Map
)

// Namespace returns the test's own namespace, the same for each call. It is
// deleted at the end of the test; a test that failed shows what was in it.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	key := c.Name + "/" + t.Name()
	if name, ok := namespaces.Load(key); ok {
		return name.(string)
	}
	prefix := strings.Trim(notInName.ReplaceAllString(strings.ToLower(t.Name()), "-"), "-")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix[:min(len(prefix), maxPrefix)] + "-"}}
	require.NoError(t, c.Client.Create(t.Context(), namespace))
	namespaces.Store(key, namespace.Name)
	t.Cleanup(func() {
		ctx := context.Background()
		if t.Failed() {
			t.Log(c.describe(ctx, namespace.Name))
		}
		namespaces.Delete(key)
		assert.NoError(t, client.IgnoreNotFound(c.Client.Delete(ctx, namespace)))
	})
	return namespace.Name
}

// describe shows the agents and Events of a namespace.
func (c *Cluster) describe(ctx context.Context, namespace string) string {
	var text strings.Builder
	var agents v1alpha1.LoomAgentList
	if err := c.Client.List(ctx, &agents, client.InNamespace(namespace)); err != nil {
		return fmt.Sprintf("namespace %s cannot be shown: %v", namespace, err)
	}
	for _, agent := range agents.Items {
		status, err := yaml.Marshal(agent.Status)
		if err != nil {
			return fmt.Sprintf("LoomAgent %s cannot be shown: %v", agent.Name, err)
		}
		fmt.Fprintf(&text, "LoomAgent %s, generation %d, annotations %v, status:\n%s", agent.Name, agent.Generation, agent.Annotations, status)
	}
	var events corev1.EventList
	if err := c.Client.List(ctx, &events, client.InNamespace(namespace)); err != nil {
		return fmt.Sprintf("Events of namespace %s cannot be shown: %v", namespace, err)
	}
	for _, event := range events.Items {
		fmt.Fprintf(&text, "Event %s %s/%s: %s: %s\n", event.Type, event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, event.Message)
	}
	return text.String()
}
