package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	head     = "apiVersion: loom.beyond10x.dev/v1alpha1\nkind: LoomAgent\n"
	listHead = "apiVersion: loom.beyond10x.dev/v1alpha1\nkind: LoomAgentList\n"
	accepted = head + "metadata: {name: good}\nspec: {command: {}}\n"
	refused  = head + "metadata: {name: bad}\nspec: {}\n"
	other    = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nspec: {unknown: 1}\n"
	finding  = "bad refused\n  spec: "
)

func TestCheckGivesTheVerdictOfEachFolder(t *testing.T) {
	for folder, code := range map[string]int{
		filepath.Join(fixtures, "accepted"): 0,
		filepath.Join(fixtures, "refused"):  1,
		samples:                             0,
		filepath.Join(samples, "refused"):   1,
	} {
		for _, file := range glob(t, folder, "*.yaml") {
			t.Run(file, func(t *testing.T) {
				got := run("check", "-f", file)
				assert.Equal(t, code, got.code)
				assert.Empty(t, got.stderr)
				lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
				assert.Regexp(t, `: LoomAgent \S+ (accepted|refused)$`, lines[0])
				assert.True(t, strings.HasPrefix(lines[0], file))
				assert.Equal(t, code == 1, strings.HasSuffix(lines[0], "refused"))
				assert.Equal(t, code == 1, len(lines) > 1)
				for _, line := range lines[1:] {
					assert.Regexp(t, `^  [a-z]\S*: .+`, line)
				}
			})
		}
	}
}

func TestCheckOfSeveralDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		documents []string
		code      int
		stdout    string // FILE stands for the file's name
	}{
		"one accepted":                         {[]string{accepted}, 0, "FILE: LoomAgent good accepted\n"},
		"other kinds are left out":             {[]string{other, accepted, other}, 0, "FILE: LoomAgent good accepted\n"},
		"empty documents are left out":         {[]string{"", "# nothing\n", accepted, ""}, 0, "FILE: LoomAgent good accepted\n"},
		"each is told":                         {[]string{accepted, accepted}, 0, "FILE: LoomAgent good accepted\nFILE: LoomAgent good accepted\n"},
		"one refused among accepted, in front": {[]string{refused, accepted}, 1, finding},
		"one refused among accepted, behind":   {[]string{accepted, refused}, 1, finding},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(c.documents, "---\n")
			file := write(t, text)
			assertAnswer(t, c.code, strings.ReplaceAll(c.stdout, "FILE", file), run("check", "-f", file))

			feed(t, text)
			assertAnswer(t, c.code, strings.ReplaceAll(c.stdout, "FILE", "-"), run("check", "-f", "-"))
		})
	}
}

func assertAnswer(t *testing.T, code int, stdout string, got answer) {
	t.Helper()
	assert.Equal(t, code, got.code)
	assert.Empty(t, got.stderr)
	assertText(t, stdout, got.stdout)
}

func TestCheckOfSeveralFiles(t *testing.T) {
	good, bad := write(t, accepted), write(t, refused)
	for name, args := range map[string][]string{
		"each with its own flag":                     {"check", "-f", good, "-f", bad},
		"after one flag, as a shell's pattern gives": {"check", "-f", good, bad},
		"without a flag":                             {"check", good, bad},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(args...)
			assert.Equal(t, 1, got.code)
			assert.True(t, strings.HasPrefix(got.stdout, good+": LoomAgent good accepted\n"+bad+": LoomAgent bad refused\n"), got.stdout)
		})
	}
}

// A list, as kubectl get prints it, is as good as its items in a file of their own.
func TestCheckOfLists(t *testing.T) {
	const bad = `{apiVersion: loom.beyond10x.dev/v1alpha1, kind: LoomAgent, metadata: {name: bad}, spec: {}}`
	good := strings.NewReplacer("name: bad", "name: good", "spec: {}", "spec: {command: {}}").Replace(bad)
	list := func(items ...string) string {
		return "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: ''}\nitems:\n- " + strings.Join(items, "\n- ") + "\n"
	}
	const nothing = ": There is nothing to run. Give spec.agent, spec.command or both.\n"
	for name, c := range map[string]struct {
		text   string
		code   int
		answer string // FILE stands for the file's name
	}{
		"of agents":                         {list(good, bad), 1, "FILE: items[0]: LoomAgent good accepted\nFILE: items[1]: LoomAgent bad refused\n  spec" + nothing},
		"in JSON":                           {`{"kind":"List","items":[{"apiVersion":"loom.beyond10x.dev/v1alpha1","kind":"LoomAgent","metadata":{"name":"good"},"spec":{"command":{}}}]}`, 0, "FILE: items[0]: LoomAgent good accepted\n"},
		"beside a good document":            {accepted + "---\n" + list(bad), 1, "FILE: LoomAgent good accepted\nFILE: items[0]: LoomAgent bad refused\n  spec" + nothing},
		"of several kinds":                  {list("{kind: ConfigMap, data: 1}", good, "null"), 0, "FILE: items[1]: LoomAgent good accepted\n"},
		"in a list":                         {list("{kind: List, items: [" + good + "]}"), 0, "FILE: items[0]: items[0]: LoomAgent good accepted\n"},
		"of agents that do not repeat kind": {listHead + "items:\n- metadata: {name: good}\n  spec: {command: {}}\n", 0, "FILE: items[0]: LoomAgent good accepted\n"},
		"what the schema refuses":           {list(good, strings.Replace(good, "command: {}", "command: {}, configFiles: [{name: a}]", 1)), 1, "FILE: items[0]: LoomAgent good accepted\nFILE: items[1]: LoomAgent good refused\n  spec.configFiles[0].content: The API server would refuse it: Required value. Correct it.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, c.text)
			assertAnswer(t, c.code, strings.ReplaceAll(c.answer, "FILE", file), run("check", "-f", file))
		})
	}
	for name, c := range map[string]struct{ text, stderr string }{
		"without an agent":            {list("{kind: ConfigMap}"), "no LoomAgent in it\n"},
		"without items":               {"kind: List\n", "no LoomAgent in it\n"},
		"of something else":           {"kind: List\nitems: {a: b}\n", "document 1: it is not a list: json: "},
		"of texts":                    {list("hello"), "document 1: items[0]: it is not an object with the texts apiVersion and kind\n"},
		"with an item it cannot read": {list(good, strings.Replace(good, "command", "comand", 1)), `document 1: items[1]: strict decoding error: unknown field "spec.comand"`},
		"with a field given twice":    {list(strings.Replace(good, "command: {}", "command: {}, command: {}", 1)), "document 1: it is not valid YAML: yaml: unmarshal errors:\n  line 5: key \"command\" already set in map\n"},
		"of another version":          {strings.Replace(listHead, "v1alpha1", "v2", 1) + "items: [{}]\n", `document 1: items[0]: apiVersion is "loom.beyond10x.dev/v2", this operator`},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, c.text)
			got := run("check", "-f", file)
			assert.Equal(t, 2, got.code)
			assert.Empty(t, got.stdout)
			assertText(t, "loom-operator: "+file+": "+c.stderr, got.stderr)
		})
	}
}

