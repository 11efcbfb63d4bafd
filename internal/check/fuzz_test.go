package check_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
)

func FuzzCron(f *testing.F) {
	for _, text := range handPicked {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		assertSameVerdictAsTheAPIServer(t, text)
		assertWellFormed(t, checkCron(text))
		after := time.Date(2026, time.January, 31, 23, 59, 59, 0, time.UTC)
		next, ok := check.NextRun(&v1alpha1.ScheduleSpec{Cron: text}, after)
		if ok && (checkCron(text).ExitCode() != 0 || !next.After(after)) {
			t.Errorf("%q runs next at %v", text, next)
		}
	})
}

func FuzzTimeZone(f *testing.F) {
	for _, name := range []string{"Europe/Berlin", "UTC", "UTC+8", "Local", "local", "", "Europe/London/", " Europe/Berlin", "../UTC", "\xff", "a\x00b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		report := checkZone(name)
		assertWellFormed(t, report)
		if _, err := time.LoadLocation(name); report.ExitCode() == 0 && (err != nil || strings.EqualFold(name, "local") || name == "") {
			t.Errorf("%q is accepted and the API server refuses it", name)
		}
		if _, ok := check.NextRun(&v1alpha1.ScheduleSpec{Cron: "@daily", TimeZone: &name}, time.Now()); ok != (report.ExitCode() == 0) {
			t.Errorf("%q: next run %v, exit code %d", name, ok, report.ExitCode())
		}
	})
}

func FuzzRun(f *testing.F) {
	full, err := yaml.YAMLToJSON([]byte(fullSpec))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	for _, text := range []string{
		`{}`, `{"agent":null}`, `{"agent":[]}`, `{"boundary":{"model":{}}}`, `{"schedule":{"input":{}}}`, `{"command":{}}`,
		`{"env":[{}],"configFiles":[{}]}`, `{"pod":{"resources":{"limits":{"cpu":"-1"}}}}`, `{"serve":{"probes":{"startup":{}}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Name: "f"}}
		if json.Unmarshal(text, &agent.Spec) != nil {
			return
		}
		before := agent.DeepCopy()
		assertWellFormed(t, check.Run(check.Input{Agent: agent, DefaultImage: defaultImage}))
		if want, err := json.Marshal(before); err == nil {
			if got, err := json.Marshal(agent); err != nil || string(got) != string(want) {
				t.Errorf("the check changed the document")
			}
		}
	})
}
