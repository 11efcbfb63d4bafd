package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/beyond10x/loom-operator"

// law says for each package which packages of this module it may import, and
// from outside which modules: all of them, or only the listed ones beside the
// standard library. A package that is not listed breaks the law, so that a new
// one is given its place here first (docs/decisions/0001).
//
// Arrows point down only. Pure packages decide and touch nothing; controllers
// read, ask them, and write; the three controllers do not know each other.
var law = map[string]rule{
	"apis/v1alpha1": {outside: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver/pkg/apis"}},
	"config":        {outside: []string{}},
	"pkg/apply":     {},
	"pkg/stages":    {inside: []string{"pkg/apply"}},

	"internal/lifecycle":     {outside: []string{}},
	"internal/lifecycle/gen": {inside: []string{"internal/lifecycle"}, outside: []string{}},
	"internal/check":         {inside: []string{"apis/v1alpha1"}, outside: append(pure, "github.com/robfig/cron/v3")},
	"internal/workload":      {inside: []string{"apis/v1alpha1"}, outside: pure},
	"internal/observe":       {inside: []string{"apis/v1alpha1", "internal/lifecycle"}, outside: pure},
	"internal/guard":         {inside: []string{"apis/v1alpha1"}, outside: pure},

	"internal/gather":   {inside: []string{"apis/v1alpha1", "internal/workload"}},
	"internal/journal":  {inside: []string{"apis/v1alpha1", "internal/lifecycle", "pkg/stages"}},
	"internal/children": {inside: []string{"apis/v1alpha1", "internal/journal", "pkg/apply", "pkg/stages"}},
	"internal/intake": {inside: []string{"apis/v1alpha1", "internal/check", "internal/children", "internal/gather", "internal/guard",
		"internal/journal", "internal/lifecycle", "internal/workload", "pkg/stages"}},

	"controllers/agentserve": controller,
	"controllers/command":    controller,
	"controllers/scheduled":  controller,
	"controllers": {inside: []string{"apis/v1alpha1", "controllers/agentserve", "controllers/command", "controllers/scheduled",
		"internal/children", "internal/gather", "internal/intake", "internal/journal", "internal/workload", "pkg/stages"}},

	"internal/upgradeable": {inside: []string{"apis/v1alpha1", "internal/guard"}},

	"internal/bundle":     {},
	"internal/bundle/gen": {inside: []string{"internal/bundle"}, outside: []string{}},
	"internal/scorecard":  {inside: []string{"apis/v1alpha1", "config", "internal/check"}},
	"scorecard":           {inside: []string{"internal/scorecard"}},

	"internal/cli": {inside: []string{"apis/v1alpha1", "config", "controllers", "internal/check", "internal/upgradeable", "internal/workload"}},
	"":             {inside: []string{"internal/cli"}, outside: []string{}},

	"docs/gen": {outside: []string{}},

	"examples/settings":            {inside: []string{"examples/settings/controller", "examples/settings/v1", "pkg/stages"}},
	"examples/settings/controller": {inside: []string{"examples/settings/v1", "pkg/stages"}},
	"examples/settings/v1":         {outside: []string{"k8s.io/api", "k8s.io/apimachinery"}},
}

var pure = []string{"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/yaml"}

var controller = rule{inside: []string{"apis/v1alpha1", "internal/check", "internal/children", "internal/gather", "internal/guard",
	"internal/intake", "internal/journal", "internal/lifecycle", "internal/observe", "internal/workload", "pkg/stages"}}

type rule struct {
	// inside lists packages of this module.
	inside []string
	// outside lists module paths; nil allows every one.
	outside []string
}

func (r rule) allows(imported string) bool {
	if own, ok := strings.CutPrefix(imported, module); ok {
		own = strings.TrimPrefix(own, "/")
		for _, allowed := range r.inside {
			if own == allowed {
				return true
			}
		}
		return false
	}
	standard := !strings.Contains(strings.Split(imported, "/")[0], ".")
	if standard || r.outside == nil {
		return true
	}
	for _, allowed := range r.outside {
		if imported == allowed || strings.HasPrefix(imported, allowed+"/") {
			return true
		}
	}
	return false
}

func TestImportsFollowTheLaw(t *testing.T) {
	for _, p := range packages(t) {
		path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		r, listed := law[path]
		if !assert.True(t, listed, "package %q has no place in the law", path) {
			continue
		}
		for _, imported := range p.Imports {
			assert.True(t, r.allows(imported), "%s must not import %s", p.ImportPath, imported)
		}
	}
}

// Pure packages tell no time, so that what they decide depends on what they are
// given alone.
func TestPurePackagesReadNoClock(t *testing.T) {
	for _, folder := range []string{"internal/lifecycle", "internal/check", "internal/workload", "internal/observe", "internal/guard"} {
		for _, file := range sources(t, folder) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, call := range []string{"time.Now(", "time.Since(", "time.Until(", "os.Getenv(", "rand."} {
				assert.False(t, strings.Contains(string(text), call), "%s uses %s", file, call)
			}
		}
	}
}

// One package writes status, so that one place keeps its promises: one write in
// a pass, none that changes nothing, each on the version that was read.
func TestOnlyTheRuntimeWritesStatus(t *testing.T) {
	for _, folder := range []string{"apis", "controllers", "internal"} {
		for _, file := range sources(t, folder) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, call := range []string{".Status().Update(", ".Status().Patch(", ".Status().Apply(", ".SubResource(", "EventRecorder"} {
				assert.False(t, strings.Contains(string(text), call), "%s uses %s", file, call)
			}
		}
	}
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...").Output()
	require.NoError(t, err)
	var found []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, found)
			return found
		}
		require.NoError(t, err)
		found = append(found, p)
	}
}

// sources lists the Go files below a folder that are not tests.
func sources(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}
