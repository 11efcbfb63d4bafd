package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// change is one edit of the operator's source, made for one build only.
type change struct {
	file, old, new string
}

// build builds the operator with changes into a file of its own, so that other
// builds do not replace it meanwhile.
func build(ctx context.Context, dir, name string, changes ...change) (string, error) {
	binary := filepath.Join(dir, name)
	return binary, compile(ctx, binary, ".", changes...)
}

// compile compiles a package of the operator with changes. Source files are
// never written: a change reaches the compiler as a build overlay.
func compile(ctx context.Context, output, pkg string, changes ...change) error {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	overlay := struct{ Replace map[string]string }{Replace: map[string]string{}}
	for i, c := range changes {
		source := filepath.Join(root, c.file)
		text, err := os.ReadFile(source)
		if err != nil {
			return fmt.Errorf("change the operator: %w", err)
		}
		if n := strings.Count(string(text), c.old); n != 1 {
			return fmt.Errorf("change the operator: %s has %q %d times, not once", c.file, c.old, n)
		}
		changed := fmt.Sprintf("%s-%d.go", output, i)
		if err := os.WriteFile(changed, []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o600); err != nil {
			return fmt.Errorf("change the operator: %w", err)
		}
		overlay.Replace[source] = changed
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return fmt.Errorf("change the operator: %w", err)
	}
	list := output + ".json"
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return fmt.Errorf("change the operator: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-overlay", list, "-o", output, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the operator: %w\n%s", err, bytes.TrimSpace(said))
	}
	return nil
}
