package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Report is everything that one run of the bench has measured. It is what the
// JSON file holds.
type Report struct {
	Date    string   `json:"date"`
	Machine Machine  `json:"machine"`
	Columns []Column `json:"columns"`
}

// Machine is where it was measured.
type Machine struct {
	Cores      int     `json:"cores"`
	Processor  string  `json:"processor"`
	MemoryGiB  float64 `json:"memoryGiB"`
	Go         string  `json:"go"`
	Kubernetes string  `json:"kubernetes"`
	Etcd       string  `json:"etcd"`
}

// Column is one variant with one number of agents. A figure and a kind of call
// have one value for each repetition; calls are counted per agent.
type Column struct {
	Variant string               `json:"variant"`
	Agents  int                  `json:"agents"`
	Figures map[string][]float64 `json:"figures"`
	Calls   map[string][]float64 `json:"calls"`
}

func newColumn(b batch) *Column {
	return &Column{Variant: b.variant, Agents: b.agents, Figures: map[string][]float64{}, Calls: map[string][]float64{}}
}

// median is the middle value, or the mean of the two middle ones, and whether
// there is any.
func median(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle], true
	}
	return (sorted[middle-1] + sorted[middle]) / 2, true
}

// save writes the report as JSON.
func (r Report) save(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func load(path string) (Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Report{}, fmt.Errorf("read a report: %w", err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return Report{}, fmt.Errorf("read the report %s: %w", path, err)
	}
	return r, nil
}

// grow adds to the columns of each variant how CPU and memory grow from the
// one with the fewest agents.
func (r *Report) grow() {
	fewest := map[string]Column{}
	for _, column := range r.Columns {
		if first, ok := fewest[column.Variant]; !ok || column.Agents < first.Agents {
			fewest[column.Variant] = column
		}
	}
	for i := range r.Columns {
		column := &r.Columns[i]
		first := fewest[column.Variant]
		if column.Agents == first.Agents {
			continue
		}
		if before, now, ok := both(first, *column, perAgentCPU); ok {
			column.add(growthCPU, now/before)
		}
		if before, now, ok := both(first, *column, idleMemory); ok {
			column.add(agentMemory, (now-before)*mebi/kibi/float64(column.Agents-first.Agents))
		}
	}
}

// both returns the medians of a figure in two columns, if both have it.
func both(first, second Column, key string) (before, now float64, ok bool) {
	before, had := median(first.Figures[key])
	now, has := median(second.Figures[key])
	return before, now, had && has
}
