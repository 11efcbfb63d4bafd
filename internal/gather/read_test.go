package gather_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/gather"
)

const canary = "canary-of-a-secret"

func meta(name string, uid types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "n", Name: name, UID: uid}
}

func secret(name string, uid types.UID, data map[string]string) *corev1.Secret {
	object := &corev1.Secret{ObjectMeta: meta(name, uid), Data: map[string][]byte{}}
	for key, value := range data {
		object.Data[key] = []byte(value)
	}
	return object
}

func configMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta("input", "input"), Data: data}
}

func claim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: meta("claim", "claim")}
}

// whole is everything that the spec everything refers to.
func whole() []client.Object {
	return []client.Object{
		secret("env", "env", map[string]string{"KEY": canary}),
		secret("files", "files", map[string]string{"key.pem": canary}),
		claim(), configMap(map[string]string{"text": "x", "other": "y"}),
	}
}

func read(t *testing.T, of *v1alpha1.LoomAgent, objects ...client.Object) gather.Found {
	t.Helper()
	found, err := gather.Read(t.Context(), newClient(t, interceptor.Funcs{}, objects...), of)
	require.NoError(t, err)
	assert.NotContains(t, fmt.Sprintf("%+v", found)+found.Message(), canary)
	return found
}

func TestReadOfWhatIsThere(t *testing.T) {
	found := read(t, agent("n", "a", everything()), whole()...)
	assert.Empty(t, found.Missing)
	assert.Len(t, found.Digest, 32)
}

func TestReadOfWhatIsMissing(t *testing.T) {
	const end = ". Create it; the agent goes on without an edit."
	for name, c := range map[string]struct {
		spec    v1alpha1.LoomAgentSpec
		objects []client.Object
		want    string
	}{
		"a Secret of the environment": {v1alpha1.LoomAgentSpec{SecretRef: &v1alpha1.SecretRef{Name: "env"}}, nil,
			`Secret "env", named by spec.secretRef, was not found in namespace "n"` + end},
		"a Secret in another namespace": {v1alpha1.LoomAgentSpec{SecretFiles: &v1alpha1.SecretFiles{Name: "files"}},
			[]client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "files"}}},
			`Secret "files", named by spec.secretFiles, was not found in namespace "n"` + end},
		"a claim": {v1alpha1.LoomAgentSpec{Workspace: &v1alpha1.Workspace{ClaimName: new("claim")}}, nil,
			`PersistentVolumeClaim "claim", named by spec.workspace.claimName, was not found in namespace "n"` + end},
		"a ConfigMap": {v1alpha1.LoomAgentSpec{Schedule: everything().Schedule}, nil,
			`ConfigMap "input", key "text", named by spec.schedule.input.configMapKeyRef, was not found in namespace "n"` + end},
		"a key of a ConfigMap": {v1alpha1.LoomAgentSpec{Schedule: everything().Schedule}, []client.Object{configMap(map[string]string{"other": "x"})},
			`ConfigMap "input", key "text", named by spec.schedule.input.configMapKeyRef, was not found: the ConfigMap exists in namespace "n" and has no such key` + end},
		"two at once": {v1alpha1.LoomAgentSpec{SecretRef: &v1alpha1.SecretRef{Name: "env"}, SecretFiles: &v1alpha1.SecretFiles{Name: "files"}}, nil,
			`Secret "env", named by spec.secretRef, was not found in namespace "n". Secret "files", named by spec.secretFiles, was not found in namespace "n"` + end},
	} {
		t.Run(name, func(t *testing.T) {
			found := read(t, agent("n", "a", c.spec), c.objects...)
			require.NotEmpty(t, found.Missing)
			assert.Equal(t, c.want, found.Message())
		})
	}
}

// One that is missing leaves no digest: the pods keep the one that they have.
func TestDigestNeedsEverything(t *testing.T) {
	for i := range whole() {
		objects := whole()
		found := read(t, agent("n", "a", everything()), append(objects[:i], objects[i+1:]...)...)
		assert.Len(t, found.Missing, 1)
		assert.Empty(t, found.Digest)
	}
}

func TestDigestIsOfDataAlone(t *testing.T) {
	assert.Empty(t, read(t, agent("n", "a", v1alpha1.LoomAgentSpec{})).Digest)
	assert.Empty(t, read(t, agent("n", "a", v1alpha1.LoomAgentSpec{Workspace: everything().Workspace}), claim()).Digest, "a claim has no data")
	assert.NotEmpty(t, read(t, agent("n", "a", v1alpha1.LoomAgentSpec{SecretRef: everything().SecretRef}), secret("env", "env", nil)).Digest, "an empty Secret will have some")
}

