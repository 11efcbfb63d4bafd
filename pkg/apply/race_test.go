package apply

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestOtherNewChildrenAreNotHeldUpByACacheThatLags(t *testing.T) {
	w := newWorld()
	w.blind = true
	for _, child := range []client.Object{
		&corev1.ConfigMap{}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "another-name"}}, &corev1.Service{},
	} {
		writes, err := w.Ensure(t.Context(), owner, child)
		require.NoError(t, err)
		assert.Equal(t, 1, writes, "%T %s", child, child.GetName())
	}
}

func TestAnotherOwnerOfTheSameNameIsToldAtOnce(t *testing.T) {
	w := newWorld()
	w.blind = true
	_, err := w.ensure(t, "one")
	require.NoError(t, err)
	other := owner.DeepCopy()
	other.UID = "uid-2"
	_, err = w.Ensure(t.Context(), other, &corev1.ConfigMap{})
	assert.ErrorAs(t, err, new(*NotOwnedError))
}

func TestAChildThatWasSeenInTheWayIsCreatedAtOnceWhenItIsGone(t *testing.T) {
	for name, block := range map[string]func(t *testing.T, w *world, child *corev1.ConfigMap){
		"going": func(t *testing.T, w *world, child *corev1.ConfigMap) {
			child.Finalizers = []string{"example.com/hold"}
			require.NoError(t, w.server.Update(t.Context(), child))
			require.NoError(t, w.server.Delete(t.Context(), child))
		},
		"somebody else's": func(t *testing.T, w *world, child *corev1.ConfigMap) {
			child.OwnerReferences = nil
			require.NoError(t, w.server.Update(t.Context(), child))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			_, err := w.ensure(t, "one")
			require.NoError(t, err)
			block(t, w, w.stored(t))
			_, err = w.ensure(t, "one")
			require.Error(t, err)

			child := w.stored(t)
			child.Finalizers = nil
			require.NoError(t, w.server.Update(t.Context(), child))
			require.NoError(t, client.IgnoreNotFound(w.server.Delete(t.Context(), child)))
			w.taken()
			_, err = w.ensure(t, "one")
			require.NoError(t, err)
			assert.Equal(t, []string{"create"}, w.taken())
		})
	}
}

func TestAnEditDuringAnApplyIsAConflict(t *testing.T) {
	w := newWorld()
	for _, value := range []string{"one", "two"} { // The second moves the ownership, which has a guard of its own.
		_, err := w.ensure(t, value)
		require.NoError(t, err)
	}
	w.before = func(verb string) error {
		if verb != "patch" {
			return nil
		}
		w.before = nil
		edited := w.stored(t)
		edited.Data["value"] = "edited"
		return w.server.Update(t.Context(), edited)
	}
	_, err := w.ensure(t, "three")
	assert.True(t, apierrors.IsConflict(err), err)
	assert.Equal(t, "edited", w.stored(t).Data["value"])
}

func TestARefusedWriteIsNotCounted(t *testing.T) {
	for name, c := range map[string]struct{ refused, writes int }{
		"the move of the ownership": {1, 0},
		"the apply after it":        {2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			_, err := w.ensure(t, "one")
			require.NoError(t, err)
			patches := 0
			w.before = func(verb string) error {
				if verb == "patch" {
					patches++
				}
				if patches == c.refused {
					return errors.New("refused")
				}
				return nil
			}
			writes, err := w.ensure(t, "two")
			require.Error(t, err)
			assert.Equal(t, c.writes, writes)
		})
	}
}
