package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// run executes a tool of the system. Its output is returned, and is part of the error when it fails.
func run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
	}
	return text, nil
}

// runAll executes commands one after another until one fails.
func runAll(ctx context.Context, commands ...[]string) error {
	for _, command := range commands {
		if _, err := run(ctx, command[0], command[1:]...); err != nil {
			return err
		}
	}
	return nil
}
