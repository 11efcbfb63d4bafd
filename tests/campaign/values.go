package main

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// values generates what a property is tried with: good values and those at a
// boundary, bad ones, one of a wrong type, null, and none.
func (p property) values() []any {
	all := append([]any{sample(p.path, p.schema)}, knownValues(p.path)...)
	all = append(all, generated(p.path, p.schema)...)
	all = append(all, nil, absent{})
	var different []any
	seen := map[string]bool{}
	for _, value := range all {
		if key := text(value); !seen[key] {
			seen[key] = true
			different = append(different, value)
		}
	}
	return different
}

func generated(at path, schema apiextensionsv1.JSONSchemaProps) []any {
	switch {
	case schema.XIntOrString:
		return []any{int64(0), "", true}
	case len(schema.Enum) > 0:
		return append(enum(schema), "Other", int64(7))
	case schema.Type == "string":
		return []any{"", strings.Repeat("a", 64), int64(7)}
	case schema.Type == "boolean":
		return []any{true, false, "yes"}
	case schema.Type == "integer":
		return append(integers(schema), "one")
	case schema.Type == "array":
		return []any{[]any{}, []any{sample(at.to(item), *schema.Items.Schema)}, map[string]any{}}
	case schema.AdditionalProperties != nil:
		return []any{map[string]any{}, map[string]any{"not a key!": "a"}, "text"}
	case schema.XPreserveUnknownFields != nil:
		return []any{map[string]any{}, "text"}
	default:
		return []any{map[string]any{}, map[string]any{"noSuchProperty": int64(1)}, "text"}
	}
}

func enum(schema apiextensionsv1.JSONSchemaProps) []any {
	var all []any
	for _, raw := range schema.Enum {
		var value any
		if json.Unmarshal(raw.Raw, &value) == nil {
			all = append(all, value)
		}
	}
	return all
}

// integers are the limits of the schema and what lies beside them.
func integers(schema apiextensionsv1.JSONSchemaProps) []any {
	low := int64(0)
	if schema.Minimum != nil {
		low = int64(*schema.Minimum)
	}
	all := []any{low, low - 1}
	if schema.Maximum != nil && int64(*schema.Maximum) != math.MaxInt32 {
		all = append(all, int64(*schema.Maximum), int64(*schema.Maximum)+1)
	}
	return append(all, int64(math.MaxInt32)+1)
}

// fewer picks some of the values, the same for a seed: the first, which is
// good, and others by chance.
func fewer(values []any, limit int, random *rand.Rand) []any {
	if limit == 0 || len(values) <= limit {
		return values
	}
	picked := []any{values[0]}
	for _, i := range random.Perm(len(values) - 1)[:limit-1] {
		picked = append(picked, values[i+1])
	}
	return picked
}

// chance is a property's own source of chance, so that neither the order nor
// the number of properties changes what is tried.
func chance(seed uint64, name string) *rand.Rand {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // A hash never fails to be written.
	return rand.New(rand.NewPCG(seed, hash.Sum64()))
}
