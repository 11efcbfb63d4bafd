package check_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestResources(t *testing.T) {
	requests, limits := "spec.pod.resources.requests Resources", "spec.pod.resources.limits Resources"
	assertVerdicts(t, map[string]verdict{
		"A05 an empty block":                          {spec: "{pod: {resources: {}}}"},
		"requests below their limits":                 {spec: "{pod: {resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}}}"},
		"requests without limits and limits without":  {spec: "{pod: {resources: {requests: {cpu: 4}, limits: {memory: 1Gi, example.com/gpu: 1}}}}"},
		"nothing is asked for":                        {spec: "{pod: {resources: {requests: {cpu: 0}, limits: {cpu: 0}}}}"},
		"a request above its limit":                   {spec: "{pod: {resources: {requests: {memory: 1025Mi}, limits: {memory: 1Gi}}}}", want: []string{requests}, says: `The request of "memory" is larger than its limit`},
		"a request beside a limit that is no amount":  {spec: "{pod: {resources: {requests: {memory: 1Gi}, limits: {memory: much}}}}", want: []string{limits}, says: `"much" of "memory" is not an amount`},
		"a negative request and a negative limit":     {spec: "{pod: {resources: {requests: {cpu: -2}, limits: {cpu: -1}}}}", want: []string{requests, limits}, says: `"-2" of "cpu" is not an amount`},
		"a name that is none":                         {spec: "{pod: {resources: {limits: {'a b': 1}}}}", want: []string{limits}, says: `"a b" is not a valid name of a resource`},
		"several requests are reported by their name": {spec: "{pod: {resources: {requests: {memory: 2, cpu: 2, a.b/c: 2}, limits: {memory: 1, cpu: 1, a.b/c: 1}}}}", want: []string{requests, requests, requests}, says: "\"a.b/c\" is larger than its limit. Lower the request or raise the limit.\nspec.pod.resources.requests: The request of \"cpu\""},
	})
}

func TestLabelsAndAnnotations(t *testing.T) {
	table := map[string]verdict{
		"A05 empty maps":                         {spec: "{pod: {labels: {}, annotations: {}, nodeSelector: {}}}"},
		"A04 the keys of other tools":            {spec: "{pod: {labels: {app.kubernetes.io/part-of: x, team: ''}, annotations: {prometheus.io/scrape: 'true', app.kubernetes.io/name: x}}}"},
		"capitals in an annotation":              {spec: "{pod: {annotations: {Example.com/Key: \"any\\n text é\"}}}"},
		"a key of an annotation with a blank":    {spec: "{pod: {annotations: {a b: x}}}", want: []string{"spec.pod.annotations PodAnnotations"}, says: `"a b" is not a valid key`},
		"an annotation of this operator":         {spec: "{pod: {annotations: {loom.beyond10x.dev/paused: 'true'}}}", want: []string{"spec.pod.annotations PodAnnotations"}, says: "begins with loom.beyond10x.dev/, which is reserved"},
		"an annotation of the Job controller":    {spec: "{pod: {annotations: {batch.kubernetes.io/x: y}}}", want: []string{"spec.pod.annotations PodAnnotations"}},
		"a prefix that only ends alike":          {spec: "{pod: {annotations: {my.loom.beyond10x.dev/x: y}, labels: {my.loom.beyond10x.dev/x: y}}}"},
		"annotations as large as they may be":    {spec: fmt.Sprintf("{pod: {annotations: {key: %s}}}", strings.Repeat("x", 252<<10-3))},
		"annotations that are one byte too many": {spec: fmt.Sprintf("{pod: {annotations: {key: %s}}}", strings.Repeat("x", 252<<10-2)), want: []string{"spec.pod.annotations PodAnnotations"}, says: "258049 bytes in total and at most 258048"},
		"all annotations count":                  {spec: fmt.Sprintf("{pod: {annotations: {a: %[1]s, b: %[1]s}}}", strings.Repeat("x", 126<<10)), want: []string{"spec.pod.annotations PodAnnotations"}, says: "258050"},
		"findings come in the order of the keys": {spec: "{pod: {labels: {z!: x, a!: x, m!: x}}}", want: []string{"spec.pod.labels PodLabels", "spec.pod.labels PodLabels", "spec.pod.labels PodLabels"}, says: "\"m!\" is not a valid key. Use letters, digits, '-', '_' and '.', begin and end with a letter or digit, use at most 63 characters, and put a domain and '/' before it if you like.\nspec.pod.labels: \"z!\""},
		"a key and its value may both be wrong":  {spec: "{pod: {nodeSelector: {a!: b!}}}", want: []string{"spec.pod.nodeSelector NodeSelector", "spec.pod.nodeSelector NodeSelector"}, says: `The value of "a!" is not valid`},
		"a node's labels may be anybody's":       {spec: "{pod: {nodeSelector: {kubernetes.io/os: linux, loom.beyond10x.dev/x: y}}}"},
		"an empty key":                           {spec: "{pod: {labels: {'': x}, annotations: {'': x}}}", want: []string{"spec.pod.labels PodLabels", "spec.pod.annotations PodAnnotations"}},
		"a value of 63 characters":               {spec: fmt.Sprintf("{pod: {labels: {a: %s}}}", strings.Repeat("x", 63))},
		"a value of 64 characters":               {spec: fmt.Sprintf("{pod: {labels: {a: %s}}}", strings.Repeat("x", 64)), want: []string{"spec.pod.labels PodLabels"}},
	}
	for _, key := range []string{
		"loom.beyond10x.dev/agent", "loom.beyond10x.dev/x", "batch.kubernetes.io/job-name", "controller-uid", "job-name", "pod-template-hash",
		"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/component",
	} {
		table[key+" is not the user's label"] = verdict{spec: fmt.Sprintf("{pod: {labels: {%s: x}}}", key), want: []string{"spec.pod.labels PodLabels"}, says: "Choose another key"}
	}
	assertVerdicts(t, table)
}

