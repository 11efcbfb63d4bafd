package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// row sums up lives of one kind.
type row struct {
	life, fault                         string
	lives, requests, faults, violations int
	slowest                             time.Duration
}

func (r *row) add(result result) {
	r.lives++
	r.requests += len(result.requests)
	r.faults += len(result.injected)
	r.violations += len(result.violations)
	r.slowest = max(r.slowest, result.slowest)
}

// summarize gives a row to each variant and fault, in the order they came.
func summarize(replays []replay) []row {
	var rows []row
	places := map[string]int{}
	for _, r := range replays {
		if r.requests == nil {
			continue // Not lived, because the sweep was stopped.
		}
		key := r.variant + "/" + r.fault.name
		if _, ok := places[key]; !ok {
			places[key] = len(rows)
			rows = append(rows, row{life: r.variant, fault: r.fault.name})
		}
		rows[places[key]].add(r.result)
	}
	return rows
}

// total sums up rows.
func total(rows []row) row {
	sum := row{life: "all"}
	for _, r := range rows {
		sum.lives, sum.requests, sum.faults = sum.lives+r.lives, sum.requests+r.requests, sum.faults+r.faults
		sum.violations, sum.slowest = sum.violations+r.violations, max(sum.slowest, r.slowest)
	}
	return sum
}

// printTable writes rows as a table that is Markdown too.
func printTable(out io.Writer, rows []row) error {
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	line := func(cells ...any) {
		text := strings.TrimSuffix(fmt.Sprintln(cells...), "\n")
		fmt.Fprintln(table, text)
	}
	line("| Life\t| Fault\t| Lives\t| Requests\t| Faults injected\t| Violations\t| Slowest convergence\t|")
	line("| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, r := range append(rows, total(rows)) {
		line(fmt.Sprintf("| %s\t| %s\t| %d\t| %d\t| %d\t| %d\t| %s\t|",
			r.life, cmp.Or(r.fault, "all"), r.lives, r.requests, r.faults, r.violations, r.slowest.Round(100*time.Millisecond)))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}
