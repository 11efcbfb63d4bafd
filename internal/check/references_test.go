package check_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestReferences(t *testing.T) {
	table := map[string]verdict{
		"a key of 253 characters":      {spec: fmt.Sprintf("{schedule: {cron: '@daily', input: {configMapKeyRef: {name: a, key: %s}}}}", strings.Repeat("k", 253))},
		"a key with a folder":          {spec: "{schedule: {cron: '@daily', input: {configMapKeyRef: {name: a, key: a/b}}}}", want: []string{"spec.schedule.input.configMapKeyRef.key Reference"}, says: `"a/b" is not a valid key of a ConfigMap`},
		"A05 an empty reference":       {spec: "{schedule: {cron: '@daily', input: {configMapKeyRef: {}}}}", want: []string{"spec.schedule.input.configMapKeyRef.name Reference", "spec.schedule.input.configMapKeyRef.key Reference"}},
		"no classes and no account":    {spec: "{pod: {priorityClassName: '', serviceAccountName: '', imagePullSecrets: []}}"},
		"each pull Secret is examined": {spec: "{pod: {imagePullSecrets: [{name: a}, {name: B}]}}", want: []string{"spec.pod.imagePullSecrets[1].name Reference"}},
	}
	for field, row := range map[string]struct{ spec, kind string }{
		"spec.secretRef.name":                      {"{secretRef: {name: %s}}", "Secret"},
		"spec.secretFiles.name":                    {"{secretFiles: {name: %s, mountPath: /s}}", "Secret"},
		"spec.workspace.claimName":                 {"{workspace: {claimName: %s, mountPath: /w}}", "PersistentVolumeClaim"},
		"spec.schedule.input.configMapKeyRef.name": {"{schedule: {cron: '@daily', input: {configMapKeyRef: {name: %s, key: k}}}}", "ConfigMap"},
		"spec.pod.priorityClassName":               {"{pod: {priorityClassName: %s}}", "PriorityClass"},
		"spec.pod.runtimeClassName":                {"{pod: {runtimeClassName: %s}}", "RuntimeClass"},
		"spec.pod.serviceAccountName":              {"{pod: {serviceAccountName: %s}}", "ServiceAccount"},
		"spec.pod.imagePullSecrets[0].name":        {"{pod: {imagePullSecrets: [{name: %s}]}}", "Secret"},
	} {
		table[field+" may be a name with dots"] = verdict{spec: fmt.Sprintf(row.spec, "a.b-1")}
		table[field+" may not be in capitals"] = verdict{spec: fmt.Sprintf(row.spec, "Name"), want: []string{field + " Reference"}, says: `"Name" is not a valid name of a ` + row.kind + ". Use"}
		if !strings.HasSuffix(field, "ClassName") && !strings.HasSuffix(field, "AccountName") || strings.Contains(field, "runtime") {
			table[field+" may not be empty"] = verdict{spec: fmt.Sprintf(row.spec, "''"), want: []string{field + " Reference"}}
		}
	}
	assertVerdicts(t, table)
}
