package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// plan is the one line that a run prints.
type plan struct {
	description
	Input *fact `json:"input,omitempty"`
	behavior
}

// run prints what a real agent would work on, works for the time it was told,
// and ends with the exit code it was told, or with 143 as soon as it is asked
// to stop.
func (p process) run(ctx context.Context, args []string) (int, error) {
	described, asked, err := p.prepare("run", args)
	if err != nil {
		return 0, err
	}
	line := plan{description: described, behavior: asked}
	if input, found := described.Files["input"]; found {
		line.Input = &input
	}
	if err := json.NewEncoder(p.stdout).Encode(line); err != nil {
		return 0, fmt.Errorf("printing the plan: %w", err)
	}
	select {
	case <-ctx.Done():
		return 0, failure{exitTerminated, errors.New("asked to stop before the run was done")}
	case <-time.After(time.Duration(asked.Sleep)):
		return asked.ExitCode, nil
	}
}
