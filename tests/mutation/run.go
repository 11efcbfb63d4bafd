package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// verdict is what the tests made of a mutant. A test run that hangs is ended
// by its time limit and has noticed the mutant.
type verdict string

const (
	killed    verdict = "killed"
	survived  verdict = "SURVIVED"
	same      verdict = "equivalent"
	stillborn verdict = "does not compile"
)

// testAll tests the mutants of the package in dir, one per processor at a
// time, and returns their verdicts in the same order.
func testAll(dir string, mutants []mutant) ([]verdict, error) {
	if output, err := goTest(dir, "./..."); err != nil {
		return nil, fmt.Errorf("the tests of %s fail without any mutation: %w\n%s", dir, err, output)
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	verdicts := make([]verdict, len(mutants))
	failures := make([]error, len(mutants))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i, m := range mutants {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			verdicts[i], failures[i] = m.test(filepath.Join(scratch, strconv.Itoa(i)))
		})
	}
	group.Wait()
	return verdicts, errors.Join(append(failures, os.RemoveAll(scratch))...)
}

// test runs the tests of the package, and those of the packages below it when
// the first notice nothing. The changed source and its overlay go to files
// whose names start with the prefix.
func (m mutant) test(prefix string) (verdict, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	changed, overlay := prefix+".go", prefix+".json"
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: changed}})
	if err != nil {
		return "", err
	}
	text := string(source[:m.start]) + m.text + string(source[m.end:])
	if err := errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, content, 0o600)); err != nil {
		return "", err
	}
	for _, target := range []string{".", "./..."} {
		output, err := goTest(filepath.Dir(m.file), target, "-overlay="+overlay)
		switch _, exited := errors.AsType[*exec.ExitError](err); {
		case err == nil:
		case !exited:
			return "", fmt.Errorf("running go test: %w", err)
		case bytes.Contains(output, []byte("[build failed]")), bytes.Contains(output, []byte("[setup failed]")):
			return stillborn, nil
		default:
			return killed, nil
		}
	}
	return survived, nil
}

func goTest(dir, target string, flags ...string) ([]byte, error) {
	flags = append([]string{"test", "-failfast", "-vet=off", "-ldflags=-s -w", "-timeout=2m"}, flags...)
	command := exec.Command("go", append(flags, target)...)
	command.Dir = dir
	return command.CombinedOutput()
}

// moduleRoot returns the directory of the module that dir belongs to.
func moduleRoot(dir string) (string, error) {
	command := exec.Command("go", "env", "GOMOD")
	command.Dir = dir
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("finding the module of %s: %w", dir, err)
	}
	return filepath.Dir(strings.TrimSpace(string(output))), nil
}
