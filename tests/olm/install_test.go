package olm_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	loom "github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// patience is how long a test waits for what the operator does by itself.
const patience = time.Minute

// In each install mode the agents of the OperatorGroup's namespaces run, and
// the operator touches no other namespace.
func TestEachInstallMode(t *testing.T) {
	cluster, err := harness.Up(t.Context(), clusterName, 0)
	require.NoError(t, err)
	for mode, test := range map[v1alpha1.InstallModeType]struct {
		// targets picks the namespaces of the OperatorGroup; none means all.
		targets func(own, first, second string) []string
		// inside and outside are the namespaces that are looked after and not.
		inside, outside func(own, first, second string) []string
	}{
		v1alpha1.InstallModeTypeOwnNamespace: {
			targets: func(own, _, _ string) []string { return []string{own} },
			inside:  func(own, _, _ string) []string { return []string{own} },
			outside: func(_, first, second string) []string { return []string{first, second} },
		},
		v1alpha1.InstallModeTypeSingleNamespace: {
			targets: func(_, first, _ string) []string { return []string{first} },
			inside:  func(_, first, _ string) []string { return []string{first} },
			outside: func(own, _, second string) []string { return []string{own, second} },
		},
		v1alpha1.InstallModeTypeMultiNamespace: {
			targets: func(_, first, second string) []string { return []string{first, second} },
			inside:  func(_, first, second string) []string { return []string{first, second} },
			outside: func(own, _, _ string) []string { return []string{own} },
		},
		v1alpha1.InstallModeTypeAllNamespaces: {
			targets: func(string, string, string) []string { return nil },
			inside:  func(own, first, second string) []string { return []string{own, first, second} },
			outside: func(string, string, string) []string { return nil },
		},
	} {
		t.Run(string(mode), func(t *testing.T) {
			own, first, second := namespace(t, cluster), namespace(t, cluster), namespace(t, cluster)
			i := install(t, cluster, readCSV(t), own, test.targets(own, first, second)...)
			require.True(t, i.supports(mode))
			for _, namespace := range test.outside(own, first, second) {
				i.applyExamples(namespace)
			}
			operator := i.start("0")
			for _, namespace := range test.inside(own, first, second) {
				i.applyExamples(namespace)
			}

			for _, namespace := range test.inside(own, first, second) {
				for _, example := range i.examples() {
					i.runs(namespace, example.GetName())
				}
				i.runs(namespace, i.applyDemanding(namespace))
			}

			for _, namespace := range test.outside(own, first, second) {
				for _, write := range cluster.Writes(t, i.user(), namespace) {
					assert.True(t, namespace == own && isElection(write), "%s in a namespace that is not looked after", write)
				}
			}
			assert.NotContains(t, operator.Log(), "is forbidden: User", "a permission that the bundle lacks")
		})
	}
}

// What the tests of this package grant is what the bundle says: with one rule
// taken out, that and only that is refused.
func TestNothingElseIsGranted(t *testing.T) {
	cluster, err := harness.Up(t.Context(), clusterName, 0)
	require.NoError(t, err)
	csv := readCSV(t)
	permission := &csv.Spec.InstallStrategy.StrategySpec.Permissions[0]
	permission.Rules = slices.DeleteFunc(permission.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "networkpolicies") })
	own := namespace(t, cluster)
	i := install(t, cluster, csv, own, own)
	login, err := cluster.LoginAs(t.Context(), own, i.account())
	require.NoError(t, err)
	operator, err := client.New(login, client.Options{Scheme: harness.NewScheme()})
	require.NoError(t, err)

	err = operator.List(t.Context(), &networkingv1.NetworkPolicyList{}, client.InNamespace(own))

	require.ErrorContains(t, err, "is forbidden: User")
	assert.NoError(t, operator.List(t.Context(), &batchv1.CronJobList{}, client.InNamespace(own)), "the other rules are granted")
}