func TestDigestChangesWithTheDataAndNothingElse(t *testing.T) {
	of := func(change func(env, files *corev1.Secret, input *corev1.ConfigMap, agent *v1alpha1.LoomAgent)) string {
		env := secret("env", "env", map[string]string{"A": "1", "B": "2", "C": "3"})
		files := secret("files", "files", map[string]string{"A": "1", "B": "2", "C": "3"})
		input, reader := configMap(map[string]string{"text": "x", "other": "y"}), agent("n", "a", everything())
		change(env, files, input, reader)
		return read(t, reader, env, files, claim(), input).Digest
	}
	same := of(func(_, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {})
	require.NotEmpty(t, same)
	for name, change := range map[string]func(env, files *corev1.Secret, input *corev1.ConfigMap, agent *v1alpha1.LoomAgent){
		"nothing, and the order of a map": func(_, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {},
		"a label": func(env, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {
			env.Labels = map[string]string{"a": "b"}
		},
		"an annotation": func(_, _ *corev1.Secret, input *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {
			input.Annotations = map[string]string{"a": "b"}
		},
		"the resource version": func(env, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) { env.ResourceVersion = "77" },
		"a key that the document does not name": func(_, _ *corev1.Secret, input *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {
			input.Data["other"] = "changed"
		},
		"text that was binary before": func(_, _ *corev1.Secret, input *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {
			delete(input.Data, "text")
			input.BinaryData = map[string][]byte{"text": []byte("x")}
		},
		"the agent's generation": func(_, _ *corev1.Secret, _ *corev1.ConfigMap, agent *v1alpha1.LoomAgent) { agent.Generation = 9 },
	} {
		t.Run("stays with "+name, func(t *testing.T) {
			for range 5 {
				assert.Equal(t, same, of(change))
			}
		})
	}
	seen := map[string]string{same: "nothing"}
	for name, change := range map[string]func(env, files *corev1.Secret, input *corev1.ConfigMap, agent *v1alpha1.LoomAgent){
		"a value": func(env, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) { env.Data["A"] = []byte("9") },
		"the same value of another": func(_, files *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {
			files.Data["A"] = []byte("9")
		},
		"a new key":          func(env, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) { env.Data["D"] = nil },
		"a key that is gone": func(env, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) { delete(env.Data, "A") },
		"a byte that moves from a value to its key": func(env, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {
			env.Data = map[string][]byte{"A1": nil, "B": []byte("2"), "C": []byte("3")}
		},
		"a value that swallows the next key": func(env, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {
			env.Data = map[string][]byte{"A": []byte("1B2"), "C": []byte("3")}
		},
		"a value that swallows the next key and its length": func(env, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {
			env.Data = map[string][]byte{"A": []byte("11:B2"), "C": []byte("3")}
		},
		"values that change places": func(env, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {
			env.Data["A"], env.Data["B"] = env.Data["B"], env.Data["A"]
		},
		"the key that is named":        func(_, _ *corev1.Secret, input *corev1.ConfigMap, _ *v1alpha1.LoomAgent) { input.Data["text"] = "z" },
		"a Secret made anew":           func(env, _ *corev1.Secret, _ *corev1.ConfigMap, _ *v1alpha1.LoomAgent) { env.UID = "env2" },
		"another agent, equal but UID": func(_, _ *corev1.Secret, _ *corev1.ConfigMap, agent *v1alpha1.LoomAgent) { agent.UID = "agent2" },
		"binary data": func(_, _ *corev1.Secret, input *corev1.ConfigMap, _ *v1alpha1.LoomAgent) {
			input.Data, input.BinaryData = nil, map[string][]byte{"text": {0xff}}
		},
	} {
		digest := of(change)
		assert.Empty(t, seen[digest], "%s and %s look alike", name, seen[digest])
		seen[digest] = name
	}
}

// An object that cannot be read is not missing, and the error stays what it is.
func TestReadThatFails(t *testing.T) {
	refusal := apierrors.NewForbidden(corev1.Resource("secrets"), "files", errors.New("no rights"))
	c := newClient(t, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if key.Name == "files" {
				return refusal
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}, whole()...)
	found, err := gather.Read(t.Context(), c, agent("n", "a", everything()))
	require.ErrorIs(t, err, refusal)
	assert.ErrorContains(t, err, `read Secret "files": `)
	assert.NotContains(t, err.Error(), canary)
	assert.Equal(t, gather.Found{}, found)
}
