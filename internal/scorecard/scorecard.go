// Package scorecard holds the tests that operator-sdk scorecard runs in a pod:
// its six default ones, so that they run where their image cannot be pulled,
// and those of this project.
//
// A test looks at the bundle, and some at the cluster as well, and says what is
// wrong. What it promises is the observable protocol of scorecard v1alpha3: a
// TestStatus as JSON.
package scorecard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/operator-framework/api/pkg/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// subject is the bundle under test.
type subject struct {
	*manifests.Bundle
	// root is the folder of the bundle.
	root     string
	examples []unstructured.Unstructured
}

// finding is what a test has to say. A suggestion does not fail it.
type finding struct {
	text       string
	suggestion bool
}

func fault(format string, args ...any) finding { return finding{text: fmt.Sprintf(format, args...)} }

func suggestion(format string, args ...any) finding {
	return finding{text: fmt.Sprintf(format, args...), suggestion: true}
}

// static are the tests of the bundle alone.
var static = map[string]func(subject) []finding{
	"basic-check-spec":         specs,
	"olm-bundle-validation":    defaultValidators,
	"olm-crds-have-validation": knownFields,
	"olm-crds-have-resources":  resources,
	"olm-spec-descriptors":     specDescriptors,
	"olm-status-descriptors":   statusDescriptors,

	"loom-no-warnings":          everyValidator,
	"loom-metadata-consistent":  metadataConsistent,
	"loom-crd-valid":            crdValid,
	"loom-examples-accepted":    examplesAccepted,
	"loom-invalid-refused":      invalidRefused,
	"loom-descriptors-complete": descriptorsComplete,
	"loom-images-pinned":        imagesPinned,
	"loom-permissions-exact":    permissionsExact,
}

// live are the tests of an operator that runs. They work in the namespace that
// it is installed in, which it has to look after.
var live = map[string]func(context.Context, subject, Cluster) []finding{
	"loom-operator-runs":     operatorRuns,
	"loom-samples-admitted":  samplesAdmitted,
	"loom-permissions-given": permissionsGiven,
	"loom-serve-lives":       livesOf(serving),
	"loom-command-lives":     livesOf(commanded),
	"loom-schedule-lives":    livesOf(scheduled),
	"loom-refused-recovers":  refusedRecovers,
}

// Names lists the tests.
func Names() []string {
	return append(slices.Sorted(maps.Keys(static)), slices.Sorted(maps.Keys(live))...)
}

// Run runs the named test on the bundle in a folder. Only a test that needs a
// cluster calls connect. A name that no test has fails, and so does a bundle
// that cannot be read or a cluster that cannot be reached.
func Run(ctx context.Context, name, root string, connect func() (Cluster, error)) v1alpha3.TestStatus {
	result := v1alpha3.TestResult{Name: name, State: v1alpha3.PassState}
	for _, f := range run(ctx, name, root, connect) {
		if f.suggestion {
			result.Suggestions = append(result.Suggestions, f.text)
			continue
		}
		result.State = v1alpha3.FailState
		result.Errors = append(result.Errors, f.text)
	}
	return v1alpha3.TestStatus{Results: []v1alpha3.TestResult{result}}
}

func run(ctx context.Context, name, root string, connect func() (Cluster, error)) []finding {
	onBundle, onCluster := static[name], live[name]
	if onBundle == nil && onCluster == nil {
		return []finding{fault("There is no test %q. There are: %s.", name, strings.Join(Names(), ", "))}
	}
	s, err := read(root)
	if err != nil {
		return []finding{fault("The bundle in %s cannot be read: %v.", filepath.Clean(root), err)}
	}
	if onBundle != nil {
		return onBundle(s)
	}
	cluster, err := connect()
	if err != nil {
		return []finding{fault("The cluster cannot be reached: %v.", err)}
	}
	return onCluster(ctx, s, cluster)
}

func read(root string) (subject, error) {
	bundle, err := manifests.GetBundleFromDir(root)
	if err != nil {
		return subject{}, err
	}
	if bundle.CSV == nil {
		return subject{}, errors.New("it has no ClusterServiceVersion")
	}
	s := subject{Bundle: bundle, root: root}
	if s.examples, err = examplesOf(bundle); err != nil {
		return subject{}, fmt.Errorf("its annotation alm-examples: %w", err)
	}
	return s, nil
}