// Who reads the metrics has to be somebody with the role that the bundle
// offers. For that the operator asks the API server for two reviews.
func TestMetricsAreForReadersOfMetrics(t *testing.T) {
	cluster, err := harness.Up(t.Context(), clusterName, 0)
	require.NoError(t, err)
	own := namespace(t, cluster)
	i := install(t, cluster, readCSV(t), own, own)
	require.NoError(t, cluster.Apply(t.Context(), file(t, "bundle", "manifests", "loom-operator-metrics-reader_rbac.authorization.k8s.io_v1_clusterrole.yaml")))
	for _, name := range []string{"reader", "stranger"} {
		i.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: name}})
	}
	i.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: own + "-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: own, Name: "reader"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "loom-operator-metrics-reader"},
	})
	address := freeAddress(t)
	i.start(address)

	for who, want := range map[string]int{"": http.StatusUnauthorized, "stranger": http.StatusForbidden, "reader": http.StatusOK} {
		harness.Eventually(t, patience, fmt.Sprintf("%q gets %d", who, want), func(ctx context.Context) error {
			got, err := i.scrape(ctx, address, who)
			if err == nil && got != want {
				err = fmt.Errorf("it is %d", got)
			}
			return err
		})
	}
}

func (i installation) scrape(ctx context.Context, address, account string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	if account != "" {
		login, err := i.cluster.LoginAs(ctx, i.namespace, account)
		if err != nil {
			return 0, err
		}
		request.Header.Set("Authorization", "Bearer "+login.BearerToken)
	}
	// The certificate is made at the start and signed by nobody.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func (i installation) supports(mode v1alpha1.InstallModeType) bool {
	for _, supported := range i.csv.Spec.InstallModes {
		if supported.Type == mode {
			return supported.Supported
		}
	}
	return false
}

func (i installation) examples() []unstructured.Unstructured {
	i.Helper()
	var objects []map[string]any
	require.NoError(i, json.Unmarshal([]byte(i.csv.Annotations["alm-examples"]), &objects))
	examples := make([]unstructured.Unstructured, len(objects))
	for n, object := range objects {
		examples[n].Object = object
	}
	return examples
}

// applyExamples makes each example, its status included, as a console does.
func (i installation) applyExamples(namespace string) {
	i.Helper()
	for _, example := range i.examples() {
		example.SetNamespace(namespace)
		require.NoError(i, i.cluster.Client.Create(i.Context(), &example, client.FieldValidation(metav1.FieldValidationStrict)))
	}
}

// applyDemanding makes an agent that needs what the examples do not: a Secret,
// a claim and a NetworkPolicy.
func (i installation) applyDemanding(namespace string) string {
	i.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "demanding"}
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"KEY": "value"}},
		&corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}},
		&loom.LoomAgent{ObjectMeta: meta, Spec: loom.LoomAgentSpec{
			Agent:     loom.NewAgentDocument(`{"schema": "loom.agent/1", "model": "default", "instructions": "Wait."}`),
			SecretRef: &loom.SecretRef{Name: meta.Name},
			Workspace: &loom.Workspace{MountPath: "/workspace", ClaimName: &meta.Name},
			Boundary:  &loom.Boundary{Model: &loom.BoundaryUpstream{Upstream: "https://models.example.com", Audience: "models"}},
		}},
	} {
		require.NoError(i, i.cluster.Client.Create(i.Context(), object))
	}
	return meta.Name
}

// runs waits until the agent has what runs it.
func (i installation) runs(namespace, name string) {
	i.Helper()
	harness.Eventually(i, patience, namespace+"/"+name+" runs", func(ctx context.Context) error {
		agent := &loom.LoomAgent{}
		if err := i.cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, agent); err != nil {
			return err
		}
		if agent.Status.State != loom.StateRunning || agent.Status.Workload == nil {
			return fmt.Errorf("its status is %+v", agent.Status)
		}
		workload := &unstructured.Unstructured{}
		workload.SetKind(agent.Status.Workload.Kind)
		workload.SetAPIVersion(map[string]string{"Deployment": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1"}[workload.GetKind()])
		if err := i.cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: agent.Status.Workload.Name}, workload); err != nil {
			return err
		}
		if workload.GetUID() != agent.Status.Workload.UID {
			return errors.New("its workload is another one than its status says")
		}
		return nil
	})
}

// isElection tells whether a write is about who leads.
func isElection(write harness.Write) bool {
	return write.Resource == "leases" || write.Resource == "events"
}

func namespace(t *testing.T, cluster *harness.Cluster) string {
	t.Helper()
	prefix := strings.ToLower(t.Name()[strings.LastIndex(t.Name(), "/")+1:])
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	require.NoError(t, cluster.Client.Create(t.Context(), object))
	t.Cleanup(func() { assert.NoError(t, cluster.Client.Delete(context.Background(), object)) })
	return object.Name
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
