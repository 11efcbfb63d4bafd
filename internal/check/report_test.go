package check_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/beyond10x/loom-operator/internal/check"
)

const maxMessageBytes = 8 << 10

// assertWellFormed checks what is promised of every report.
func assertWellFormed(t *testing.T, report check.Report) {
	t.Helper()
	message := report.Message()
	assert.Equal(t, len(report.Findings) > 0, report.ExitCode() == 1)
	assert.Contains(t, []int32{0, 1}, report.ExitCode())
	assert.Equal(t, report.ExitCode() == 1, message != "", "a message goes with every refusal")
	assert.LessOrEqual(t, len(message), maxMessageBytes)
	assert.True(t, utf8.ValidString(message))
	for _, found := range report.Findings {
		assert.NotEmpty(t, found.Field)
		assert.NotEmpty(t, found.Rule)
		assert.Regexp(t, `(?s)\.$`, found.Message, "a message is made of sentences")
		assert.NotContains(t, found.Message, "\n")
	}
}

func TestReport(t *testing.T) {
	finding := func(field string, bytes int) check.Finding {
		return check.Finding{Field: field, Rule: "R", Message: strings.Repeat("x", bytes)}
	}

	t.Run("no finding is an acceptance without a message", func(t *testing.T) {
		assert.EqualValues(t, 0, check.Report{}.ExitCode())
		assert.Empty(t, check.Report{}.Message())
	})
	t.Run("each finding is a line with its field", func(t *testing.T) {
		report := check.Report{Findings: []check.Finding{{Field: "a", Message: "Wrong."}, {Field: "b", Message: "Bad."}}}
		assert.EqualValues(t, 1, report.ExitCode())
		assert.Equal(t, "a: Wrong.\nb: Bad.", report.Message())
	})
	t.Run("a line of 1024 bytes is whole", func(t *testing.T) {
		report := check.Report{Findings: []check.Finding{finding("f", 1021)}}
		assert.Equal(t, "f: "+strings.Repeat("x", 1021), report.Message())
	})
	t.Run("a longer line is cut with a mark", func(t *testing.T) {
		report := check.Report{Findings: []check.Finding{finding("f", 1022)}}
		assert.Equal(t, "f: "+strings.Repeat("x", 1018)+"…", report.Message())
		assert.Len(t, report.Message(), 1024)
	})
	t.Run("a line is cut between characters", func(t *testing.T) {
		for shift := range 4 {
			report := check.Report{Findings: []check.Finding{{Field: strings.Repeat("f", shift+1), Message: strings.Repeat("😀", 300)}}}
			assert.True(t, utf8.ValidString(report.Message()))
			assert.True(t, strings.HasSuffix(report.Message(), "😀…"), report.Message())
			assert.LessOrEqual(t, len(report.Message()), 1024)
			assert.Greater(t, len(report.Message()), 1024-4)
		}
	})
	t.Run("bytes that are no character are replaced", func(t *testing.T) {
		report := check.Report{Findings: []check.Finding{{Field: "a\xff", Message: strings.Repeat("\x80", 2000)}}}
		assert.True(t, utf8.ValidString(report.Message()))
		assert.True(t, strings.HasPrefix(report.Message(), "a�: �"))
	})
	t.Run("findings that do not fit are counted", func(t *testing.T) {
		var report check.Report
		for i := range 100 {
			report.Findings = append(report.Findings, finding(fmt.Sprintf("f%02d", i), 95))
		}
		lines := strings.Split(report.Message(), "\n")
		shown := len(lines) - 1
		assert.Equal(t, "f00: "+strings.Repeat("x", 95), lines[0])
		assert.Equal(t, fmt.Sprintf("… and %d more findings.", 100-shown), lines[shown])
		assert.Equal(t, 80, shown, "as many as fit into 8 KiB with room for the last line")
		assert.LessOrEqual(t, len(report.Message()), maxMessageBytes)
	})
	t.Run("findings that just fit are all shown", func(t *testing.T) {
		var report check.Report
		for range 8 {
			report.Findings = append(report.Findings, finding("f", 1012)) // 1015 bytes and a line end
		}
		assert.NotContains(t, report.Message(), "more findings")
		report.Findings[7].Message += "x"
		assert.NotContains(t, report.Message(), "more findings")
		report.Findings[7].Message += "x"
		assert.Contains(t, report.Message(), "… and 1 more findings.")
	})
}

func TestMessagesKeepSecretsAndStayShort(t *testing.T) {
	canary := "canary-5f1d"
	spec := fmt.Sprintf(`{
		env: [{name: "1", value: %[1]s}, {name: LOOM_X, value: "%[1]s\0"}],
		command: {args: ["%[1]s\0"]},
		connectorsConfig: %[1]s, configFiles: [{name: "a/b", content: %[1]s}],
		agent: {schema: loom.agent/1, model: "", instructions: [%[1]s]},
		boundary: {model: {upstream: "https://user:%[1]s@host", audience: a}},
		pod: {annotations: {"b c": %[1]s}},
		schedule: {cron: x, input: {text: %[1]s, configMapKeyRef: {name: A, key: b}}}}`, canary)
	report := check.Run(check.Input{Agent: agentWith(t, spec)})

	assert.GreaterOrEqual(t, len(report.Findings), 10)
	assert.NotContains(t, report.Message(), canary, "A39")
	assertWellFormed(t, report)

	long := check.Run(check.Input{Agent: agentWith(t, fmt.Sprintf("{schedule: {cron: '%s'}}", strings.Repeat("é", 100_000)))})
	assert.Less(t, len(long.Message()), 500)
	assert.Contains(t, long.Message(), `"`+strings.Repeat("é", 28)+`…"`)
}
