package check_test

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
)

func TestTimeZones(t *testing.T) {
	table := map[string]verdict{}
	for name, row := range map[string]struct{ zone, says string }{
		"A14 Berlin is known":                 {zone: "Europe/Berlin"},
		"UTC is known":                        {zone: "UTC"},
		"a zone in three parts is known":      {zone: "America/North_Dakota/New_Salem"},
		"the first zone of the list is known": {zone: "Africa/Abidjan"},
		"the last zone of the list is known":  {zone: "Zulu"},
		"A15 a zone without its underscore":   {zone: "America/NewYork", says: "not a time zone of the IANA database"},
		"A15 an offset":                       {zone: "UTC+8", says: `"UTC+8" is not a time zone`},
		"A15 the zone of the machine":         {zone: "Local", says: "Europe/Berlin or Etc/UTC"},
		"A15 the same in small letters":       {zone: "local", says: "not a time zone"},
		"A15 an empty zone":                   {zone: "", says: "The time zone is empty"},
		"A15 a slash at the end":              {zone: "Europe/London/", says: "Write Europe/London."},
		"A15 a space before it":               {zone: " Europe/Berlin", says: "Write Europe/Berlin."},
		"a space after it":                    {zone: "Europe/Berlin ", says: "Write Europe/Berlin."},
		"small letters":                       {zone: "europe/berlin", says: "Write Europe/Berlin."},
		"small letters of the first zone":     {zone: "africa/abidjan", says: "Write Africa/Abidjan."},
		"a space instead of an underscore":    {zone: "America/New York", says: "Write America/New_York."},
		"a file that many machines have":      {zone: "posixrules", says: "not a time zone"},
		"a folder that many machines have":    {zone: "right/UTC", says: "not a time zone"},
		"another folder that many have":       {zone: "posix/Europe/Berlin", says: "not a time zone"},
		"a folder":                            {zone: "Europe", says: "not a time zone"},
		"a way out of the database":           {zone: "../zoneinfo/UTC", says: "not a time zone"},
		"an absolute path":                    {zone: "/etc/localtime", says: "not a time zone"},
		"a rule instead of a name":            {zone: "CET-1CEST,M3.5.0,M10.5.0/3", says: "not a time zone"},
		"a letter too many":                   {zone: "xUTC", says: "not a time zone of the IANA database"},
		"a dot":                               {zone: ".", says: "not a time zone"},
		"a slash":                             {zone: "/", says: "not a time zone"},
		"two zones":                           {zone: "UTC\\nUTC", says: "not a time zone"},
	} {
		var want []string
		if row.says != "" {
			want = []string{"spec.schedule.timeZone TimeZone"}
		}
		table[name] = verdict{spec: fmt.Sprintf("{schedule: {cron: '0 9 * * *', timeZone: \"%s\"}}", row.zone), want: want, says: row.says}
	}
	table["A52 a zone in the text and a good one beside it"] = verdict{spec: "{schedule: {cron: 'CRON_TZ=Etc/UTC */20 * * * *', timeZone: Etc/UTC}}", want: []string{"spec.schedule.cron CronZone"}}
	table["A15 a zone that is null is absent"] = verdict{spec: "{schedule: {cron: '0 9 * * *', timeZone: null}}"}
	assertVerdicts(t, table)
}

func TestTheZonesAreThoseOfGo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	require.NoError(t, err)
	defer archive.Close()
	var names []string
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, "/") {
			names = append(names, file.Name)
		}
	}
	slices.Sort(names)
	require.Greater(t, len(names), 400)
	assertGenerated(t, "zones.txt", []byte(strings.Join(names, "\n")+"\n"))

	// What the API server demands of spec.timeZone (validateTimeZone of
	// k8s.io/kubernetes 1.37): the parts of the name, and that it can be loaded.
	part := regexp.MustCompile(`^[A-Za-z\.\-_0-9+]{1,14}$`)
	for _, name := range names {
		for text := range strings.SplitSeq(name, "/") {
			assert.Regexp(t, part, text)
		}
		_, err := time.LoadLocation(name)
		assert.NoError(t, err)
		assert.Empty(t, findings(checkZone(name)))
	}
}

func TestAZoneThatIsNoTextIsCutLikeAnyOther(t *testing.T) {
	report := checkZone(strings.Repeat("\x80", 100))
	assertWellFormed(t, report)
	assert.Contains(t, report.Message(), `"…" is not a time zone`)
}

func checkZone(name string) check.Report {
	agent := &v1alpha1.LoomAgent{}
	agent.Name = "t"
	agent.Spec.Command = &v1alpha1.CommandSpec{}
	agent.Spec.Schedule = &v1alpha1.ScheduleSpec{Cron: "@daily", TimeZone: &name}
	return check.Run(check.Input{Agent: agent, DefaultImage: defaultImage})
}

