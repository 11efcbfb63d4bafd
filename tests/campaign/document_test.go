package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func keys(all map[string]int) []string { return slices.Sorted(maps.Keys(all)) }

func TestPlaceGivesAPropertyWhatItNeeds(t *testing.T) {
	schema, err := specSchema()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		at    path
		value any
		key   string
		want  string
	}{
		"a value beside what is there":    {path{"image", "tag"}, "2", "image", `{"repository":"registry.test/agent","tag":"2"}`},
		"a value that is left out":        {path{"image", "tag"}, absent{}, "image", `{"repository":"registry.test/agent"}`},
		"null":                            {path{"image", "tag"}, nil, "image", `{"repository":"registry.test/agent","tag":null}`},
		"an item's property":              {path{"env", item, "value"}, "x", "env", `[{"name":"A","value":"x"}]`},
		"an item that is left out":        {path{"env", item}, absent{}, "env", `[]`},
		"a value of a map":                {path{"pod", "labels", entry}, "x", "pod", `{"labels":{"team":"x"}}`},
		"a property that needs a sibling": {path{"seccompProfile", "localhostProfile"}, "p", "seccompProfile", `{"localhostProfile":"p","type":"Localhost"}`},
		"a probe has one action":          {path{"serve", "probes", "startup", "exec", "command"}, []any{"a"}, "serve", `{"probes":{"startup":{"exec":{"command":["a"]}}}}`},
		"a probe's number has an action":  {path{"serve", "probes", "startup", "periodSeconds"}, int64(5), "serve", `{"probes":{"startup":{"httpGet":{"port":"http"},"periodSeconds":5}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			former := base(serve)
			document := place(former, nil, schema, test.at, test.value).(map[string]any)

			assert.JSONEq(t, test.want, text(document[test.key]))
			assert.Equal(t, base(serve), former, "the former document stays as it is")
		})
	}
}

func TestDifferences(t *testing.T) {
	one := family{"Deployment/NAME": "{\n \"a\": 1\n}", "ConfigMap/NAME-1": "x"}
	assert.Empty(t, one.differs(maps.Clone(one)))
	assert.Equal(t, "ConfigMap/NAME-1 lingers", one.differs(family{"Deployment/NAME": one["Deployment/NAME"]}))
	assert.Equal(t, "Service/NAME is missing", one.differs(family{"Deployment/NAME": one["Deployment/NAME"], "ConfigMap/NAME-1": "x", "Service/NAME": ""}))
	assert.Equal(t, `Deployment/NAME differs: "a": 1, not "a": 2`, one.differs(family{"Deployment/NAME": "{\n \"a\": 2\n}", "ConfigMap/NAME-1": "x"}))
}

func TestConfigurationsThatNothingMountsAreNotInUse(t *testing.T) {
	all := family{"Deployment/NAME": ` "name": "NAME-1"`, "ConfigMap/NAME-1": "", "ConfigMap/NAME-2": ""}
	assert.Equal(t, family{"Deployment/NAME": ` "name": "NAME-1"`, "ConfigMap/NAME-1": ""}, all.inUse())
}
