package main

import (
	"strings"
)

// known are values that mean something where they stand, good ones first, by
// the end of the path. The first one that fits counts.
var known = []struct {
	ends   string
	values []any
}{
	{"spec.agent", []any{
		map[string]any{"schema": "loom.agent/1", "model": "default", "instructions": "Say hello."},
		map[string]any{"schema": "loom.agent/1", "model": "large", "instructions": "ä", "big": int64(9007199254740993), "deep": []any{nil, map[string]any{}}},
		map[string]any{"schema": "loom.agent/2", "model": "default", "instructions": "x"},
		map[string]any{"schema": "loom.agent/1", "model": "", "instructions": " "},
	}},
	{"spec.routes", []any{map[string]any{"default": map[string]any{"model": "small"}}, map[string]any{"other": map[string]any{}}, []any{}, int64(7), "text"}},
	{".image.repository", []any{"registry.test/other", "agent", "Registry.test:5000/a/b", "registry.test/agent:2", "registry.test/Agent"}},
	{".image.tag", []any{"2", "sha256:" + strings.Repeat("a", 64), strings.Repeat("t", 128), "sha256:short", "a b", strings.Repeat("t", 129)}},
	{".env[].name", []any{"A", "HOME", "a.b-c", "LOOM_MODE", "1A"}},
	{".env[].value", []any{"1", "a$$b $(HOME)", strings.Repeat("v", 100<<10), strings.Repeat("v", 140<<10), "\u0000"}},
	{".configFiles[].name", []any{"a.txt", strings.Repeat("n", 240), "..", "conf.d/a.yaml", strings.Repeat("n", 241)}},
	{".configFiles[].content", []any{"text", "$(X) $$ ä\r\n", strings.Repeat("c", 140<<10)}},
	{".connectorsConfig", []any{"a: b\n", "$(X) $$ ä\r\n", strings.Repeat("c", 140<<10)}},
	{".secretRef.name", []any{"keys", strings.Repeat("k", 253), "Keys"}},
	{".secretFiles.name", []any{"files", strings.Repeat("k", 253), "Files"}},
	{".secretFiles.mountPath", []any{"/secrets", "/var/lib/a b", "/etc/loom/x", "secrets", "/"}},
	{".workspace.mountPath", []any{"/work", "/home/agent/", "/tmp", "work", "/a/../b"}},
	{".workspace.claimName", []any{"claim", "Claim"}},
	{".localhostProfile", []any{"profile", "deep/profile", "../up", " ", "/etc/profile"}},
	{".upstream", []any{"https://models.test", "http://10.0.0.1:8080/v1", "https://[::1]/", "models.test", "https://u:p@models.test", "https://models.test:99999"}},
	{".audience", []any{"models", "https://audience.test/ä", " "}},
	{".operations", []any{[]any{"read"}, []any{"read", "read"}}},
	{".repositories", []any{[]any{"team/repo"}, []any{"a", "b"}}},
	{".operations[]", []any{"read", " "}},
	{".repositories[]", []any{"team/repo", " "}},
	{".schedule.cron", []any{"0 0 29 2 *", "@yearly", "@every 8760h", "0 0 30 2 *", "TZ=0", "* * * * * *", "@reboot"}},
	{".schedule.timeZone", []any{"Europe/Berlin", "UTC", "Etc/GMT+12", "Local", "europe/berlin", "UTC+8"}},
	{".schedule.input.text", []any{"hi", "cost $$5, run $(date)", strings.Repeat("i", 140<<10)}},
	{".configMapKeyRef.name", []any{"prompts", "Prompts"}},
	{".configMapKeyRef.key", []any{"text", "a/b"}},
	{".startingDeadlineSeconds", []any{int64(60)}},
	{".activeDeadlineSeconds", []any{int64(600)}},
	// One second is left to runs that end at once in every campaign.
	{".ttlSecondsAfterFinished", []any{int64(3600)}},
	// Each pod costs the campaign a while.
	{".serve.replicas", []any{int64(1), int64(2), int64(0)}},
	{".serve.port", []any{int64(9000)}},
	{".priorityClassName", []any{classes, "Class"}},
	{".runtimeClassName", []any{classes, "Class"}},
	{".serviceAccountName", []any{"default", "other", "Account"}},
	{".imagePullSecrets[].name", []any{"pull", "Pull"}},
	{".resources.limits", []any{map[string]any{"memory": "64Mi", "cpu": "1500m"}, map[string]any{"memory": int64(67108864)}, map[string]any{"example.com/gpu": int64(1)}}},
	{".resources.requests", []any{map[string]any{"memory": "64Mi", "cpu": "0.1"}, map[string]any{"cpu": "1e3"}}},
	{".limits{}", []any{"64Mi", "0", "1Ei", "-1", "lots", "1.0001", "100000Ei"}},
	{".requests{}", []any{"64Mi", "0", "1Ei", "-1", "lots", "1.0001", "100000Ei"}},
	{".pod.labels", []any{map[string]any{"team": "a", "example.test/b": ""}, map[string]any{"app.kubernetes.io/name": "x"}, map[string]any{"batch.kubernetes.io/x": "y"}}},
	{".pod.annotations", []any{map[string]any{"team": "a b ä"}, map[string]any{"loom.beyond10x.dev/paused": "true"}}},
	{".tolerations[].operator", []any{"Exists", "Equal", "Lt"}},
	{".tolerations[].effect", []any{"NoExecute", "NoSchedule", "PreferNoSchedule", "Never"}},
	{".tolerations[].key", []any{"dedicated", "a b"}},
	{".tolerations[].value", []any{"team", "a b"}},
	{".topologyKey", []any{"kubernetes.io/hostname", "topology.kubernetes.io/zone", "a b"}},
	{".whenUnsatisfiable", []any{"DoNotSchedule", "ScheduleAnyway", "Never"}},
	{".nodeAffinityPolicy", []any{"Honor", "Ignore", "Never"}},
	{".nodeTaintsPolicy", []any{"Honor", "Ignore", "Never"}},
	{".matchLabelKeys[]", []any{"rollout"}},
	{".mismatchLabelKeys[]", []any{"rollout"}},
	{".matchExpressions[].operator", []any{"In", "NotIn", "Exists"}},
	{".matchExpressions[].values", []any{[]any{"a"}, []any{"a", "b"}}},
	{".matchExpressions[].key", []any{"team", "example.test/team"}},
	{".matchFields[].operator", []any{"In", "NotIn", "Exists"}},
	{".matchFields[].values", []any{[]any{"node"}}},
	{".matchFields[].key", []any{"metadata.name"}},
	{".nodeSelectorTerms", []any{[]any{map[string]any{"matchExpressions": []any{map[string]any{"key": "team", "operator": "In", "values": []any{"a"}}}}}}},
	{".preference", []any{map[string]any{"matchExpressions": []any{map[string]any{"key": "team", "operator": "In", "values": []any{"a"}}}}}},
	{".weight", []any{int64(1), int64(100), int64(101)}},
	{".httpGet.port", []any{"http", int64(9090), int64(65535), int64(65536), "no such port name"}},
	{".tcpSocket.port", []any{"http", int64(9090), int64(65535), int64(65536)}},
	{".grpc.port", []any{int64(9090), int64(65535), int64(65536)}},
	{".httpGet.path", []any{"/healthz", "healthz"}},
	{".httpGet.scheme", []any{"HTTP", "HTTPS", "FTP"}},
	{".httpGet.host", []any{"127.0.0.1"}},
	{".httpHeaders[].name", []any{"X-Test", "a b"}},
	{".probes.startup", []any{map[string]any{"httpGet": map[string]any{"port": "http"}}}},
	{".probes.readiness", []any{map[string]any{"httpGet": map[string]any{"port": "http"}}}},
	{".probes.liveness", []any{map[string]any{"httpGet": map[string]any{"port": "http"}}}},
	{".successThreshold", []any{int64(1), int64(2)}},
	{"spec.command", []any{map[string]any{"entrypoint": []any{"/bin/sh"}, "args": []any{"-c", "exit 0"}}, map[string]any{"args": []any{"x"}}}},
	{"spec.schedule", []any{map[string]any{"cron": "0 0 29 2 *"}, map[string]any{"cron": "0 0 29 2 *", "timeZone": "Europe/Berlin", "suspend": true}}},
	{".entrypoint", []any{[]any{"/bin/sh"}, []any{""}}},
	{"spec", []any{base(serve), base(command), base(schedule)}},
}

