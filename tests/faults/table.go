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

func (r *row) add(one record) {
	r.lives++
	r.requests += one.Requests
	r.faults += one.Faults
	r.violations += len(one.Violations)
	r.slowest = max(r.slowest, one.Slowest)
}

// summarize gives a row to each variant and fault, in the order they came.
func summarize(lives []record) []row {
	var rows []row
	places := map[string]int{}
	for _, one := range lives {
		if one.Key == "" {
			continue // Not lived, because the sweep was stopped.
		}
		kind := one.Life + "/" + one.Fault
		if _, ok := places[kind]; !ok {
			places[kind] = len(rows)
			rows = append(rows, row{life: one.Life, fault: one.Fault})
		}
		rows[places[kind]].add(one)
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

// printLives writes lives as a table that is Markdown too, and each violation
// below it.
func printLives(out io.Writer, lives []record) error {
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(table, "| Life\t| Fault\t| Lives\t| Requests\t| Faults injected\t| Violations\t| Slowest convergence\t|")
	fmt.Fprintln(table, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	rows := summarize(lives)
	for _, r := range append(rows, total(rows)) {
		fmt.Fprintf(table, "| %s\t| %s\t| %d\t| %d\t| %d\t| %d\t| %s\t|\n",
			r.life, cmp.Or(r.fault, "all"), r.lives, r.requests, r.faults, r.violations, r.slowest.Round(100*time.Millisecond))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	prefix := "\n"
	for _, one := range lives {
		for _, violation := range one.Violations {
			if _, err := fmt.Fprintf(out, "%s- %s, %s, at %s: %s\n", prefix, one.Life, one.Fault, one.At, firstLine(violation)); err != nil {
				return fmt.Errorf("print the violations: %w", err)
			}
			prefix = ""
		}
	}
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
