package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
)

func TestCron(t *testing.T) {
	for name, row := range map[string]struct {
		cron string
		rule string
		says string
	}{
		"A05 a plain schedule":                      {cron: "0 9 * * *"},
		"A54 every eight hours":                     {cron: "0 */8 * * *"},
		"A54 a range with a step and names of days": {cron: "0 9-17/2 * * MON-FRI"},
		"A54 a macro":                               {cron: "@hourly"},
		"A54 a list":                                {cron: "5,35 * * * *"},
		"A54 two spaces":                            {cron: "0  9 * * *"},
		"A54 the name of a month":                   {cron: "0 0 1 JAN *"},
		"a tab and spaces around":                   {cron: " 0\t9 * * * "},
		"a space that is not ASCII":                 {cron: "0\u00a09 * * *"},
		"a line end":                                {cron: "0 9 * * *\n"},
		"A53 a question mark is a star":             {cron: "0 10 * * ?"},
		"A53 six fields with a question mark":       {cron: "0 0 0/1 * * ?", rule: "CronSyntax", says: "5 fields are expected (minute, hour, day of month, month, day of week) and 6 were found"},
		"A53 six stars":                             {cron: "* * * * * *", rule: "CronSyntax", says: "6 were found"},
		"A53 seven fields":                          {cron: "0 0 10 * * ? *", rule: "CronSyntax", says: "7 were found"},
		"four fields":                               {cron: "* * * *", rule: "CronSyntax", says: "4 were found"},
		"A52 a zone in the text":                    {cron: "CRON_TZ=Etc/UTC */20 * * * *", rule: "CronZone", says: "set spec.schedule.timeZone"},
		"A52 a zone with the other prefix":          {cron: "TZ=Etc/UTC 0 9 * * *", rule: "CronZone", says: "Remove TZ= or CRON_TZ="},
		"A52 a zone before a macro":                 {cron: "TZ=UTC @daily", rule: "CronZone"},
		"A34 a zone prefix without a space is refused and does not panic":     {cron: "TZ=0", rule: "CronZone"},
		"A34 the other prefix without a space is refused and does not panic":  {cron: "CRON_TZ=Europe/Berlin", rule: "CronZone"},
		"A34 a zone prefix alone is refused and does not panic":               {cron: "TZ=", rule: "CronZone"},
		"A34 the other prefix alone is refused and does not panic":            {cron: "CRON_TZ=", rule: "CronZone"},
		"A34 a zone prefix with a tab is refused and does not panic":          {cron: "TZ=UTC\t0 9 * * *", rule: "CronZone"},
		"A34 a zone prefix with a space before it is refused, does not panic": {cron: " TZ=UTC 0 9 * * *", rule: "CronZone"},
		"A34 a zone prefix in small letters is no zone and no field":          {cron: "tz=UTC 0 9 * * *", rule: "CronSyntax"},
		"an empty text":                                {cron: "", rule: "CronSyntax", says: "The expression is empty"},
		"blanks":                                       {cron: " \t\n", rule: "CronSyntax", says: "The expression is empty"},
		"a minute too high":                            {cron: "60 9 * * *", rule: "CronSyntax", says: `The minute "60" is not understood. Use values of 0-59, ranges`},
		"an hour too high":                             {cron: "0 24 * * *", rule: "CronSyntax", says: `The hour "24" is not understood. Use values of 0-23, ranges`},
		"a day too low":                                {cron: "0 9 0 * *", rule: "CronSyntax", says: `The day of month "0" is not understood. Use values of 1-31, ranges`},
		"a month that is no name":                      {cron: "0 9 * JUNE *", rule: "CronSyntax", says: `The month "JUNE" is not understood. Use values of 1-12 or JAN-DEC`},
		"a day of week too high":                       {cron: "0 9 * * 7", rule: "CronSyntax", says: `The day of week "7" is not understood. Use values of 0-6 or SUN-SAT`},
		"a range that runs back":                       {cron: "0 17-9 * * *", rule: "CronSyntax", says: `The hour "17-9"`},
		"a step of zero":                               {cron: "*/0 * * * *", rule: "CronSyntax", says: `The minute "*/0"`},
		"Quartz letters":                               {cron: "0 9 L * *", rule: "CronSyntax", says: `The day of month "L"`},
		"digits that are not ASCII":                    {cron: "٣ 9 * * *", rule: "CronSyntax", says: `The minute "٣"`},
		"a macro in capitals":                          {cron: "@Daily", rule: "CronSyntax", says: "@daily, @midnight, @hourly"},
		"a macro with a space before it":               {cron: " @daily", rule: "CronSyntax", says: "without spaces around it"},
		"a macro with a space after it":                {cron: "@daily ", rule: "CronSyntax"},
		"A65 a macro for the start of a machine":       {cron: "@reboot", rule: "CronSyntax", says: `"@reboot" is not a macro that Kubernetes knows`},
		"A65 an interval of an hour":                   {cron: "@every 1h"},
		"A65 an interval of a minute":                  {cron: "@every 60s"},
		"A65 an interval of a minute and a bit":        {cron: "@every 60.5s"},
		"A65 an interval below a minute":               {cron: "@every 59s", rule: "CronInterval", says: "shorter than a minute"},
		"A65 an interval just below a minute":          {cron: "@every 59.9s", rule: "CronInterval"},
		"A65 an interval of seconds":                   {cron: "@every 5s", rule: "CronInterval", says: `"@every 5s" is shorter`},
		"A65 an interval that runs back":               {cron: "@every -1h", rule: "CronInterval"},
		"A65 an interval without a unit":               {cron: "@every 5", rule: "CronSyntax", says: "such as @every 90m"},
		"A65 an interval without a duration":           {cron: "@every", rule: "CronSyntax"},
		"A43 the 31st of February never comes":         {cron: "0 0 31 2 *", rule: "NeverFires", says: "never fires"},
		"A43 the 30th of February never comes":         {cron: "0 0 30 2 *", rule: "NeverFires"},
		"A43 the 31st of April never comes":            {cron: "0 0 31 4 *", rule: "NeverFires", says: `"0 0 31 4 *"`},
		"A43 the 31st of all short months never comes": {cron: "0 0 31 2,4,6,9,11 *", rule: "NeverFires"},
		"A43 the 29th of February comes":               {cron: "0 0 29 2 *"},
		"A43 the 30th of February or a Monday comes":   {cron: "0 0 30 2 1"},
		"A43 the first minute of the reference comes":  {cron: "0 0 1 1 6"},
		"A43 a field of commas has no value at all":    {cron: ", * * * *", rule: "NeverFires"},
		"A43 an hour of commas has no value at all":    {cron: "* , * * *", rule: "NeverFires"},
		"A43 a month of commas has no value at all":    {cron: "* * * , *", rule: "NeverFires"},
		"A43 days of commas have no value at all":      {cron: "* * , * ,", rule: "NeverFires"},
		"A43 a weekday beside a day of commas is good": {cron: "* * , * 1"},
	} {
		t.Run(name, func(t *testing.T) {
			report := checkCron(row.cron)
			var want []string
			if row.rule != "" {
				want = []string{"spec.schedule.cron " + row.rule}
			}
			assert.Equal(t, want, findings(report), report.Message())
			assert.Contains(t, report.Message(), row.says)
			assertWellFormed(t, report)
			assertSameVerdictAsTheAPIServer(t, row.cron)
		})
	}
}

