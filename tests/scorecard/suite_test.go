// Package scorecard_test runs the tests of the bundle as operator-sdk scorecard
// does, on the real node with the operator installed by the bundle, and shows
// on a control plane that a fault in the cluster turns them red. The faults of
// a bundle need no cluster: internal/scorecard has them.
package scorecard_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/beyond10x/loom-operator/internal/bundle"
	"github.com/beyond10x/loom-operator/internal/scorecard"
	"github.com/beyond10x/loom-operator/tests/deploy"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// patience is what --wait-time is to operator-sdk scorecard: for all tests
// together.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func TestEveryTestOfScorecardIsGreen(t *testing.T) {
	i, folder, images := deployed(t)
	pods, err := kubernetes.NewForConfig(i.cluster.Config)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	said, err := player{client: i.cluster.Client, pods: pods, namespace: i.namespace, untar: images.Scorecard}.play(ctx, folder)

	require.NoError(t, err)
	for _, name := range scorecard.Names() {
		status := said[name+"-test"]
		if assert.Len(t, status.Results, 1, name) {
			result := status.Results[0]
			assert.Equal(t, name, result.Name)
			assert.Equal(t, v1alpha3.PassState, result.State, "%s: %q", name, result.Errors)
			assert.Empty(t, result.Suggestions, name)
		}
	}
	left := &corev1.PodList{}
	require.NoError(t, i.cluster.Client.List(t.Context(), left, client.InNamespace(i.namespace), client.MatchingLabels{"app": "scorecard-test"}))
	for _, pod := range left.Items {
		assert.NotNil(t, pod.DeletionTimestamp, pod.Name)
	}
}

// deployed builds the images and the bundle of this tree, and installs the
// operator by it on the node.
func deployed(t *testing.T) (i *installation, folder string, images bundle.Images) {
	t.Helper()
	root, err := harness.Root()
	require.NoError(t, err)
	kube, err := deploy.Start(t.Context(), root, os.Stderr)
	require.NoError(t, err)
	images = buildImages(t, kube)
	cluster := harness.Node(t)
	removeOther(t, cluster)
	folder, err = build(t.TempDir(), func(release *bundle.Release) { release.Images = images })
	require.NoError(t, err)
	i, err = install(t.Context(), cluster, folder)
	t.Cleanup(func() { assert.NoError(t, i.remove(context.Background())) })
	require.NoError(t, err)
	harness.Eventually(t, patience, "the operator is available", i.available)
	return i, folder, images
}

// buildImages builds the three images of a release from this tree, and names
// them by digest as the bundle does.
func buildImages(t *testing.T, kube deploy.Cluster) bundle.Images {
	t.Helper()
	digest := func(name string) string {
		image, err := kube.BuildImage(t.Context(), name, deploy.Version)
		require.NoError(t, err)
		return "ghcr.io/beyond10x/loom-" + name + "@" + image.Digest
	}
	return bundle.Images{Operator: digest("operator"), Agent: digest("agent"), Scorecard: digest("scorecard")}
}

// removeOther removes an operator that another test has left, since it looks
// after all namespaces.
func removeOther(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	other := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: deploy.Namespace, Name: deploy.Deployment}}
	require.NoError(t, client.IgnoreNotFound(cluster.Client.Delete(t.Context(), other, client.PropagationPolicy(metav1.DeletePropagationForeground))))
	harness.Eventually(t, time.Minute, "no other operator runs", func(ctx context.Context) error {
		err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(other), other)
		if err == nil {
			return assert.AnError
		}
		return client.IgnoreNotFound(err)
	})
}
