package controllers_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// asked is how many requests are under way at once.
const asked = 8

// stricter are the rules by which the check refuses what the API server takes.
var stricter = map[string]bool{"NeverFires": true, "CronInterval": true}

// A54: the check and the API server never disagree about a schedule, except
// where the check is stricter on purpose.
func TestCronVerdictsAreThoseOfTheAPIServer(t *testing.T) {
	w := quietWorld(t)
	var schedules []v1alpha1.ScheduleSpec
	for _, expression := range corpus(t) {
		schedules = append(schedules, v1alpha1.ScheduleSpec{Cron: expression})
	}
	for _, zone := range []string{
		"Europe/Berlin", "Etc/UTC", "UTC", "GMT", "America/Argentina/Buenos_Aires", "Asia/Kolkata", "Pacific/Chatham", "EST5EDT", "Etc/GMT+12", "America/New_York",
		"Local", "local", "", " ", "America/NewYork", "UTC+8", "Europe/London/", " Europe/Berlin", "europe/berlin", "../etc/passwd", "Zulu", "CET", "+01:00",
	} {
		schedules = append(schedules, v1alpha1.ScheduleSpec{Cron: "0 9 * * *", TimeZone: &zone})
	}

	queue, workers := make(chan v1alpha1.ScheduleSpec), sync.WaitGroup{}
	for range asked {
		workers.Go(func() {
			for schedule := range queue {
				w.compareVerdicts(schedule)
			}
		})
	}
	for _, schedule := range schedules {
		queue <- schedule
	}
	close(queue)
	workers.Wait()
}

func corpus(t *testing.T) []string {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "fixtures", "cron", "corpus.txt"))
	require.NoError(t, err)
	defer file.Close()
	var expressions []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		expression, err := strconv.Unquote(lines.Text())
		require.NoError(t, err, lines.Text())
		expressions = append(expressions, expression)
	}
	require.Greater(t, len(expressions), 300)
	return expressions
}

func (w world) compareVerdicts(schedule v1alpha1.ScheduleSpec) {
	spec := scheduled()
	spec.Schedule = &schedule
	agent := &v1alpha1.LoomAgent{ObjectMeta: w.meta("cron"), Spec: spec}
	report := check.Run(check.Input{Agent: agent})

	err := w.Create(w.Context(), workload.CronJob(workload.Input{Agent: agent}), client.DryRunAll)

	what := []any{"cron %q, zone %v: %s", schedule.Cron, schedule.TimeZone, report.Message()}
	if report.ExitCode() == 0 {
		assert.NoError(w, err, what...)
		return
	}
	if err == nil {
		for _, finding := range report.Findings {
			assert.True(w, stricter[finding.Rule], what...)
		}
	}
}
