package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	kibi = 1 << 10
	mebi = 1 << 20
	gibi = 1 << 30
	// ticksPerSecond is Linux's USER_HZ, the unit of /proc/PID/stat, see
	// proc_pid_stat(5). It is 100 on all its platforms.
	ticksPerSecond = 100
)

// cpuOf is the CPU time that a process has used, in user and kernel mode.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of a process: %w", err)
	}
	return parseCPU(string(text))
}

// parseCPU reads fields 14 and 15 of /proc/PID/stat. They are counted from the
// end of the program's name, which may contain blanks.
func parseCPU(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%q has no CPU time", stat)
	}
	ticks := int64(0)
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the CPU time of a process: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// memory is the physical memory of a process in bytes: now, and at most so far.
type memory struct{ resident, peak float64 }

func memoryOf(pid int) (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, fmt.Errorf("read the memory of a process: %w", err)
	}
	resident, err := parseKiB(text, "VmRSS")
	if err != nil {
		return memory{}, err
	}
	peak, err := parseKiB(text, "VmHWM")
	return memory{resident: resident, peak: peak}, err
}

// parseKiB reads a line such as "VmRSS:  1234 kB" and returns bytes.
func parseKiB(text []byte, name string) (float64, error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		value, ok := strings.CutPrefix(lines.Text(), name+":")
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 64)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", name, err)
		}
		return n * kibi, nil
	}
	return 0, fmt.Errorf("there is no %s", name)
}

// processor is the name of the machine's processor; empty when unknown.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// memoryGiB is the machine's memory; 0 when unknown.
func memoryGiB() float64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	total, err := parseKiB(text, "MemTotal")
	if err != nil {
		return 0
	}
	return total / gibi
}