// classes is the name of a priority class and a runtime class that exist while
// a campaign lasts.
const classes = "campaign"

func knownValues(at path) []any {
	for _, k := range known {
		if at.ends(k.ends) {
			return k.values
		}
	}
	return nil
}

// entryKey is the key under which a map gets its only value.
func entryKey(at path) string {
	if at.ends(".limits") || at.ends(".requests") {
		return "memory"
	}
	return "team"
}

// companions are optional properties that one of their siblings cannot do
// without.
func companions(at path, property string) map[string]any {
	selector := map[string]any{"matchLabels": map[string]any{"team": "a"}}
	switch {
	case strings.Contains(at.String(), ".probes.") && len(at) == 3:
		switch property {
		case "exec", "grpc", "httpGet", "tcpSocket":
			return nil
		}
		return map[string]any{"httpGet": map[string]any{"port": "http"}}
	case at.ends(".exec") && property != "command":
		return map[string]any{"command": []any{"true"}}
	case at.ends("Profile") && property == "localhostProfile":
		return map[string]any{"type": "Localhost"}
	case at.ends(".tolerations[]"):
		return toleration(property)
	case at.ends(".matchExpressions[]"), at.ends(".matchFields[]"):
		return map[string]any{"values": []any{"a"}}
	case property == "matchLabelKeys", property == "mismatchLabelKeys":
		return map[string]any{"labelSelector": selector}
	case at.ends(".topologySpreadConstraints[]") && property != "labelSelector":
		return map[string]any{"labelSelector": selector}
	}
	return nil
}

func toleration(property string) map[string]any {
	switch property {
	case "value":
		return map[string]any{"key": "dedicated", "operator": "Equal"}
	case "tolerationSeconds":
		return map[string]any{"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}
	case "operator":
		return map[string]any{"key": "dedicated"}
	default:
		return map[string]any{"operator": "Exists"}
	}
}
