package stages

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// A registry that is down fails thousands of objects at once, each with several children.
func TestChildrenDoNotCrowdOutTheEventsThatWereSent(t *testing.T) {
	api := fake.NewClientBuilder().Build()
	c, err := For[*corev1.ConfigMap]("many").Reconcile(func(_ context.Context, p *Pass[*corev1.ConfigMap]) error {
		p.Event(corev1.EventTypeWarning, "RegistryDown", "Wait", "The registry is down.")
		return nil
	}).Build(api, api)
	require.NoError(t, err)
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "one", UID: "uid-1"}}
	for range 2 {
		_, err := c.Reconcile(t.Context(), obj)
		require.NoError(t, err)
		for i := range remembered {
			c.remember(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: types.UID(strconv.Itoa(i))}})
		}
	}
	sent := &eventsv1.EventList{}
	require.NoError(t, api.List(t.Context(), sent))
	assert.Len(t, sent.Items, 1)
}
