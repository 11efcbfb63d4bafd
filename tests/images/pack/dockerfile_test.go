package pack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// instruction is one line of a Dockerfile, with its continuations joined.
type instruction struct{ name, text string }

func dockerfile(t *testing.T, name string) []instruction {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), name))
	require.NoError(t, err)
	var instructions []instruction
	for line := range strings.Lines(strings.ReplaceAll(string(content), "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, text, _ := strings.Cut(line, " ")
		instructions = append(instructions, instruction{name, strings.Join(strings.Fields(text), " ")})
	}
	return instructions
}

func TestDockerfileMakesTheSameImage(t *testing.T) {
	program := find(t, "operator")
	// Docker puts its build argument where this text stands.
	const argument = "$VERSION"
	got := v1.Config{Labels: map[string]string{}}
	var base string
	var copied, ran []string
	for _, line := range dockerfile(t, "Dockerfile") {
		switch line.name {
		case "FROM":
			base, copied, got = line.text, nil, v1.Config{Labels: map[string]string{}}
		case "RUN":
			ran = append(ran, line.text)
		case "COPY":
			copied = append(copied, line.text)
		case "USER":
			got.User = line.text
		case "ENTRYPOINT":
			require.NoError(t, json.Unmarshal([]byte(line.text), &got.Entrypoint))
		case "CMD":
			require.NoError(t, json.Unmarshal([]byte(line.text), &got.Cmd))
		case "LABEL":
			for label := range strings.FieldsSeq(line.text) {
				key, value, _ := strings.Cut(label, "=")
				got.Labels[key] = strings.Trim(value, `"`)
			}
		case "ARG", "WORKDIR":
		default:
			t.Errorf("this test does not know what %s does to an image", line.name)
		}
	}
	assert.Equal(t, program.Config(argument), got)
	assert.Equal(t, "scratch", base)
	assert.Equal(t, []string{"--from=build /loom-operator /loom-operator"}, copied)
	assert.Contains(t, ran, "CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH "+shell(program.buildArgs(argument, "/loom-operator")))
}

// shell writes a call of go as a shell reads it.
func shell(args []string) string {
	line := "go"
	for _, arg := range args {
		if strings.Contains(arg, " ") {
			arg = `"` + arg + `"`
		}
		line += " " + arg
	}
	return line
}
