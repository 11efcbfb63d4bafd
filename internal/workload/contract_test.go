package workload

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// promised is how the contract shows each constant of contract.go.
var promised = map[string]string{
	"ConfigDir":               "`" + ConfigDir + "`",
	"ScratchDir":              "`" + ScratchDir + "`",
	"AgentFile":               "`" + ConfigDir + "/" + AgentFile + "`",
	"RoutesFile":              "`" + ConfigDir + "/" + RoutesFile + "`",
	"ConnectorsFile":          "`" + ConfigDir + "/" + ConnectorsFile + "`",
	"BoundaryFile":            "`" + ConfigDir + "/" + BoundaryFile + "`",
	"InputFile":               "`" + ConfigDir + "/" + InputFile + "`",
	"FilesDir":                "`" + ConfigDir + "/" + FilesDir + "/NAME`",
	"TokensDir":               "`" + ConfigDir + "/" + TokensDir + "/NAME`",
	"EnvPrefix":               "prefix `" + EnvPrefix + "`",
	"EnvName":                 "| `" + EnvName + "` |",
	"EnvNamespace":            "| `" + EnvNamespace + "` |",
	"EnvMode":                 "| `" + EnvMode + "` |",
	"EnvConfigDir":            "| `" + EnvConfigDir + "` |",
	"EnvPort":                 "| `" + EnvPort + "` |",
	"EnvHome":                 "| `" + EnvHome + "` | `" + ScratchDir + "`",
	"ModeServe":               "| the image's entrypoint | `" + ModeServe + "` |",
	"ModeRun":                 "| the image's entrypoint | `" + ModeRun + "` |",
	"PortName":                "named `" + PortName + "`",
	"DefaultPort":             fmt.Sprintf("%d by default", DefaultPort),
	"LivePath":                "`GET " + LivePath + "`",
	"ReadyPath":               "`GET " + ReadyPath + "`",
	"DefaultGraceSeconds":     fmt.Sprintf("SIGTERM, then %d seconds", DefaultGraceSeconds),
	"TokenSeconds":            fmt.Sprintf("valid for %d seconds", TokenSeconds),
	"NetworkPolicyAnnotation": "`" + NetworkPolicyAnnotation + "`",
	"NetworkPolicyDisabled":   "value `" + NetworkPolicyDisabled + "`",
	"ReferencesAnnotation":    "`" + ReferencesAnnotation + "`",
}

func TestTheContractShowsEveryConstant(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "runtime-contract.md"))
	require.NoError(t, err)
	page := string(text)
	for name, shown := range promised {
		assert.Contains(t, page, shown, name)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "contract.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, isValue := node.(*ast.ValueSpec); isValue {
			for _, name := range spec.Names {
				assert.Contains(t, promised, name.Name, "every constant of contract.go is a promise")
			}
		}
		return true
	})

	more := []string{
		"container named `" + v1alpha1.AgentContainer + "`",
		fmt.Sprintf("ready for %d seconds", minReadySeconds),
		fmt.Sprintf("has mode %04o", readable),
		fmt.Sprintf("ports %d, and %d", dnsPorts[0], dnsPorts[1]),
		"`" + v1alpha1.GenerationAnnotation + "`",
		fmt.Sprintf("%d characters; %d for a CronJob", maxLabel, maxCronJob),
		fmt.Sprintf("`--` and %d digits", hashDigits),
		labelName, labelInstance, labelManagedBy, labelComponent, v1alpha1.AgentLabel,
	}
	for _, u := range []string{"model", "connectors", "git"} {
		more = append(more, "`"+ConfigDir+"/"+TokensDir+"/"+u+"`")
	}
	for _, shown := range more {
		assert.Contains(t, page, shown)
	}
	for scheme, port := range schemePorts {
		assert.Regexp(t, fmt.Sprintf("`%s`[^;]* %d", regexp.QuoteMeta(scheme), port), page)
	}
}
