package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// row sums up the trials of one property.
type row struct {
	property string
	// values tried, and what became of them on a fresh agent.
	values, run, refused, schema, child, waits int
	// sequences of changes on live agents, and their steps.
	sequences, steps int
	violations       []string
}

func (r *row) add(other row) {
	r.values, r.run, r.refused = r.values+other.values, r.run+other.run, r.refused+other.refused
	r.schema, r.child, r.waits = r.schema+other.schema, r.child+other.child, r.waits+other.waits
	r.sequences, r.steps = r.sequences+other.sequences, r.steps+other.steps
	r.violations = append(r.violations, other.violations...)
}

// summarize gives a row to each property, in the order they come, and one to
// all of them.
func summarize(rows []row) []row {
	var sums []row
	places := map[string]int{}
	all := row{property: "all"}
	for _, r := range rows {
		i, known := places[r.property]
		if !known {
			i = len(sums)
			places[r.property] = i
			sums = append(sums, row{property: r.property})
		}
		sums[i].add(r)
		all.add(r)
	}
	return append(sums, all)
}

// printTable writes rows as a table that is Markdown too.
func printTable(out io.Writer, rows []row) error {
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(table, "| Property\t| Values\t| Run\t| Refused by the check\t| by the schema\t| Child refused\t| Waits\t| Sequences\t| Changes\t| Violations\t|")
	fmt.Fprintln(table, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, r := range rows {
		fmt.Fprintf(table, "| %s\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t|\n",
			r.property, r.values, r.run, r.refused, r.schema, r.child, r.waits, r.sequences, r.steps, len(r.violations))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}