func TestTheCorpusHasTheVerdictsOfTheAPIServer(t *testing.T) {
	accepted := 0
	expressions := readCorpus(t)
	for _, text := range expressions {
		assertSameVerdictAsTheAPIServer(t, text)
		accepted += 1 - int(checkCron(text).ExitCode())
	}
	require.Greater(t, len(expressions), 500)
	assert.Greater(t, accepted, 200, "the corpus must not be lopsided")
	assert.Greater(t, len(expressions)-accepted, 200, "the corpus must not be lopsided")
}

func TestAVeryLongExpressionIsJudgedLikeAShortOne(t *testing.T) {
	assertSameVerdictAsTheAPIServer(t, strings.Repeat("1,", 500_000)+"2 * * * *")
	assertSameVerdictAsTheAPIServer(t, strings.Repeat("* ", 500_000))
	assertSameVerdictAsTheAPIServer(t, "TZ="+strings.Repeat("x", 1_000_000))
}

func checkCron(text string) check.Report {
	agent := &v1alpha1.LoomAgent{}
	agent.Name = "t"
	agent.Spec.Command = &v1alpha1.CommandSpec{}
	agent.Spec.Schedule = &v1alpha1.ScheduleSpec{Cron: text}
	return check.Run(check.Input{Agent: agent, DefaultImage: defaultImage})
}

// Refused here although the API server takes them (A43, A65).
var stricter = []string{"spec.schedule.cron NeverFires", "spec.schedule.cron CronInterval"}

func assertSameVerdictAsTheAPIServer(t *testing.T, text string) {
	t.Helper()
	report := checkCron(text)
	if len(report.Findings) > 0 && slices.Contains(stricter, findings(report)[0]) {
		assert.True(t, apiServerTakes(text), "%q is refused for its dates and must be well written", text)
		return
	}
	assert.Equal(t, apiServerTakes(text), report.ExitCode() == 0, "%q: %s", text, report.Message())
	assertWellFormed(t, report)
}

// apiServerTakes restates what the API server demands of spec.schedule of a new
// CronJob (validateCronJobSpec and validateScheduleFormat of k8s.io/kubernetes
// 1.37, pkg/apis/batch/validation).
func apiServerTakes(text string) bool {
	parse := func() (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				err = fmt.Errorf("%v", cause)
			}
		}()
		_, err = cron.ParseStandard(text)
		return err
	}
	return text != "" && parse() == nil && !strings.Contains(text, "TZ")
}
