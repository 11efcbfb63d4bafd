package harness_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

func TestOperatorWorksWithItsOwnPermissionsAndItsWritesAreCounted(t *testing.T) {
	cluster := harness.ControlPlane(t)
	namespace := cluster.Namespace(t)
	operator := harness.StartOperator(t, cluster)
	operator.Working(t)
	agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "empty"}}
	require.NoError(t, cluster.Client.Create(t.Context(), agent))

	refused := func(ctx context.Context) error {
		for _, write := range cluster.Writes(t, harness.OperatorUser(), namespace) {
			if write.Verb == "update" && write.Resource == "loomagents/status" && write.Name == "empty" && write.Code == 200 {
				return nil
			}
		}
		return errors.New("the audit log has no status write")
	}
	harness.Eventually(t, 20*time.Second, "the status write of the operator is counted", refused)

	require.NoError(t, operator.Restart())
	operator.Working(t)
	assert.Equal(t, namespace, cluster.Namespace(t), "one test has one namespace")
	require.NoError(t, operator.Kill())
	assert.NoError(t, operator.Close(), "a process that the test has killed did not fail")
}
