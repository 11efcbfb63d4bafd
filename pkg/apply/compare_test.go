package apply

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestCoversSeesDriftAndToleratesAdditions(t *testing.T) {
	for name, c := range map[string]struct {
		live, intent string
		want         bool
	}{
		"equal":                           {`{"a":1}`, `{"a":1}`, true},
		"an added field":                  {`{"a":1,"b":2}`, `{"a":1}`, true},
		"a changed value":                 {`{"a":2}`, `{"a":1}`, false},
		"a lost value":                    {`{}`, `{"a":1}`, false},
		"false turned true":               {`{"a":true}`, `{"a":false}`, false},
		"zero turned one":                 {`{"a":1}`, `{"a":0}`, false},
		"another type":                    {`{"a":"1"}`, `{"a":1}`, false},
		"an object replaced by a value":   {`{"a":1}`, `{"a":{"b":1}}`, false},
		"a null means nothing":            {`{}`, `{"a":null}`, true},
		"a defaulted field in a list":     {`{"c":[{"name":"x","image":"i","p":1}]}`, `{"c":[{"name":"x","image":"i"}]}`, true},
		"an injected sidecar":             {`{"c":[{"name":"s"},{"name":"x","image":"i"}]}`, `{"c":[{"name":"x","image":"i"}]}`, true},
		"a changed item":                  {`{"c":[{"name":"x","image":"j"}]}`, `{"c":[{"name":"x","image":"i"}]}`, false},
		"a lost item":                     {`{"c":[{"name":"x"}]}`, `{"c":[{"name":"x"},{"name":"y"}]}`, false},
		"two mounts of one volume":        {`{"m":[{"name":"v","path":"/a"},{"name":"v","path":"/b"}]}`, `{"m":[{"name":"v","path":"/b"},{"name":"v","path":"/a"}]}`, true},
		"an added rule":                   {`{"r":[{"port":1},{}]}`, `{"r":[{"port":1}]}`, false},
		"a defaulted field in a rule":     {`{"r":[{"port":1,"protocol":"TCP"}]}`, `{"r":[{"port":1}]}`, true},
		"rules in another order":          {`{"r":[{"port":2},{"port":1}]}`, `{"r":[{"port":1},{"port":2}]}`, false},
		"something in an empty list":      {`{"r":[{}]}`, `{"r":[]}`, false},
		"a lost list":                     {`{}`, `{"c":[{"name":"x"}]}`, false},
		"an added argument":               {`{"args":["a","b"]}`, `{"args":["a"]}`, false},
		"arguments in another order":      {`{"args":["b","a"]}`, `{"args":["a","b"]}`, false},
		"a list replaced by something":    {`{"args":"a"}`, `{"args":["a"]}`, false},
		"an empty object that is missing": {`{}`, `{"a":{}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var live, intent any
			require.NoError(t, json.Unmarshal([]byte(c.live), &live))
			require.NoError(t, json.Unmarshal([]byte(c.intent), &intent))
			assert.Equal(t, c.want, covers(live, intent))
		})
	}
}

// inherited has the protobuf form of what it embeds, which lacks its own field.
type inherited struct {
	corev1.ConfigMap
	Extra string `json:"extra"`
}

func TestTheDigestSeesEveryField(t *testing.T) {
	a := &Applier{annotation: "example.com/applied"}
	seen := map[string]bool{}
	for _, child := range []client.Object{
		&inherited{Extra: "1"}, &inherited{Extra: "2"},
		&corev1.ConfigMap{Data: map[string]string{"a": "1"}}, &corev1.ConfigMap{Data: map[string]string{"a": "2"}}, &corev1.ConfigMap{},
		&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(0))}}, &appsv1.Deployment{},
	} {
		require.NoError(t, a.sign(child))
		digest := child.GetAnnotations()[a.annotation]
		assert.False(t, seen[digest], "%T %+v", child, child)
		seen[digest] = true
		require.NoError(t, a.sign(child))
		assert.Equal(t, digest, child.GetAnnotations()[a.annotation], "it is the same again")
	}
}
