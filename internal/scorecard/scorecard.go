// Package scorecard holds the tests that operator-sdk scorecard runs in a pod:
// its six default ones, so that they run where their image cannot be pulled,
// and those of this project.
//
// A test reads the bundle and says what is wrong with it. What it promises is
// the observable protocol of scorecard v1alpha3: a TestStatus as JSON.
package scorecard

import (
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

type test func(subject) []finding

var tests = map[string]test{
	"basic-check-spec":         specs,
	"olm-bundle-validation":    defaultValidators,
	"olm-crds-have-validation": knownFields,
	"olm-crds-have-resources":  resources,
	"olm-spec-descriptors":     specDescriptors,
	"olm-status-descriptors":   statusDescriptors,

	"loom-no-warnings":          everyValidator,
	"loom-examples-accepted":    examplesAccepted,
	"loom-descriptors-complete": descriptorsComplete,
	"loom-images-pinned":        imagesPinned,
	"loom-permissions-exact":    permissionsExact,
}

// Names lists the tests.
func Names() []string { return slices.Sorted(maps.Keys(tests)) }

// Run runs the named test on the bundle in a folder. A name that no test has,
// and a bundle that cannot be read, fail.
func Run(name, root string) v1alpha3.TestStatus {
	result := v1alpha3.TestResult{Name: name, State: v1alpha3.PassState}
	for _, f := range run(name, root) {
		if f.suggestion {
			result.Suggestions = append(result.Suggestions, f.text)
			continue
		}
		result.State = v1alpha3.FailState
		result.Errors = append(result.Errors, f.text)
	}
	return v1alpha3.TestStatus{Results: []v1alpha3.TestResult{result}}
}

func run(name, root string) []finding {
	run, ok := tests[name]
	if !ok {
		return []finding{fault("There is no test %q. There are: %s.", name, strings.Join(Names(), ", "))}
	}
	bundle, err := manifests.GetBundleFromDir(root)
	if err != nil {
		return []finding{fault("The bundle in %s cannot be read: %v.", filepath.Clean(root), err)}
	}
	s := subject{Bundle: bundle, root: root}
	if s.examples, err = examplesOf(bundle); err != nil {
		return []finding{fault("The annotation alm-examples cannot be read: %v.", err)}
	}
	return run(s)
}
