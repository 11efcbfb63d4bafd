// Command loom-agent is the program of the sample agent image. It calls no
// model: it is an honest stand-in that follows docs/runtime-contract.md, shows
// what it was given, and ends as it is told. Samples, the demo and the tests
// run it. README.md says how to use it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version of the image; its build sets another one.
var version = "dev"

// Exit codes that the program chooses by itself. Any other is one that it was
// told to end with. Those above 64 have their meaning from sysexits.h and, for
// a signal, from the shell: 128 and the number of the signal.
const (
	exitFailed     = 1
	exitUsage      = 2
	exitLedger     = 70
	exitConfig     = 78
	exitTerminated = 128 + int(syscall.SIGTERM)
)

const usage = `usage:
  loom-agent serve [--exit-code N] [--sleep DURATION] [--message TEXT]
  loom-agent run   [--exit-code N] [--sleep DURATION] [--message TEXT]
  loom-agent show  [FILE...]
  loom-agent call`

// failure is an error that ends the program with a code of its own.
type failure struct {
	code int
	error
}

// process is everything that the program takes from its surroundings.
type process struct {
	getenv         func(string) string
	environ        []string
	stdout, stderr io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	p := process{getenv: os.Getenv, environ: os.Environ(), stdout: os.Stdout, stderr: os.Stderr}
	code := p.main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// main runs one command and returns the exit code. The start is recorded
// before anything else, so that a start that did anything is always counted.
func (p process) main(ctx context.Context, args []string) int {
	code, err := p.start(ctx, args)
	if err == nil {
		return code
	}
	fmt.Fprintf(p.stderr, "loom-agent: %v\n", err)
	if ended, found := errors.AsType[failure](err); found {
		return ended.code
	}
	return exitFailed
}

// start returns the exit code that the program was told to end with, or an
// error, which ends it with 1 unless it is a failure with a code of its own.
func (p process) start(ctx context.Context, args []string) (int, error) {
	if err := p.recordStart(ctx); err != nil {
		return 0, failure{exitLedger, err}
	}
	if len(args) == 0 {
		return 0, failure{exitUsage, errors.New("no command was given\n" + usage)}
	}
	name, args := args[0], args[1:]
	switch name {
	case "serve":
		return p.serve(ctx, args)
	case "run":
		return p.run(ctx, args)
	case "call":
		return p.call(ctx, args)
	case "show":
		return p.show(args)
	case "help", "-h", "--help":
		fmt.Fprintln(p.stdout, usage)
		return 0, nil
	default:
		return 0, failure{exitUsage, fmt.Errorf("there is no command %q\n%s", name, usage)}
	}
}
