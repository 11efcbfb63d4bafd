package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCPUTimeOfAStatLine(t *testing.T) {
	took, err := parseCPU("7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 9 9 20 0 1 0 100 0 0")
	require.NoError(t, err)
	assert.Equal(t, 2*time.Second, took)

	for name, stat := range map[string]string{
		"too short":      "7 (a) S 1 7",
		"not a number":   "7 (a) S 1 7 7 0 -1 4194560 100 0 0 0 x 50 9",
		"nothing at all": "",
	} {
		_, err := parseCPU(stat)
		assert.Error(t, err, name)
	}
}

func TestMemoryOfAStatusFile(t *testing.T) {
	bytes, err := parseKiB([]byte("Name:\ta\nVmHWM:\t  20 kB\nVmRSS:\t  10 kB\n"), "VmRSS")
	require.NoError(t, err)
	assert.Equal(t, 10240., bytes)

	_, err = parseKiB([]byte("VmRSS:\tmuch kB\n"), "VmRSS")
	assert.Error(t, err)
	_, err = parseKiB([]byte("Name:\ta\n"), "VmRSS")
	assert.Error(t, err)
}

func TestThisProcessCanBeMeasured(t *testing.T) {
	used, err := memoryOf(os.Getpid())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, used.peak, used.resident)
	assert.Positive(t, used.resident)
	_, err = cpuOf(os.Getpid())
	require.NoError(t, err)
	assert.Positive(t, memoryGiB())
}
