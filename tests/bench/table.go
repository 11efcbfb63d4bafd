package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// row is one line of a table: its title, and a cell for each column.
type row struct {
	title string
	cells []string
}

// print writes the report as one table.
func (r Report) print(out io.Writer) error {
	m := r.Machine
	fmt.Fprintf(out, "%s: %d cores %s, %.0f GiB; Kubernetes %s, etcd %s, %s. Medians of %d.\n\n",
		r.Date, m.Cores, m.Processor, m.MemoryGiB, m.Kubernetes, m.Etcd, m.Go, r.repetitions())
	return printRows(out, r.rows())
}

// repetitions is how often each run was made.
func (r Report) repetitions() int {
	if len(r.Columns) == 0 {
		return 0
	}
	return len(r.Columns[0].Figures[settleTime])
}

func (r Report) rows() []row {
	head := row{title: "figure", cells: []string{"target"}}
	for _, column := range r.Columns {
		head.cells = append(head.cells, column.name())
	}
	rows := []row{head}
	for _, f := range figures() {
		line := row{title: f.title, cells: []string{f.target.String()}}
		for _, column := range r.Columns {
			line.cells = append(line.cells, column.cell(f))
		}
		rows = append(rows, line)
	}
	for _, kind := range r.kinds() {
		line := row{title: "  " + kind, cells: []string{""}}
		for _, column := range r.Columns {
			line.cells = append(line.cells, number(column.Calls[kind], 2))
		}
		rows = append(rows, line)
	}
	return slices.DeleteFunc(rows, row.empty)
}

// kinds lists the kinds of calls of all columns.
func (r Report) kinds() []string {
	var kinds []string
	for _, column := range r.Columns {
		for kind := range column.Calls {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func (c Column) name() string { return c.Variant + " " + strconv.Itoa(c.Agents) }

// cell shows the median of a figure, and whether it meets its target.
func (c Column) cell(f figure) string {
	value, ok := median(c.Figures[f.key])
	if !ok {
		return ""
	}
	return number(c.Figures[f.key], f.decimals) + f.verdict(batch{c.Variant, c.Agents}, value)
}

func number(values []float64, decimals int) string {
	value, ok := median(values)
	if !ok {
		return ""
	}
	return strconv.FormatFloat(value, 'f', decimals, 64)
}

// empty tells that no cell but the first, the target, has something.
func (r row) empty() bool { return strings.Join(r.cells[1:], "") == "" }

// printRows writes a Markdown table; the first row is its head.
func printRows(out io.Writer, rows []row) error {
	for i, line := range rows {
		if _, err := fmt.Fprintf(out, "| %s | %s |\n", line.title, strings.Join(line.cells, " | ")); err != nil {
			return fmt.Errorf("print the table: %w", err)
		}
		if i == 0 {
			fmt.Fprintf(out, "| --- |%s\n", strings.Repeat(" ---: |", len(line.cells)))
		}
	}
	return nil
}