func TestScheduleInput(t *testing.T) {
	assertVerdicts(t, map[string]verdict{
		"A13 a text with dollar signs":  {spec: "{schedule: {cron: '@daily', input: {text: 'cost $$5, run $(date), $(HOME)'}}}"},
		"an empty text":                 {spec: "{schedule: {cron: '@daily', input: {text: ''}}}"},
		"a key of a ConfigMap":          {spec: "{schedule: {cron: '@daily', input: {configMapKeyRef: {name: a, key: b}}}}"},
		"both a text and a key":         {spec: "{schedule: {cron: '@daily', input: {text: '', configMapKeyRef: {name: a, key: b}}}}", want: []string{"spec.schedule.input ScheduleInput"}, says: "Keep one of them"},
		"A05 nulls for both are absent": {spec: "{schedule: {cron: '@daily', input: {text: null, configMapKeyRef: null}}}"},
	})
}

func TestNextRun(t *testing.T) {
	schedule := func(cron, zone string) *v1alpha1.ScheduleSpec {
		if zone == "-" {
			return &v1alpha1.ScheduleSpec{Cron: cron}
		}
		return &v1alpha1.ScheduleSpec{Cron: cron, TimeZone: &zone}
	}
	for name, row := range map[string]struct {
		schedule *v1alpha1.ScheduleSpec
		after    string
		want     string // empty: none
	}{
		"without a zone it is UTC":                          {schedule("0 9 * * *", "-"), "2026-03-01T08:59:59+05:00", "2026-03-01T09:00:00Z"},
		"a run at the time itself is not the next":          {schedule("0 9 * * *", "-"), "2026-03-01T09:00:00Z", "2026-03-02T09:00:00Z"},
		"A14 a zone counts":                                 {schedule("0 9 * * *", "Europe/Berlin"), "2026-03-01T00:00:00Z", "2026-03-01T08:00:00Z"},
		"A14 a zone counts in summer too":                   {schedule("0 9 * * *", "Europe/Berlin"), "2026-07-01T00:00:00Z", "2026-07-01T07:00:00Z"},
		"a time that the change of clocks leaves out":       {schedule("30 2 * * *", "Europe/Berlin"), "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		"a macro counts in the zone":                        {schedule("@daily", "Asia/Tokyo"), "2026-03-01T00:00:00Z", "2026-03-01T15:00:00Z"},
		"A43 the 29th of February":                          {schedule("0 0 29 2 *", "-"), "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		"A43 the 29th of February over a common century":    {schedule("0 0 29 2 *", "-"), "2096-03-01T00:00:00Z", ""},
		"A43 a date that never comes":                       {schedule("0 0 31 2 *", "-"), "2026-03-01T00:00:00Z", ""},
		"A43 a field without a value":                       {schedule(", * * * *", "-"), "2026-03-01T00:00:00Z", ""},
		"A15 an unknown zone is not replaced":               {schedule("0 9 * * *", "Europe/Nowhere"), "2026-03-01T00:00:00Z", ""},
		"A15 the zone of the machine is not used":           {schedule("0 9 * * *", "Local"), "2026-03-01T00:00:00Z", ""},
		"A15 an empty zone is not replaced":                 {schedule("0 9 * * *", ""), "2026-03-01T00:00:00Z", ""},
		"A65 an interval counts from a run that is unknown": {schedule("@every 1h", "-"), "2026-03-01T00:00:00Z", ""},
		"A52 a zone in the text is refused":                 {schedule("TZ=UTC 0 9 * * *", "-"), "2026-03-01T00:00:00Z", ""},
		"A34 a text that makes the parser panic":            {schedule("TZ=0", "-"), "2026-03-01T00:00:00Z", ""},
		"no schedule":                                       {nil, "2026-03-01T00:00:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := time.Parse(time.RFC3339, row.after)
			require.NoError(t, err)
			next, ok := check.NextRun(row.schedule, after)
			if row.want == "" {
				assert.False(t, ok)
				assert.True(t, next.IsZero())
				return
			}
			require.True(t, ok)
			assert.Equal(t, row.want, next.Format(time.RFC3339))
			assert.Equal(t, time.UTC, next.Location())
		})
	}
}

func TestNextRunEndsInEveryZone(t *testing.T) {
	after := time.Date(2026, time.November, 1, 5, 59, 30, 0, time.UTC)
	for _, name := range strings.Fields(zoneNames(t)) {
		for _, cron := range []string{"30 2 * * *", "0 0 * * *", "59 23 31 12 *"} {
			next, ok := check.NextRun(&v1alpha1.ScheduleSpec{Cron: cron, TimeZone: &name}, after)
			assert.True(t, ok, "%s in %s", cron, name)
			assert.True(t, next.After(after), "%s in %s", cron, name)
		}
	}
}

func zoneNames(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("zones.txt")
	require.NoError(t, err)
	return string(text)
}
