package check_test

import (
	"fmt"
	"testing"
)

func TestRanges(t *testing.T) {
	table := map[string]verdict{
		"every number is examined": {
			spec: `{schedule: {cron: "@daily", startingDeadlineSeconds: -1, successfulJobsHistoryLimit: -1, failedJobsHistoryLimit: -1},
				pod: {terminationGracePeriodSeconds: -1}, serve: {replicas: -1, port: 0},
				run: {backoffLimit: -1, activeDeadlineSeconds: 0, ttlSecondsAfterFinished: -1}}`,
			want: []string{
				"spec.schedule.startingDeadlineSeconds Range", "spec.schedule.successfulJobsHistoryLimit Range", "spec.schedule.failedJobsHistoryLimit Range",
				"spec.pod.terminationGracePeriodSeconds Range", "spec.serve.replicas Range", "spec.serve.port Range",
				"spec.run.backoffLimit Range", "spec.run.activeDeadlineSeconds Range", "spec.run.ttlSecondsAfterFinished Range",
			},
			says: "spec.serve.port: 0 is not between 1 and 65535. Use a value in that range.",
		},
		"blocks without numbers are good": {spec: "{schedule: {cron: '@daily'}, pod: {}, serve: {}, run: {}}"},
	}
	const most = 1<<31 - 1
	for field, row := range map[string]struct {
		spec      string
		low, high int64
		wide      bool // the type of the field holds larger numbers
	}{
		"spec.schedule.startingDeadlineSeconds":    {"{schedule: {cron: '@daily', startingDeadlineSeconds: %d}}", 0, most, true},
		"spec.schedule.successfulJobsHistoryLimit": {"{schedule: {cron: '@daily', successfulJobsHistoryLimit: %d}}", 0, most, false},
		"spec.schedule.failedJobsHistoryLimit":     {"{schedule: {cron: '@daily', failedJobsHistoryLimit: %d}}", 0, most, false},
		"spec.pod.terminationGracePeriodSeconds":   {"{pod: {terminationGracePeriodSeconds: %d}}", 0, most, true},
		"spec.serve.replicas":                      {"{serve: {replicas: %d}}", 0, most, false},
		"spec.serve.port":                          {"{serve: {port: %d}}", 1, 65535, true},
		"spec.run.backoffLimit":                    {"{run: {backoffLimit: %d}}", 0, most, false},
		"spec.run.activeDeadlineSeconds":           {"{run: {activeDeadlineSeconds: %d}}", 1, most, true},
		"spec.run.ttlSecondsAfterFinished":         {"{run: {ttlSecondsAfterFinished: %d}}", 0, most, false},
	} {
		refused := []string{field + " Range"}
		table[field+" at its lowest"] = verdict{spec: fmt.Sprintf(row.spec, row.low)}
		table[field+" below its lowest"] = verdict{spec: fmt.Sprintf(row.spec, row.low-1), want: refused}
		table[field+" at its highest"] = verdict{spec: fmt.Sprintf(row.spec, row.high)}
		if row.wide {
			table[field+" above its highest"] = verdict{spec: fmt.Sprintf(row.spec, row.high+1), want: refused}
		}
	}
	assertVerdicts(t, table)
}

func TestChoices(t *testing.T) {
	table := map[string]verdict{
		"choices may be left open": {spec: "{schedule: {cron: '@daily', concurrencyPolicy: ''}, pod: {imagePullPolicy: ''}}"},
	}
	for field, row := range map[string]struct {
		spec  string
		words []string
	}{
		"spec.schedule.concurrencyPolicy": {"{schedule: {cron: '@daily', concurrencyPolicy: %s}}", []string{"Allow", "Forbid", "Replace"}},
		"spec.pod.imagePullPolicy":        {"{pod: {imagePullPolicy: %s}}", []string{"Always", "IfNotPresent", "Never"}},
	} {
		for _, word := range row.words {
			table[field+" may be "+word] = verdict{spec: fmt.Sprintf(row.spec, word)}
		}
		table[field+" may be nothing else"] = verdict{
			spec: fmt.Sprintf(row.spec, "never"), want: []string{field + " Choice"},
			says: fmt.Sprintf(`"never" is not one of %s %s %s.`, row.words[0], row.words[1], row.words[2]),
		}
	}
	assertVerdicts(t, table)
}
