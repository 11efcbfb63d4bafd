package gather_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/gather"
)

// newClient is an API server, and a cache with the indexes of agents.
func newClient(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).
		WithIndex(&v1alpha1.LoomAgent{}, gather.Index, func(obj client.Object) []string { return gather.IndexKeys(obj.(*v1alpha1.LoomAgent)) }).
		WithIndex(&v1alpha1.LoomAgent{}, gather.LabelIndex, func(obj client.Object) []string {
			return []string{gather.AgentLabel(obj.(*v1alpha1.LoomAgent))}
		}).Build()
}

func agent(namespace, name string, spec v1alpha1.LoomAgentSpec) *v1alpha1.LoomAgent {
	return &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "agent"}, Spec: spec}
}

// everything refers to two Secrets, a claim and a key of a ConfigMap.
func everything() v1alpha1.LoomAgentSpec {
	return v1alpha1.LoomAgentSpec{
		Schedule:    &v1alpha1.ScheduleSpec{Input: &v1alpha1.ScheduleInput{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "input", Key: "text"}}},
		Workspace:   &v1alpha1.Workspace{ClaimName: new("claim")},
		SecretFiles: &v1alpha1.SecretFiles{Name: "files"},
		SecretRef:   &v1alpha1.SecretRef{Name: "env"},
	}
}
