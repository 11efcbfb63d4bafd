package bundle_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// embedded are the fields whose type is Kubernetes' own. Consoles have an
// editor for each; their parts have no descriptors.
var embedded = map[string]bool{
	"pod.resources": true, "pod.affinity.nodeAffinity": true, "pod.affinity.podAffinity": true, "pod.affinity.podAntiAffinity": true,
	"serve.probes.startup": true, "serve.probes.readiness": true, "serve.probes.liveness": true,
}

func TestEveryFieldIsDescribed(t *testing.T) {
	owned := version(t).Spec.CustomResourceDefinitions.Owned[0]
	described := map[string]map[string]string{"spec": {}, "status": {}}
	for _, d := range owned.SpecDescriptors {
		described["spec"][d.Path] = d.DisplayName + ": " + d.Description
	}
	for _, d := range owned.StatusDescriptors {
		described["status"][d.Path] = d.DisplayName + ": " + d.Description
	}
	for block, descriptors := range described {
		for path, field := range fields(schemaOf(t, block), "") {
			shown, ok := descriptors[path]
			assert.True(t, ok, "%s.%s has no descriptor", block, path)
			assert.True(t, strings.HasSuffix(shown, ": "+strings.Join(strings.Fields(field.Description), " ")), "%s.%s: %s", block, path, shown)
			assert.False(t, strings.HasPrefix(shown, ": ") || strings.HasSuffix(shown, ": "), "%s.%s: %s", block, path, shown)
			delete(descriptors, path)
		}
		assert.Empty(t, descriptors, "descriptors of what is no field of %s", block)
	}
}

func TestEveryHintIsOneThatConsolesKnow(t *testing.T) {
	owned := version(t).Spec.CustomResourceDefinitions.Owned[0]
	known := []string{"com.tectonic.ui:podCount", "com.tectonic.ui:resourceRequirements", "com.tectonic.ui:booleanSwitch", "com.tectonic.ui:text",
		"com.tectonic.ui:number", "com.tectonic.ui:imagePullPolicy", "com.tectonic.ui:nodeAffinity", "com.tectonic.ui:podAffinity",
		"com.tectonic.ui:podAntiAffinity", "com.tectonic.ui:advanced", "io.kubernetes:Secret", "io.kubernetes:ConfigMap", "io.kubernetes:ServiceAccount",
		"io.kubernetes:PersistentVolumeClaim", "io.kubernetes.conditions", "io.kubernetes.phase"}
	check := func(path string, hints []string) {
		for _, hint := range hints {
			rest, ok := strings.CutPrefix(hint, "urn:alm:descriptor:")
			assert.True(t, ok, hint)
			if strings.HasPrefix(rest, "com.tectonic.ui:select:") || strings.HasPrefix(rest, "com.tectonic.ui:fieldDependency:") {
				continue
			}
			assert.Contains(t, known, rest, path)
		}
	}
	for _, d := range owned.SpecDescriptors {
		check(d.Path, d.XDescriptors)
	}
	for _, d := range owned.StatusDescriptors {
		check(d.Path, d.XDescriptors)
	}
}

// A choice that is offered must be one that the schema allows.
func TestEveryChoiceIsAllowed(t *testing.T) {
	all := fields(schemaOf(t, "spec"), "")
	for _, d := range version(t).Spec.CustomResourceDefinitions.Owned[0].SpecDescriptors {
		var allowed, offered []string
		for _, value := range all[d.Path].Enum {
			allowed = append(allowed, strings.Trim(string(value.Raw), `"`))
		}
		for _, hint := range d.XDescriptors {
			if choice, ok := strings.CutPrefix(hint, "urn:alm:descriptor:com.tectonic.ui:select:"); ok {
				offered = append(offered, choice)
			}
		}
		if len(offered) > 0 {
			assert.ElementsMatch(t, allowed, offered, d.Path)
		}
	}
}

func fields(schema apiextensionsv1.JSONSchemaProps, prefix string) map[string]apiextensionsv1.JSONSchemaProps {
	found := map[string]apiextensionsv1.JSONSchemaProps{}
	for name, field := range schema.Properties {
		found[prefix+name] = field
		if !embedded[prefix+name] {
			for path, inner := range fields(field, prefix+name+".") {
				found[path] = inner
			}
		}
	}
	return found
}
