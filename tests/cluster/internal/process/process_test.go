package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shell is a spec that runs a shell script.
func shell(t *testing.T, script string) Spec {
	t.Helper()
	return Spec{Name: "shell", Argv: []string{"/bin/sh", "-c", script}, Log: filepath.Join(t.TempDir(), "shell.log")}
}

func start(t *testing.T, spec Spec) Record {
	t.Helper()
	started, err := Start(spec)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, started.Stop(t.Context(), 0)) })
	return started
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, 10*time.Second, 10*time.Millisecond)
}

func TestStopEndsAStartedProcess(t *testing.T) {
	started := start(t, shell(t, "sleep 60"))
	assert.True(t, started.Alive())
	require.NoError(t, started.Stop(t.Context(), 10*time.Second))
	assert.False(t, started.Alive())
	assert.NoError(t, started.Stop(t.Context(), time.Second), "stopping again is no error")
}

func TestStopKillsAProcessThatIgnoresTheRequest(t *testing.T) {
	started := start(t, shell(t, "trap '' TERM; echo ready; while :; do sleep 1; done"))
	eventually(t, func() bool { return started.LogTail(1) == "ready" })
	require.NoError(t, started.Stop(t.Context(), 50*time.Millisecond))
	assert.False(t, started.Alive())
}

func TestStopLeavesAnotherProcessThatGotTheSameNumber(t *testing.T) {
	started := start(t, shell(t, "sleep 60"))
	recycled := started
	recycled.StartTicks--
	assert.False(t, recycled.Alive())
	require.NoError(t, recycled.Stop(t.Context(), 0))
	assert.True(t, started.Alive())
}

func TestAProcessThatEndedIsNotAlive(t *testing.T) {
	started := start(t, shell(t, "exit 3"))
	eventually(t, func() bool { return !started.Alive() })
}

func TestStartedProcessesSeeNothingOfTheCallersEnvironment(t *testing.T) {
	t.Setenv("KUBECONFIG", "/somewhere")
	started := start(t, shell(t, "env; pwd"))
	eventually(t, func() bool { return !started.Alive() })
	log, err := os.ReadFile(started.Log)
	require.NoError(t, err)
	assert.NotContains(t, string(log), "KUBECONFIG")
	assert.Contains(t, string(log), searchPath)
}

func TestStartReportsAProgramThatDoesNotExist(t *testing.T) {
	_, err := Start(Spec{Name: "missing", Argv: []string{"/no/such/program"}, Log: filepath.Join(t.TempDir(), "log")})
	assert.ErrorContains(t, err, "starting missing")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestFindSeesCommandLines(t *testing.T) {
	mark := t.TempDir()
	started := start(t, shell(t, "sleep 60; : "+mark))
	var found []Record
	// The shell's child has the shell's command line until it has become sleep.
	eventually(t, func() bool {
		all, err := Find(func(r Record) bool { return strings.Contains(strings.Join(r.Argv, " "), mark) })
		found = all
		return err == nil && len(all) == 1
	})
	assert.Equal(t, started.PID, found[0].PID)
	assert.Equal(t, started.StartTicks, found[0].StartTicks)
	require.NoError(t, StopAll(t.Context(), found, time.Second))
	assert.False(t, started.Alive())
}

func TestLogTailKeepsTheLastLines(t *testing.T) {
	spec := Spec{Log: filepath.Join(t.TempDir(), "log")}
	assert.Contains(t, spec.LogTail(2), "no such file")
	require.NoError(t, os.WriteFile(spec.Log, nil, 0o600))
	assert.Empty(t, spec.LogTail(2))
	require.NoError(t, os.WriteFile(spec.Log, []byte(strings.Repeat("x", 1<<20)+"\none\ntwo\nthree\n"), 0o600))
	assert.Equal(t, "two\nthree", spec.LogTail(2))
}

func TestParseStat(t *testing.T) {
	fields := " S 1 42 42 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 987654 1000 10"
	cases := map[string]struct {
		line    string
		want    stat
		problem string
	}{
		"an ordinary name":                   {line: "42 (etcd)" + fields, want: stat{state: 'S', startTicks: 987654}},
		"a name with blanks and parentheses": {line: "42 (a) b (c)" + fields, want: stat{state: 'S', startTicks: 987654}},
		"no name":                            {line: "42 etcd" + fields, problem: "no program name"},
		"too few fields":                     {line: "42 (etcd) S 1 2", problem: "fewer than 20"},
		"a start time that is no number":     {line: "42 (etcd)" + strings.Replace(fields, "987654", "soon", 1), problem: "start time"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat(test.line)
			if test.problem != "" {
				assert.ErrorContains(t, err, test.problem)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestAZombieIsDead(t *testing.T) {
	assert.True(t, stat{state: 'Z'}.dead())
	assert.False(t, stat{state: 'D'}.dead())
}

func TestStartedProcessKeepsNoFileOfTheCallerOpen(t *testing.T) {
	lock, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	require.NoError(t, err)
	defer lock.Close()
	inherited, err := syscall.Dup(int(lock.Fd())) // Without the mark that Go sets on files that it opens.
	require.NoError(t, err)
	defer func() { assert.NoError(t, syscall.Close(inherited)) }()

	started := start(t, shell(t, "echo ready; sleep 60"))
	eventually(t, func() bool { return started.LogTail(1) == "ready" })
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", started.PID))
	require.NoError(t, err)
	require.NotEmpty(t, open)
	for _, file := range open {
		target, err := os.Readlink(file)
		require.NoError(t, err)
		assert.NotEqual(t, lock.Name(), target)
	}
}
