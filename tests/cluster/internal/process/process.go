// Package process starts background processes that outlive the command that started them, and later recognizes and
// stops exactly those.
package process

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// searchPath is where every started program looks for others. It includes the folders of administration tools, which
// an ordinary user's PATH lacks on Debian.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const (
	// pollInterval is how often Stop looks whether a process has ended.
	pollInterval = 10 * time.Millisecond
	// firstOther is the first file descriptor after the standard ones.
	firstOther = 3
	// killTimeout bounds the wait for the kernel to end a killed process.
	killTimeout = 20 * time.Second
)

// Spec is a program to run. Argv[0] is its absolute path; Log is the file its output is appended to.
type Spec struct {
	Name string   `json:"name"`
	Argv []string `json:"argv"`
	Log  string   `json:"log"`
}

// Record is a program that was started. PID and StartTicks together name one process until the machine reboots: a
// process that got the same PID later has another start time.
type Record struct {
	Spec
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"startTicks"`
}

// Start runs the program in a session of its own, so that no signal of the caller's terminal reaches it. The program
// sees none of the caller's environment: a proxy or a kubeconfig set there must not change what a cluster does. Nor does
// it keep a file of the caller open, which could be a lock that would then be held for as long as the cluster is up.
func Start(spec Spec) (Record, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return Record{}, fmt.Errorf("opening the log of %s: %w", spec.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + searchPath, "HOME=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := unix.CloseRange(firstOther, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return Record{}, fmt.Errorf("closing the caller's files for %s: %w", spec.Name, err)
	}
	if err := cmd.Start(); err != nil {
		return Record{}, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	started, err := readStat(cmd.Process.Pid)
	// The child is waited for only after its start time was read: until then its PID cannot be given to another process.
	go cmd.Wait() //nolint:errcheck // How it ended is in its log; waiting only reaps it.
	if err != nil {
		return Record{}, fmt.Errorf("reading the start time of %s: %w", spec.Name, err)
	}
	return Record{Spec: spec, PID: cmd.Process.Pid, StartTicks: started.startTicks}, nil
}

// Alive says whether this very process still runs. A zombie does not run.
func (r Record) Alive() bool {
	now, err := readStat(r.PID)
	return err == nil && now.startTicks == r.StartTicks && !now.dead()
}

// Stop asks the process to end, and ends it by force when it still runs after grace or when ctx is done; a grace of zero
// does not ask. It returns when the process is gone. A process that already ended is no error.
func (r Record) Stop(ctx context.Context, grace time.Duration) error {
	// On Linux the handle refers to the process rather than to its number, so the check that follows stays true.
	handle, err := os.FindProcess(r.PID)
	if err != nil {
		return fmt.Errorf("finding %s (pid %d): %w", r.Name, r.PID, err)
	}
	defer handle.Release() //nolint:errcheck // Nothing depends on it.
	if !r.Alive() {
		return nil
	}
	if grace > 0 {
		if err := signal(handle, syscall.SIGTERM); err != nil {
			return fmt.Errorf("stopping %s (pid %d): %w", r.Name, r.PID, err)
		}
		if r.waitGone(ctx, grace) {
			return nil
		}
	}
	if err := signal(handle, syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing %s (pid %d): %w", r.Name, r.PID, err)
	}
	if !r.waitGone(context.WithoutCancel(ctx), killTimeout) {
		return fmt.Errorf("%s (pid %d) still runs %s after it was killed", r.Name, r.PID, killTimeout)
	}
	return nil
}

// StopAll stops processes at the same time.
func StopAll(ctx context.Context, records []Record, grace time.Duration) error {
	failed := make([]error, len(records))
	var stopping sync.WaitGroup
	for i, record := range records {
		stopping.Go(func() { failed[i] = record.Stop(ctx, grace) })
	}
	stopping.Wait()
	return errors.Join(failed...)
}

func (r Record) waitGone(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for r.Alive() {
		select {
		case <-ctx.Done():
			return !r.Alive()
		case <-time.After(pollInterval):
		}
	}
	return true
}

func signal(handle *os.Process, sig syscall.Signal) error {
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// LogTail returns the last lines of the log, or why it cannot be read.
func (s Spec) LogTail(lines int) string {
	const window = 16 << 10 // bytes; ample for some dozen lines
	file, err := os.Open(s.Log)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	text := make([]byte, min(info.Size(), window))
	if _, err := file.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