// What cannot be read is neither accepted nor refused, whatever else is there.
func TestCheckThatCannotRun(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct{ text, stderr string }{
		"no YAML":               {"a: [\n", "document 1: it is not valid YAML: yaml: "},
		"no JSON":               {`{"kind":`, "document 1: it is not valid YAML: yaml: "},
		"a text":                {"hello\n", "document 1: it is not an object with the texts apiVersion and kind\n"},
		"a list":                {"- kind: LoomAgent\n", "document 1: it is not an object with the texts apiVersion and kind\n"},
		"a kind that is a list": {"kind: [LoomAgent]\n", "document 1: it is not an object with the texts apiVersion and kind\n"},
		"no LoomAgent":          {other, "no LoomAgent in it\n"},
		"nothing":               {"", "no LoomAgent in it\n"},
		"another version": {
			strings.Replace(accepted, "v1alpha1", "v2", 1),
			"document 1: apiVersion is \"loom.beyond10x.dev/v2\", this operator knows \"loom.beyond10x.dev/v1alpha1\"\n",
		},
		"no version":                             {"kind: LoomAgent\nspec: {command: {}}\n", `document 1: apiVersion is "", this operator`},
		"A51 an unknown field":                   {head + "spec: {comand: {}}\n", `document 1: strict decoding error: unknown field "spec.comand"`},
		"A51 an unknown field deep down":         {head + "spec: {run: {backOffLimit: 1}}\n", `document 1: strict decoding error: unknown field "spec.run.backOffLimit"`},
		"A51 a field in other letters":           {head + "Spec: {command: {}}\n", `document 1: strict decoding error: unknown field "Spec"`},
		"a field given twice":                    {head + "spec: {suspend: true, suspend: false}\n", "document 1: strict decoding error: yaml: unmarshal errors:\n  line 3: key \"suspend\" already set in map\n"},
		"a field of another type":                {head + "spec: {env: hello}\n", "document 1: json: cannot unmarshal string into Go struct field"},
		"a broken document behind a good one":    {accepted + "---\na: [\n", "document 2: it is not valid YAML"},
		"a null byte where a document should be": {"\x00\n", "document 1: it is not valid YAML: yaml: control characters are not allowed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, c.text)
			for _, command := range []string{"check", "render"} {
				got := run(command, "-f", file)
				assert.Equal(t, 2, got.code)
				assert.Empty(t, got.stdout)
				assertText(t, "loom-operator: "+file+": "+c.stderr, got.stderr)
			}
		})
	}
	for name, file := range map[string]string{
		"a file that is not there": filepath.Join(folder, "none.yaml"),
		"a folder":                 folder,
	} {
		t.Run(name, func(t *testing.T) {
			got := run("check", "-f", file)
			assert.Equal(t, 2, got.code)
			assert.Empty(t, got.stdout)
			assert.Contains(t, got.stderr, file)
		})
	}
}

// Only what prints can tell whether an answer reached anybody.
func TestCheckWhoseAnswerCannotBePrinted(t *testing.T) {
	closed, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for _, command := range []string{"check", "render", "install", "version"} {
		t.Run(command, func(t *testing.T) {
			args := []string{command}
			if command == "check" || command == "render" {
				args = append(args, "-f", write(t, accepted))
			}
			assert.Equal(t, 2, runTo(closed, args...))
		})
	}
}

// The default image is the one that the operator of this version runs.
func TestCheckKnowsTheDefaultImage(t *testing.T) {
	file := write(t, accepted)
	t.Setenv("RELATED_IMAGE_LOOM_AGENT", "")
	assert.Equal(t, 0, run("check", "-f", file).code)
	assert.Contains(t, run("render", "-f", file).stdout, "image: ghcr.io/beyond10x/loom-agent:v1.2.3\n")

	t.Setenv("RELATED_IMAGE_LOOM_AGENT", "registry.example/agent:1")
	assert.Contains(t, run("render", "-f", file).stdout, "image: registry.example/agent:1\n")
	assert.Contains(t, run("render", "-f", file, "--agent-image=registry.example/agent:2").stdout, "image: registry.example/agent:2\n")

	got := run("check", "-f", file, "--agent-image=")
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.stdout, "spec.image: No image is given")
}
