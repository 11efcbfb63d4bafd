package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// compareFiles prints what has changed from one report to another.
func compareFiles(out io.Writer, oldPath, newPath string) error {
	was, err := load(oldPath)
	if err != nil {
		return err
	}
	is, err := load(newPath)
	if err != nil {
		return err
	}
	rows := compare(was, is)
	if len(rows) == 1 {
		return errors.New("the two reports have no variant with the same number of agents in common")
	}
	if was.Machine != is.Machine {
		fmt.Fprint(out, "The machines or versions differ: ratios and counts can be compared, times and memory cannot.\n\n")
	}
	return printRows(out, rows)
}

// compare lists the figures and calls that both reports have, and those of
// which only one has a value.
func compare(was, is Report) []row {
	rows := []row{{title: "figure", cells: []string{"run", "old", "new", "change"}}}
	for _, now := range is.Columns {
		i := slices.IndexFunc(was.Columns, func(c Column) bool { return c.name() == now.name() })
		if i < 0 {
			continue
		}
		then := was.Columns[i]
		for _, f := range figures() {
			rows = append(rows, difference(f.title, now.name(), then.Figures[f.key], now.Figures[f.key], f.decimals))
		}
		for _, kind := range (Report{Columns: []Column{then, now}}).kinds() {
			rows = append(rows, difference("  "+kind, now.name(), then.Calls[kind], now.Calls[kind], 2))
		}
	}
	return slices.DeleteFunc(rows, func(r row) bool { return r.cells[1] == "" && r.cells[2] == "" })
}

func difference(title, run string, then, now []float64, decimals int) row {
	return row{title: title, cells: []string{run, number(then, decimals), number(now, decimals), change(then, now)}}
}

// change is the change of the median in percent; empty when there is none that
// a percentage could tell.
func change(then, now []float64) string {
	was, had := median(then)
	is, has := median(now)
	if !had || !has || was == 0 || math.Abs(is/was-1) < 0.0005 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(is/was-1))
}
