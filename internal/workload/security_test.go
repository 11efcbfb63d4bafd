package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestA26PodsMeetRestrictedWithNoUserInput(t *testing.T) {
	for component, template := range templates(with(t, "{}")) {
		t.Run(component, func(t *testing.T) {
			pod := template.Spec
			require.Len(t, pod.Containers, 1)
			assert.Equal(t, &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			}, pod.SecurityContext, "and no user ID, so that an arbitrary one works")
			assert.Equal(t, &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				ReadOnlyRootFilesystem:   new(true),
			}, pod.Containers[0].SecurityContext)
			assert.Equal(t, new(false), pod.AutomountServiceAccountToken)
			assert.Equal(t, new(false), pod.EnableServiceLinks)
			for _, volume := range pod.Volumes {
				assert.True(t, volume.EmptyDir != nil || volume.Projected != nil, volume.Name)
			}
			assert.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)
			for _, port := range pod.Containers[0].Ports {
				assert.Zero(t, port.HostPort)
			}
		})
	}
}

func TestConfinementProfilesOfTheDocument(t *testing.T) {
	tests := map[string]struct {
		spec     string
		seccomp  corev1.SeccompProfile
		appArmor *corev1.AppArmorProfile
	}{
		"none": {spec: "{}", seccomp: corev1.SeccompProfile{Type: "RuntimeDefault"}},
		"of the node": {
			spec: `{seccompProfile: {type: Localhost, localhostProfile: s.json},
				appArmorProfile: {type: Localhost, localhostProfile: a}}`,
			seccomp:  corev1.SeccompProfile{Type: "Localhost", LocalhostProfile: new("s.json")},
			appArmor: &corev1.AppArmorProfile{Type: "Localhost", LocalhostProfile: new("a")},
		},
		"unconfined": {
			spec:     "{seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}}",
			seccomp:  corev1.SeccompProfile{Type: "Unconfined"},
			appArmor: &corev1.AppArmorProfile{Type: "Unconfined"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, template := range templates(with(t, test.spec)) {
				assert.Equal(t, &test.seccomp, template.Spec.SecurityContext.SeccompProfile)
				assert.Equal(t, test.appArmor, template.Spec.SecurityContext.AppArmorProfile)
			}
		})
	}
}

func TestA26LoweredNamesEachFieldThatRestrictedForbids(t *testing.T) {
	tests := map[string]struct {
		spec   string
		fields []string
	}{
		"nothing": {spec: "{}"},
		"profiles that confine": {
			spec: "{seccompProfile: {type: RuntimeDefault}, appArmorProfile: {type: Localhost, localhostProfile: a}}",
		},
		"both profiles": {
			spec:   "{seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}}",
			fields: []string{"spec.seccompProfile.type", "spec.appArmorProfile.type"},
		},
		"probes of another host": {
			spec: `{serve: {probes: {startup: {httpGet: {port: 1, host: h}}, readiness: {httpGet: {port: 1}},
				liveness: {tcpSocket: {port: 1, host: h}}}}}`,
			fields: []string{"spec.serve.probes.startup", "spec.serve.probes.liveness"},
		},
		"probes that a run does not have": {
			spec: "{command: {}, serve: {probes: {startup: {httpGet: {port: 1, host: h}}}}}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sentences := Lowered(with(t, test.spec).Agent)
			require.Len(t, sentences, len(test.fields))
			for i, field := range test.fields {
				assert.Contains(t, sentences[i], field+" ")
				assert.Contains(t, sentences[i], "restricted")
				assert.Regexp(t, `\.$`, sentences[i])
			}
		})
	}
}
