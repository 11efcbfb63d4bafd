package controllers_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/config"
)

// One stored document that the operator's client cannot read keeps it from
// listing all the others. So whatever value a leaf of the schema takes, the
// API server refuses it or the client can read it.
func TestA05WhatTheSchemaTakesTheOperatorCanRead(t *testing.T) {
	w := quietWorld(t)
	tried := 0
	for path, document := range leaves(specSchema(t)) {
		for _, value := range document.values {
			tried++
			object := &unstructured.Unstructured{Object: map[string]any{"spec": document.with(value)}}
			object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
			object.SetNamespace(w.namespace)
			object.SetName("leaf")
			if err := w.Create(t.Context(), object, client.DryRunAll); err != nil {
				continue
			}
			text, err := object.MarshalJSON()
			require.NoError(t, err)
			var agent v1alpha1.LoomAgent
			began := time.Now()
			assert.NoError(t, yaml.Unmarshal(text, &agent), "the API server stores %v in %s", value, path)
			assert.Less(t, time.Since(began), time.Second, "the API server stores %v in %s, which takes long to read", value, path)
		}
	}
	assert.Greater(t, tried, 100)
}

func specSchema(t *testing.T) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	text, err := config.Files.ReadFile("crd/loom.beyond10x.dev_loomagents.yaml")
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.Unmarshal(text, &crd))
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// leaf is one place of the schema where a value can be odd, and how to put a
// value there in a document that is otherwise as small as the schema allows.
type leaf struct {
	values []any
	with   func(any) any
}

// leaves finds them by their paths.
func leaves(schema apiextensionsv1.JSONSchemaProps) map[string]leaf {
	found := map[string]leaf{}
	switch {
	case schema.XIntOrString:
		found[""] = leaf{[]any{int64(3_000_000_000), int64(-3_000_000_000), "0x1", "--1", "1e-9999999"}, itself}
	case schema.Type == "integer":
		found[""] = leaf{[]any{int64(3_000_000_000), int64(-3_000_000_000), 9.3e18, 1e300}, itself}
	case schema.Type == "array":
		for path, inner := range leaves(*schema.Items.Schema) {
			found["[]"+path] = leaf{inner.values, func(value any) any { return []any{inner.with(value)} }}
		}
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		for path, inner := range leaves(*schema.AdditionalProperties.Schema) {
			found[".*"+path] = leaf{inner.values, func(value any) any { return map[string]any{"memory": inner.with(value)} }}
		}
	default:
		for name, property := range schema.Properties {
			for path, inner := range leaves(property) {
				found["."+name+path] = leaf{inner.values, func(value any) any {
					object := smallest(schema).(map[string]any)
					object[name] = inner.with(value)
					return object
				}}
			}
		}
	}
	return found
}

func itself(value any) any { return value }

// smallest is the least that the schema takes.
func smallest(schema apiextensionsv1.JSONSchemaProps) any {
	switch {
	case len(schema.Enum) > 0:
		return strings.Trim(string(schema.Enum[0].Raw), `"`)
	case schema.XIntOrString:
		return int64(1)
	case schema.Type == "integer":
		return int64(1)
	case schema.Type == "string":
		return "x"
	case schema.Type == "array":
		return []any{}
	default:
		object := map[string]any{}
		for _, name := range schema.Required {
			object[name] = smallest(schema.Properties[name])
		}
		return object
	}
}

func TestLeavesCoverTheEmbeddedTypes(t *testing.T) {
	paths := slices.Sorted(maps.Keys(leaves(specSchema(t))))

	for _, path := range []string{
		".serve.replicas", ".serve.probes.readiness.initialDelaySeconds", ".serve.probes.liveness.httpGet.port", ".pod.resources.limits.*",
		".pod.tolerations[].tolerationSeconds", ".pod.topologySpreadConstraints[].maxSkew", ".pod.terminationGracePeriodSeconds",
		".pod.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].weight", ".schedule.startingDeadlineSeconds",
	} {
		assert.Contains(t, paths, path, fmt.Sprint(paths))
	}
}
