package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/build"
	"github.com/beyond10x/loom-operator/tests/cluster/internal/process"
)

func TestStateSurvivesARoundTrip(t *testing.T) {
	config := exampleConfig()
	config.Dir = t.TempDir()
	state := State{
		Config:    config,
		Versions:  build.Versions{Kubernetes: "v1.37.2", Etcd: "v3.7.3"},
		Ready:     true,
		Processes: []process.Record{{Spec: config.etcd(), PID: 7, StartTicks: 1 << 60}},
		Sysctls:   map[string]string{"kernel/panic": "1"},
	}
	require.NoError(t, state.save())
	loaded, found, err := loadState(config.Dir)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, state, loaded)
}

func TestLoadStateTellsAbsentFromBroken(t *testing.T) {
	dir := t.TempDir()
	_, found, err := loadState(dir)
	require.NoError(t, err)
	assert.False(t, found)

	require.NoError(t, os.WriteFile(filepath.Join(dir, stateFile), []byte("{"), 0o600))
	_, _, err = loadState(dir)
	assert.ErrorContains(t, err, filepath.Join(dir, stateFile))
}

func TestRecordReplacesARestartedComponentInItsPlace(t *testing.T) {
	var state State
	state.record(process.Record{Spec: process.Spec{Name: "etcd"}, PID: 1})
	state.record(process.Record{Spec: process.Spec{Name: "kubelet"}, PID: 2})
	state.record(process.Record{Spec: process.Spec{Name: "etcd"}, PID: 3})
	require.Len(t, state.Processes, 2)
	assert.Equal(t, 3, state.Processes[0].PID)
	assert.Equal(t, 0, state.index("etcd"))
	assert.Equal(t, -1, state.index("nothing"))
}

func TestDeadComponents(t *testing.T) {
	dir := t.TempDir()
	alive, err := process.Start(process.Spec{Name: "alive", Argv: []string{"/bin/sleep", "60"}, Log: filepath.Join(dir, "log")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, alive.Stop(t.Context(), 0)) })
	dead := alive
	dead.Name, dead.StartTicks = "dead", alive.StartTicks+1

	state := State{Processes: []process.Record{alive, dead}}
	assert.Equal(t, []string{"dead"}, state.dead())
	assert.True(t, state.anyAlive())
	assert.False(t, State{Processes: []process.Record{dead}}.anyAlive())
	assert.False(t, State{}.anyAlive())
}

func TestLockedWhileACommandWorks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "example")
	assert.False(t, locked(dir), "no command ever worked on it")
	unlock, err := lock(dir)
	require.NoError(t, err)
	assert.True(t, locked(dir))
	unlock()
	assert.False(t, locked(dir))
}

func TestWithin(t *testing.T) {
	assert.True(t, within("/a/b", "/a/b"))
	assert.True(t, within("/a/b", "/a/b/c"))
	assert.True(t, within("/", "/a"))
	assert.False(t, within("/a/b", "/a/bc"))
	assert.False(t, within("/a/b", "/a"))
}
