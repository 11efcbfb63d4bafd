package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// stat is the part of /proc/PID/stat that tells one process from another, see proc(5).
type stat struct {
	state      byte
	startTicks uint64 // clock ticks from boot to the start of the process
}

func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(text))
}

// parseStat reads one line of /proc/PID/stat. The second field is the program's name in parentheses and may itself
// hold blanks and parentheses, so the fields are counted from the last one.
func parseStat(line string) (stat, error) {
	const startTime = 22 - 3 // proc(5) counts from 1, and the first field after the name is number 3
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, errors.New("process status has no program name")
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) <= startTime {
		return stat{}, fmt.Errorf("process status has %d fields after the program name, fewer than %d", len(fields), startTime+1)
	}
	ticks, err := strconv.ParseUint(fields[startTime], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time of a process: %w", err)
	}
	return stat{state: fields[0][0], startTicks: ticks}, nil
}

// Find returns the living processes that match accepts; it is shown their command line and number. Processes that end
// meanwhile, and kernel threads, which have no command line, are left out.
func Find(match func(Record) bool) ([]Record, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []Record
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		record, err := identify(pid)
		// A process that match accepted and that still has the same start time is the one that match saw.
		if err == nil && match(record) && record.Alive() {
			found = append(found, record)
		}
	}
	return found, nil
}

// identify records the process that has this number now.
func identify(pid int) (Record, error) {
	now, err := readStat(pid)
	if err != nil {
		return Record{}, fmt.Errorf("reading the start time of process %d: %w", pid, err)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return Record{}, fmt.Errorf("reading the command line of process %d: %w", pid, err)
	}
	if len(line) == 0 {
		return Record{}, fmt.Errorf("process %d has no command line", pid)
	}
	argv := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	return Record{Spec: Spec{Name: argv[0], Argv: argv}, PID: pid, StartTicks: now.startTicks}, nil
}
