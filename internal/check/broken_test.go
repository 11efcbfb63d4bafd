package check_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
)

// fullSpec sets every field there is.
const fullSpec = `
agent: {schema: loom.agent/1, model: default, instructions: Say hello., extra: {list: [1, {deep: null}]}}
routes: {default: {provider: test, model: small}}
connectorsConfig: "connectors: []"
secretRef: {name: keys}
secretFiles: {name: certs, mountPath: /certs}
env: [{name: GREETING, value: hello}]
image: {repository: registry.test/agent, tag: "1"}
command: {entrypoint: [/bin/sh], args: [-c, exit 0]}
workspace: {mountPath: /work, claimName: disk}
configFiles: [{name: a.yaml, content: "a: 1"}]
seccompProfile: {type: Localhost, localhostProfile: agent.json}
appArmorProfile: {type: Localhost, localhostProfile: agent}
boundary:
  model: {upstream: "https://models.test", audience: models}
  connectors: {upstream: "https://connectors.test", audience: connectors, operations: [issues.read]}
  git: {upstream: "https://git.test", audience: git, repositories: [team/app]}
schedule:
  cron: 0 9 * * *
  timeZone: Europe/Berlin
  suspend: false
  startingDeadlineSeconds: 60
  input: {configMapKeyRef: {name: prompts, key: daily}}
  concurrencyPolicy: Forbid
  successfulJobsHistoryLimit: 3
  failedJobsHistoryLimit: 1
pod:
  resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
  nodeSelector: {kubernetes.io/os: linux}
  tolerations: [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 5}]
  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {a: b}}}]}}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
  priorityClassName: high
  runtimeClassName: sandbox
  serviceAccountName: agent
  imagePullSecrets: [{name: registry}]
  imagePullPolicy: Always
  terminationGracePeriodSeconds: 30
  labels: {team: a}
  annotations: {note: b}
serve:
  replicas: 1
  port: 8080
  probes:
    startup: {httpGet: {path: /healthz, port: http}, periodSeconds: 1}
    readiness: {tcpSocket: {port: 8080}}
    liveness: {exec: {command: ["true"]}, timeoutSeconds: 1}
run: {backoffLimit: 0, activeDeadlineSeconds: 600, ttlSecondsAfterFinished: 60}
suspend: false
`

// A value put in the place of a part of the document. Some are of a type that
// the API does not take there: such a document is refused before the check.
var replacements = map[string]any{
	"null": nil, "empty text": "", "blank": " ", "empty list": []any{}, "empty object": map[string]any{},
	"zero": 0, "minus one": -1, "zero byte": "\x00", "list of nulls": []any{nil, nil}, "large number": int64(1) << 40,
}

// Every part of a full document is left out and replaced, one at a time (A05).
func TestHandBrokenDocumentsAreAcceptedOrRefusedWithAMessage(t *testing.T) {
	full := decode(t, fullSpec)
	require.Empty(t, findings(checkSpec(t, full)), "the full document is good")

	examined := 0
	breakEach(full, "spec", func(path string) {
		t.Run(path, func(t *testing.T) {
			text, err := json.Marshal(full)
			require.NoError(t, err)
			var spec v1alpha1.LoomAgentSpec
			if json.Unmarshal(text, &spec) == nil {
				examined++
				assertWellFormed(t, checkSpec(t, full))
			}
		})
	})
	assert.Greater(t, examined, 500)
}

// Every set of top-level blocks that has up to two of them missing, and every
// one that has up to two.
func TestAnySubsetOfTheBlocksIsAcceptedOrRefusedWithAMessage(t *testing.T) {
	blocks := slices.Sorted(maps.Keys(decode(t, fullSpec)))
	for i, a := range blocks {
		for _, b := range blocks[i:] {
			without := decode(t, fullSpec)
			delete(without, a)
			delete(without, b)
			assertWellFormed(t, checkSpec(t, without))

			full, only := decode(t, fullSpec), map[string]any{}
			only[a], only[b] = full[a], full[b]
			report := checkSpec(t, only)
			assertWellFormed(t, report)
			if a == "agent" || a == "command" || b == "command" {
				assert.Empty(t, findings(report), "%s and %s", a, b)
			} else {
				assert.Equal(t, []string{"spec AgentOrCommand"}, findings(report), "%s and %s", a, b)
			}
		}
	}
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var document map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &document))
	return document
}

func checkSpec(t *testing.T, document map[string]any) check.Report {
	t.Helper()
	text, err := json.Marshal(document)
	require.NoError(t, err)
	agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Name: "broken"}}
	require.NoError(t, json.Unmarshal(text, &agent.Spec))
	return check.Run(check.Input{Agent: agent, DefaultImage: defaultImage})
}

// breakEach calls try with each part of the tree missing or replaced, and puts
// it back.
func breakEach(tree any, path string, try func(path string)) {
	switch node := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			original := node[key]
			place := path + "." + key
			delete(node, key)
			try(place + " absent")
			for _, name := range slices.Sorted(maps.Keys(replacements)) {
				node[key] = replacements[name]
				try(place + " " + name)
			}
			node[key] = original
			breakEach(original, place, try)
		}
	case []any:
		for i, original := range node {
			place := fmt.Sprintf("%s[%d]", path, i)
			for _, name := range slices.Sorted(maps.Keys(replacements)) {
				node[i] = replacements[name]
				try(place + " " + name)
			}
			node[i] = original
			breakEach(original, place, try)
		}
	}
}
