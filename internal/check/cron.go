package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// The verdict on a schedule's text is the API server's own: the same parser
// with the same options, and no zone in the text (A53, A54). Two kinds of text
// that it takes are refused here on purpose: dates that never come (A43) and
// intervals below a minute (A65).

const cronField = "spec.schedule.cron"

// shortestInterval is the shortest @every that is accepted. Kubernetes would
// take @every 5s, start runs faster than they end and drift (A65).
const shortestInterval = time.Minute

var cronParts = []struct{ name, values string }{
	{"minute", "0-59"},
	{"hour", "0-23"},
	{"day of month", "1-31"},
	{"month", "1-12 or JAN-DEC"},
	{"day of week", "0-6 or SUN-SAT"},
}

// parseCron returns nil for a text that is no schedule. It never panics, which
// the parser does on a zone that no space follows, such as TZ=0
// (robfig/cron#554, A34). What is wrong with a text is told by cronProblem.
func parseCron(text string) cron.Schedule {
	defer func() { _ = recover() }()
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil
	}
	return parsed
}

// hasZone tells whether the text names a zone. The API server looks for TZ
// anywhere in it, and no expression without a zone has these letters.
func hasZone(text string) bool { return strings.Contains(text, "TZ") }

// cronSchedule returns the parsed schedule, or nil when there is none or when
// its text is refused by another rule.
func cronSchedule(spec *v1alpha1.ScheduleSpec) cron.Schedule {
	if spec == nil || hasZone(spec.Cron) {
		return nil
	}
	return parseCron(spec.Cron)
}

func cronZone(in Input) []Finding {
	spec := in.Agent.Spec.Schedule
	if spec == nil || !hasZone(spec.Cron) {
		return nil
	}
	return []Finding{broken(cronField, "%s names a time zone, which is not allowed in the expression. Remove TZ= or CRON_TZ= and set spec.schedule.timeZone.", quote(spec.Cron))}
}

func cronSyntax(in Input) []Finding {
	spec := in.Agent.Spec.Schedule
	if spec == nil || hasZone(spec.Cron) || cronSchedule(spec) != nil {
		return nil
	}
	return []Finding{broken(cronField, "%s", cronProblem(spec.Cron))}
}

// cronProblem says what keeps a text from being a schedule.
func cronProblem(text string) string {
	fields := strings.Fields(text)
	switch {
	case len(fields) == 0:
		return "The expression is empty. Give five fields, such as 0 9 * * MON-FRI, or a macro such as @daily."
	case strings.HasPrefix(fields[0], "@"):
		return fmt.Sprintf("%s is not a macro that Kubernetes knows. Use @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or @every with a duration, such as @every 90m, without spaces around it.", quote(text))
	case len(fields) != len(cronParts):
		return fmt.Sprintf("5 fields are expected (minute, hour, day of month, month, day of week) and %d were found in %s. Fields for seconds or years are not understood.", len(fields), quote(text))
	}
	for i, part := range cronParts {
		alone := strings.Repeat("* ", i) + fields[i] + strings.Repeat(" *", len(cronParts)-1-i)
		if parseCron(alone) == nil {
			return fmt.Sprintf("The %s %s is not understood. Use values of %s, ranges such as 1-5, steps such as */2, and lists with commas.", part.name, quote(fields[i]), part.values)
		}
	}
	return fmt.Sprintf("%s is not a cron expression. Give five fields, such as 0 9 * * MON-FRI.", quote(text))
}

func cronInterval(in Input) []Finding {
	every, ok := cronSchedule(in.Agent.Spec.Schedule).(cron.ConstantDelaySchedule)
	if !ok || every.Delay >= shortestInterval {
		return nil
	}
	return []Finding{broken(cronField, "%s is shorter than a minute, the shortest interval that is accepted. Use a longer one.", quote(in.Agent.Spec.Schedule.Cron))}
}

func neverFires(in Input) []Finding {
	dates, ok := cronSchedule(in.Agent.Spec.Schedule).(*cron.SpecSchedule)
	if !ok || fires(dates) {
		return nil
	}
	return []Finding{broken(cronField, "%s never fires, since there is no such date. Correct the day or the month.", quote(in.Agent.Spec.Schedule.Cron))}
}

// fires tells whether any time fits. The search covers five years, in which
// every day of the calendar comes, 29 February too, wherever it begins. A field
// such as "," has no value at all; looking for that minute or hour through five
// years would take long.
func fires(dates *cron.SpecSchedule) bool {
	return dates.Minute != 0 && dates.Hour != 0 && !dates.Next(time.Time{}).IsZero()
}