func TestProbes(t *testing.T) {
	table := map[string]verdict{
		"A05 no probes are the operator's":       {spec: "{serve: {probes: {}}}"},
		"A05 probes that are null":               {spec: "{serve: {probes: {startup: null, readiness: null, liveness: null}}}"},
		"each kind of action":                    {spec: "{serve: {probes: {startup: {exec: {command: [x]}}, readiness: {tcpSocket: {port: 1}}, liveness: {grpc: {port: 1}}}}}"},
		"a readiness probe may need two answers": {spec: "{serve: {probes: {readiness: {httpGet: {port: 1}, successThreshold: 2}}}}"},
		"a readiness probe stops no container":   {spec: "{serve: {probes: {readiness: {httpGet: {port: 1}, terminationGracePeriodSeconds: 1}}}}", want: []string{"spec.serve.probes.readiness.terminationGracePeriodSeconds Probe"}, says: "stops no container"},
		"findings of all three come in order":    {spec: "{serve: {probes: {liveness: {}, startup: {}, readiness: {}}}}", want: []string{"spec.serve.probes.startup Probe", "spec.serve.probes.readiness Probe", "spec.serve.probes.liveness Probe"}},
	}
	for _, name := range []string{"startup", "readiness", "liveness"} {
		field := "spec.serve.probes." + name
		probe := func(text string) string { return fmt.Sprintf("{serve: {probes: {%s: {%s}}}}", name, text) }
		table[name+" without an action"] = verdict{spec: probe("periodSeconds: 1"), want: []string{field + " Probe"}, says: "The probe has 0 actions"}
		table[name+" with two actions"] = verdict{spec: probe("httpGet: {port: 1}, exec: {command: [x]}"), want: []string{field + " Probe"}, says: "The probe has 2 actions"}
		table[name+" with good numbers"] = verdict{spec: probe("httpGet: {port: 1}, initialDelaySeconds: 0, timeoutSeconds: 1, periodSeconds: 1, successThreshold: 1, failureThreshold: 30")}
		for _, number := range []string{"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"} {
			table[name+" with a negative "+number] = verdict{spec: probe("httpGet: {port: 1}, " + number + ": -1"), want: []string{field + "." + number + " Probe"}, says: "-1 is negative"}
		}
	}
	for _, name := range []string{"startup", "liveness"} {
		field := "spec.serve.probes." + name
		probe := func(text string) string {
			return fmt.Sprintf("{serve: {probes: {%s: {httpGet: {port: 1}, %s}}}}", name, text)
		}
		table[name+" needs one answer"] = verdict{spec: probe("successThreshold: 2"), want: []string{field + ".successThreshold Probe"}, says: "must be 1"}
		table[name+" may have a grace period"] = verdict{spec: probe("terminationGracePeriodSeconds: 1")}
		table[name+" has no grace period of nothing"] = verdict{spec: probe("terminationGracePeriodSeconds: 0"), want: []string{field + ".terminationGracePeriodSeconds Probe"}, says: "1 or more"}
	}
	assertVerdicts(t, table)
}
