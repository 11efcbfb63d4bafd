package check_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated files instead of comparing them")

const corpusFile = "../../tests/fixtures/cron/corpus.txt"

// The corpus is a file so that a real API server can be asked about the same
// texts. `go test ./internal/check -run Corpus -update` writes it.
func TestTheCorpusFileIsTheGeneratedOne(t *testing.T) {
	assertGenerated(t, corpusFile, corpus())
}

// assertGenerated compares a generated file, or writes it with -update.
func assertGenerated(t *testing.T, file string, content []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, content, 0o644))
	}
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(content, stored), "%s is out of date: run this test with -update", file)
}

func readCorpus(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(corpusFile)
	require.NoError(t, err)
	var all []string
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		text, err := strconv.Unquote(lines.Text())
		require.NoError(t, err, lines.Text())
		all = append(all, text)
	}
	return all
}

// corpus has one expression a line, quoted as in Go: those of the cases, then
// each field alone with every shape a field can have, then random ones.
func corpus() []byte {
	var text bytes.Buffer
	seen := map[string]bool{}
	add := func(expression string) {
		if !seen[expression] {
			seen[expression] = true
			fmt.Fprintln(&text, strconv.Quote(expression))
		}
	}
	for _, expression := range handPicked {
		add(expression)
	}
	for i := range 5 {
		for _, shape := range shapes {
			add(strings.Repeat("* ", i) + shape + strings.Repeat(" *", 4-i))
		}
	}
	random := rand.New(rand.NewPCG(43, 53))
	for range 400 {
		add(randomExpression(random))
	}
	return text.Bytes()
}

// shapes are what a field may and may not look like; which of them are good
// depends on the field.
var shapes = []string{
	"*", "?", "0", "1", "6", "7", "12", "13", "23", "24", "31", "32", "59", "60", "-1", "+5", "007", "1.5", "99999999999999999999",
	"1-5", "5-1", "1-", "-5", "1-2-3", "*-5", "*/2", "*/0", "*/-1", "*/100", "?/3", "1/2", "1-5/2", "1-5/", "/2", "1/2/3", "*/x",
	"1,2,3", "1,,2", ",", ",1", "1,", "1-3,5-6", "*,1", "1,x",
	"JAN", "jan-mar", "Dec", "JANUARY", "MON", "mon-fri", "SUN", "SAT-SUN", "SUN-SAT", "MON#2", "5L", "L", "W", "15W", "H", "H/5", "R", "٣", "1–5", "", "x", "TZ",
}

var handPicked = []string{
	"0 9 * * *", "0 */8 * * *", "0 9-17/2 * * MON-FRI", "5,35 * * * *", "0  9 * * *", "0 0 1 JAN *", "0 10 * * ?", "*/5 * * * *",
	"0 0 0/1 * * ?", "* * * * * *", "0 0 10 * * ? *", "* * * *", "*", "* *", "* * *", "hello", "every day at nine", "9:00", "0 9 * * * root",
	"0 0 31 2 *", "0 0 30 2 *", "0 0 31 4 *", "0 0 29 2 *", "0 0 30 2 1", "0 0 31 6,9,11 *", "0 0 31 */2 *", "0 0 30 2 */2", "0 0 30 2 */7", "0 0 29 2 0-6",
	", * * * *", "* , * * *", "* * , * *", "* * * , *", "* * * * ,", ", , , , ,", "* * , * ,",
	"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@reboot", "@Daily", "@DAILY", "@", "@every", "@ daily", " @daily", "@daily ", "@daily * * * *",
	"@every 1h", "@every 90m", "@every 5s", "@every 60s", "@every 59s", "@every 59.9s", "@every 1ms", "@every 0s", "@every -1h", "@every 1d", "@every 5", "@every  1h", "@every 1h ", "@every\t1h", "@every 2540400h", "@every 9999999999h", "@every 1h30m10.5s",
	"TZ=0", "TZ=", "CRON_TZ=", "TZ=UTC", "CRON_TZ=Europe/Berlin", "TZ=UTC 0 9 * * *", "CRON_TZ=Etc/UTC */20 * * * *", "TZ=UTC\t0 9 * * *", " TZ=UTC 0 9 * * *", "TZ= 0 9 * * *", "TZ=Nowhere 0 9 * * *", "TZ=UTC @daily", "CRON_TZ=UTC @every 1h", "tz=UTC 0 9 * * *", "0 9 * * * TZ=UTC", "TZ=Local 0 9 * * *", "TZ=../x 0 9 * * *", "TZ",
	"", " ", "\t", "\n", "\u00a0", " 0 9 * * *", "0 9 * * * ", "0\t9\t*\t*\t*", "0 9 * * *\n", "0\n9\n*\n*\n*", "0\u00a09 * * *", "0\u20039 * * *", "0\u200b9 * * *", "0 9 * * *\x00", "\ufeff0 9 * * *", "０ ９ * * *", "0 9 * * ＊",
	"0 9 * * 1-5;0 9 * * 6", "0 9 * * *\r\n", "# 0 9 * * *", "\"0 9 * * *\"", "0 9 * * * #x", "$(date) * * * *", "%d %d * * *", "0x10 * * * *", "1e1 * * * *", "1_0 * * * *", "* * * * * * * * * * * * * * * *",
}

// randomExpression is mostly well formed, so that both verdicts are common.
func randomExpression(random *rand.Rand) string {
	bounds := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	fields := make([]string, len(bounds))
	for i, bound := range bounds {
		fields[i] = randomField(random, bound[0], bound[1])
	}
	return strings.Join(fields, " ")
}

func randomField(random *rand.Rand, low, high int) string {
	value := func() int { return low + random.IntN(high-low+1) }
	switch random.IntN(12) {
	case 0, 1, 2:
		return "*"
	case 3, 4, 5:
		return strconv.Itoa(value())
	case 6:
		a, b := value(), value()
		return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
	case 7:
		return fmt.Sprintf("*/%d", 1+random.IntN(high))
	case 8:
		return fmt.Sprintf("%d,%d,%d", value(), value(), value())
	case 9:
		return fmt.Sprintf("%d/%d", value(), 1+random.IntN(high))
	case 10:
		return fmt.Sprintf("%d-%d/%d", value(), value(), random.IntN(high))
	default:
		return strconv.Itoa(low - 1 + random.IntN(high-low+4))
	}
}
