// Package build makes the programs of a cluster from the Go modules that this module's go.mod pins.
package build

import (
	"bufio"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	kubernetes = "k8s.io/kubernetes"
	etcd       = "go.etcd.io/etcd/server/v3"
	// progressInterval is how often a long build says that it goes on.
	progressInterval = 15 * time.Second
)

// Versions are those of the built programs, with the leading "v".
type Versions struct {
	Kubernetes string `json:"kubernetes"`
	Etcd       string `json:"etcd"`
}

type program struct {
	name, pkg, module string
}

var programs = []program{
	{"etcd", etcd, etcd}, // the main package of etcd is its module's root
	{"kubectl", kubernetes + "/cmd/kubectl", kubernetes},
	{"kube-apiserver", kubernetes + "/cmd/kube-apiserver", kubernetes},
	{"kube-controller-manager", kubernetes + "/cmd/kube-controller-manager", kubernetes},
	{"kube-scheduler", kubernetes + "/cmd/kube-scheduler", kubernetes},
	{"kubelet", kubernetes + "/cmd/kubelet", kubernetes},
	{"kube-proxy", kubernetes + "/cmd/kube-proxy", kubernetes},
}

// builder holds what one run of Ensure needs.
type builder struct {
	module   string // directory of this Go module
	bin      string
	progress io.Writer
}

// Ensure builds into bin every program that is missing there or has another version than go.mod asks for, and says on
// progress what it does. The first time on a machine takes about 10 minutes on two cores; later builds, also of a
// fresh clone, find their packages in Go's build cache. Only one Ensure works on bin at a time; others wait.
func Ensure(ctx context.Context, module, bin string, progress io.Writer) (Versions, error) {
	b := builder{module: module, bin: bin, progress: progress}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return Versions{}, fmt.Errorf("making the directory of programs: %w", err)
	}
	unlock, err := lock(filepath.Join(bin, ".lock"))
	if err != nil {
		return Versions{}, err
	}
	defer unlock()
	versions, err := b.versions(ctx)
	if err != nil {
		return Versions{}, err
	}
	if err := b.pause(ctx); err != nil {
		return Versions{}, err
	}
	missing := b.missing(versions)
	if len(missing) > 0 {
		fmt.Fprintf(progress, "building Kubernetes %s and etcd %s from source; the first time on a machine takes about 10 minutes\n",
			versions.Kubernetes, versions.Etcd)
	}
	for i, p := range missing {
		label := fmt.Sprintf("[%d of %d] %s", i+1, len(missing), p.name)
		if err := b.build(ctx, p, label, ldflags(versions)); err != nil {
			return Versions{}, err
		}
	}
	return versions, nil
}

// versions asks Go which versions go.mod selects.
func (b builder) versions(ctx context.Context) (Versions, error) {
	cmd := b.command(ctx, "list", "-m", "-f", "{{.Version}}", kubernetes, etcd)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return Versions{}, fmt.Errorf("reading the versions in %s/go.mod: %w: %s", b.module, err, strings.TrimSpace(string(exit.Stderr)))
		}
		return Versions{}, fmt.Errorf("reading the versions in %s/go.mod: %w", b.module, err)
	}
	fields := strings.Fields(string(out))
	if len(fields) != 2 {
		return Versions{}, fmt.Errorf("reading the versions in %s/go.mod: unexpected answer %q", b.module, out)
	}
	return Versions{Kubernetes: fields[0], Etcd: fields[1]}, nil
}

// missing lists the programs to build. A program itself records what it was built from, so no stamp can be wrong.
func (b builder) missing(versions Versions) []program {
	want := map[string]string{kubernetes: versions.Kubernetes, etcd: versions.Etcd}
	var missing []program
	for _, p := range programs {
		info, err := buildinfo.ReadFile(filepath.Join(b.bin, p.name))
		if err != nil || !upToDate(info, want[p.module], ldflags(versions)) {
			missing = append(missing, p)
		}
	}
	return missing
}

// upToDate says whether a program was built from this version of its module and with these flags.
func upToDate(info *buildinfo.BuildInfo, version, ldflags string) bool {
	return info.Main.Version == version && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-ldflags" && s.Value == ldflags
	})
}

// ldflags set the version that the Kubernetes programs report, as Kubernetes' own build does.
func ldflags(versions Versions) string {
	flags := "-s -w"
	parts := strings.SplitN(strings.TrimPrefix(versions.Kubernetes, "v"), ".", 3)
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s", pkg, versions.Kubernetes, pkg, parts[0], pkg, parts[1])
	}
	return flags
}

// build compiles one program and counts the packages that Go names while it compiles them.
func (b builder) build(ctx context.Context, p program, label, ldflags string) error {
	started := time.Now()
	fmt.Fprintf(b.progress, "%s ...\n", label)
	cmd := b.command(ctx, "build", "-v", "-ldflags", ldflags, "-o", filepath.Join(b.bin, p.name), p.pkg)
	output, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("building %s: %w", p.name, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("building %s: %w", p.name, err)
	}
	tail := b.follow(output, label, started)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("building %s: %w:\n%s", p.name, err, tail)
	}
	fmt.Fprintf(b.progress, "%s built in %s\n", label, time.Since(started).Round(time.Second))
	return nil
}

// follow reads the output of a build to its end and returns the last lines, which hold the error if there is one.
func (b builder) follow(output io.Reader, label string, started time.Time) string {
	const keep = 20
	var tail []string
	reported := started
	packages := 0
	for lines := bufio.NewScanner(output); lines.Scan(); {
		packages++
		tail = append(tail, lines.Text())
		tail = tail[max(0, len(tail)-keep):]
		if time.Since(reported) >= progressInterval {
			reported = time.Now()
			fmt.Fprintf(b.progress, "%s: compiled %d packages in %s\n", label, packages, time.Since(started).Round(time.Second))
		}
	}
	return strings.Join(tail, "\n")
}

// pause builds the program of the pod sandbox, statically, since its image holds nothing else. Go itself sees whether
// it is up to date.
func (b builder) pause(ctx context.Context) error {
	cmd := b.command(ctx, "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", filepath.Join(b.bin, "pause"), "./pause")
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building pause: %w:\n%s", err, out)
	}
	return nil
}

func (b builder) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(), "GOWORK=off")
	return cmd
}

func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the build lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("waiting for another build to end: %w", err)
	}
	return func() { file.Close() }, nil
}
