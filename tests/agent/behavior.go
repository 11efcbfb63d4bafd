package main

import (
	"flag"
	"fmt"
	"io"
	"time"
)

// behavior is how the agent was told to act: by the document's key sample, and
// by flags, which win over it.
type behavior struct {
	// ExitCode from 0, the default, to 255.
	ExitCode int `json:"exitCode"`
	// Sleep is how long a run works, or how long a serving agent lives that has
	// an exit code other than 0. Default: not at all.
	Sleep duration `json:"sleep"`
	// Message is printed by a run.
	Message string `json:"message"`
}

func (b behavior) check() error {
	if b.ExitCode < 0 || b.ExitCode > 255 {
		return fmt.Errorf("the exit code %d is not between 0 and 255", b.ExitCode)
	}
	if b.Sleep < 0 {
		return fmt.Errorf("the time to sleep, %v, is negative", time.Duration(b.Sleep))
	}
	return nil
}

// withFlags lets the arguments of a command override what the document asks.
func (b behavior) withFlags(command string, args []string) (behavior, error) {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&b.ExitCode, "exit-code", b.ExitCode, "")
	flags.DurationVar((*time.Duration)(&b.Sleep), "sleep", time.Duration(b.Sleep), "")
	flags.StringVar(&b.Message, "message", b.Message, "")
	if err := flags.Parse(args); err != nil {
		return behavior{}, fmt.Errorf("%w\n%s", err, usage)
	}
	if flags.NArg() > 0 {
		return behavior{}, fmt.Errorf("%s takes flags only, not %q\n%s", command, flags.Arg(0), usage)
	}
	if err := b.check(); err != nil {
		return behavior{}, err
	}
	return b, nil
}

// prepare reads the configuration and the arguments of serve and run.
func (p process) prepare(command string, args []string) (description, behavior, error) {
	described, asked, err := p.load()
	if err != nil {
		return description{}, behavior{}, failure{exitConfig, err}
	}
	asked, err = asked.withFlags(command, args)
	if err != nil {
		return description{}, behavior{}, failure{exitUsage, err}
	}
	return described, asked, nil
}

// duration is written in JSON as Go writes it, such as "1m30s".
type duration time.Duration

// UnmarshalText reads what time.ParseDuration reads.
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err
}

// MarshalText writes the duration so that it can be read again.
func (d duration) MarshalText() ([]byte, error) { //nolint:unparam // encoding.TextMarshaler has the error.
	return []byte(time.Duration(d).String()), nil
}
