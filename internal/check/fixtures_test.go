package check_test

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
)

const fixtureFolder = "../../tests/fixtures/check"

func TestFixtures(t *testing.T) {
	for _, kind := range []string{"accepted", "refused"} {
		files, err := filepath.Glob(filepath.Join(fixtureFolder, kind, "*.yaml"))
		require.NoError(t, err)
		require.Greater(t, len(files), 20)
		for _, file := range files {
			t.Run(kind+"/"+filepath.Base(file), func(t *testing.T) {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				var agent v1alpha1.LoomAgent
				require.NoError(t, yaml.UnmarshalStrict(text, &agent))

				report := check.Run(check.Input{Agent: &agent, DefaultImage: defaultImage})

				assert.Equal(t, kind == "accepted", report.ExitCode() == 0)
				assert.Equal(t, expectedFindings(text), findings(report), report.Message())
				assertWellFormed(t, report)
			})
		}
	}
}

// expectedFindings reads the lines "# finding: FIELD RULE" of a fixture.
func expectedFindings(text []byte) []string {
	var want []string
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if finding, ok := strings.CutPrefix(lines.Text(), "# finding: "); ok {
			want = append(want, finding)
		}
	}
	return want
}
