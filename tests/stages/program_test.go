package stages_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/beyond10x/loom-operator/examples/settings/v1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

const helloChecksum = "9b2d43affbf49a367028df2e1414f84c0e099ac98c3d54a8a80157fd7771af25"

// runProgram builds the example, installs it as the administrator, and runs it with its own permissions.
func (w *world) runProgram(shape string) {
	root, err := harness.Root()
	require.NoError(w.t, err)
	binary := filepath.Join(w.t.TempDir(), "settings")
	out, err := exec.Command("go", "build", "-C", root, "-o", binary, "./examples/settings").CombinedOutput()
	require.NoError(w.t, err, string(out))
	out, err = exec.Command(binary, "install", "-kubeconfig", w.cluster.Kubeconfig).CombinedOutput()
	require.NoError(w.t, err, string(out))
	assert.Contains(w.t, string(out), "applied CustomResourceDefinition settings.examples.beyond10x.dev")

	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "settings-example"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "settings"}},
	}
	require.NoError(w.t, w.client.Create(w.t.Context(), binding))
	kubeconfig := filepath.Join(w.t.TempDir(), "kubeconfig")
	login, err := clientcmd.LoadFromFile(w.cluster.Kubeconfig)
	require.NoError(w.t, err)
	for name := range login.AuthInfos {
		login.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: w.login.BearerToken}
	}
	require.NoError(w.t, clientcmd.WriteToFile(*login, kubeconfig))
	program := exec.Command(binary, "run", "-kubeconfig", kubeconfig, "-shape", shape)
	log := &bytes.Buffer{}
	program.Stdout, program.Stderr = log, log
	require.NoError(w.t, program.Start())
	w.t.Cleanup(func() {
		assert.NoError(w.t, program.Process.Signal(syscall.SIGTERM))
		assert.NoError(w.t, program.Wait(), "it ends cleanly")
		assert.NoError(w.t, w.client.Delete(context.Background(), binding))
		if w.t.Failed() {
			fmt.Fprintln(os.Stderr, log)
		}
	})
}

func TestTheExampleAgainstARealAPIServer(t *testing.T) {
	ready := func(status, reason string) map[string]string {
		return map[string]string{"Ready": status + "/" + reason}
	}
	staged := func(configuration, checksum, ready string) map[string]string {
		return map[string]string{"ConfigurationReady": configuration, "ChecksumReady": checksum, "Ready": ready}
	}
	const ok, unknown = "True/Succeeded", "Unknown/DependencyNotReady"
	for shape, want := range map[string]struct{ set, blank, suspended, broken map[string]string }{
		"stages": {staged(ok, ok, ok), staged(ok, ok, ok),
			staged("False/Suspended", unknown, "False/Suspended"), staged("False/NotOwned", unknown, "False/NotOwned")},
		"cases": {staged(ok, ok, ok), staged("False/InputMissing", unknown, "False/InputMissing"),
			staged("False/Suspended", unknown, "False/Suspended"), staged("False/NotOwned", unknown, "False/NotOwned")},
		"root": {ready("True", "Succeeded"), ready("True", "Succeeded"), ready("False", "Suspended"), ready("False", "NotOwned")},
	} {
		t.Run(shape, func(t *testing.T) {
			w := newWorld(t)
			w.runProgram(shape)

			w.create("hello")
			w.shows(want.set)
			w.holds("hello")
			if shape != "root" {
				assert.Equal(t, helloChecksum, w.get().Status.Checksum)
			}

			w.edit(func(s *v1.Settings) { s.Spec.Message = " " })
			w.shows(want.blank)

			w.edit(func(s *v1.Settings) { s.Spec.Message = "hello"; s.Spec.Suspended = true })
			w.shows(want.suspended)

			// While it is suspended, somebody puts an object of their own in the child's place.
			mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.key().Name}}
			require.NoError(t, w.client.Delete(t.Context(), mine))
			foreign := &corev1.ConfigMap{ObjectMeta: mine.ObjectMeta, Data: map[string]string{"precious": "yes"}}
			foreign.ResourceVersion = ""
			require.NoError(t, w.client.Create(t.Context(), foreign))
			w.edit(func(s *v1.Settings) { s.Spec.Suspended = false })
			w.shows(want.broken)
			found := &corev1.ConfigMap{}
			require.NoError(t, w.client.Get(t.Context(), w.key(), found))
			assert.Equal(t, foreign.UID, found.UID)
			assert.Equal(t, foreign.ResourceVersion, found.ResourceVersion, "it is not touched")

			require.NoError(t, w.client.Delete(t.Context(), foreign))
			w.shows(want.set)
			w.holds("hello")

			require.NoError(t, w.client.Patch(t.Context(), mine, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"message":"by hand"}}`))))
			w.holds("hello")

			require.NoError(t, w.client.Delete(t.Context(), w.get()))
			harness.Eventually(t, 2*soon, "the ConfigMap goes with its owner", func(ctx context.Context) error {
				if err := w.client.Get(ctx, w.key(), mine); !apierrors.IsNotFound(err) {
					return errors.Join(errors.New("it is still there"), err)
				}
				return nil
			})
			harness.Always(t, time.Second, "the ConfigMap stays away", func(ctx context.Context) error {
				if err := w.client.Get(ctx, w.key(), mine); !apierrors.IsNotFound(err) {
					return errors.Join(errors.New("it is back"), err)
				}
				return nil
			})
		})
	}
}
