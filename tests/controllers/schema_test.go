package controllers_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// document reads an agent from the YAML text of its spec.
func (w world) document(spec string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	text, err := yaml.YAMLToJSON([]byte(spec))
	require.NoError(w, err)
	var value any
	require.NoError(w, json.Unmarshal(text, &value))
	object.Object["spec"] = value
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	object.SetNamespace(w.namespace)
	object.SetGenerateName("schema-")
	return object
}

func TestSchemaRefusesShapesThatCanNeverBeRight(t *testing.T) {
	tests := map[string]struct{ spec, field string }{
		"A51 an unknown field":                 {"{schedule: {cron: 0 9 * * *, timezone: Europe/Berlin}}", `unknown field "spec.schedule.timezone"`},
		"A51 an unknown field at the top":      {"{imagge: {}}", `unknown field "spec.imagge"`},
		"A49 a config file named twice":        {"{configFiles: [{name: a, content: x}, {name: a, content: y}]}", "spec.configFiles[1]"},
		"A12 a variable named twice":           {"{env: [{name: A, value: x}, {name: A, value: y}]}", "spec.env[1]"},
		"a pull Secret named twice":            {"{pod: {imagePullSecrets: [{name: a}, {name: a}]}}", "spec.pod.imagePullSecrets[1]"},
		"a profile without its name":           {"{seccompProfile: {type: Localhost}}", "spec.seccompProfile"},
		"a profile with a name it cannot have": {"{appArmorProfile: {type: RuntimeDefault, localhostProfile: x}}", "spec.appArmorProfile"},
		"a profile of an unknown type":         {"{seccompProfile: {type: Strict}}", "spec.seccompProfile.type"},
		"a profile with an empty name":         {"{seccompProfile: {type: Localhost, localhostProfile: ''}}", "spec.seccompProfile.localhostProfile"},
		"two inputs of a schedule":             {"{schedule: {cron: 0 9 * * *, input: {text: a, configMapKeyRef: {name: a, key: b}}}}", "give text or configMapKeyRef, not both"},
		"a schedule without a cron expression": {"{schedule: {timeZone: Europe/Berlin}}", "spec.schedule.cron"},
		"an unknown concurrency policy":        {"{schedule: {cron: 0 9 * * *, concurrencyPolicy: Never}}", "spec.schedule.concurrencyPolicy"},
		"a negative number of replicas":        {"{serve: {replicas: -1}}", "spec.serve.replicas"},
		"a number of replicas above int32":     {"{serve: {replicas: 3000000000}}", "spec.serve.replicas"},
		"a port that is none":                  {"{serve: {port: 0}}", "spec.serve.port"},
		"an image without a tag":               {"{image: {repository: registry.test/agent}}", "spec.image.tag"},
		"an image tag that is null":            {"{image: {repository: registry.test/agent, tag: null}}", "spec.image.tag"},
		"A05 a boundary without an upstream":   {"{boundary: {model: {}}}", "spec.boundary.model.upstream"},
		"an agent document that is a text":     {"{agent: hello}", "spec.agent"},
		"a workspace without a path":           {"{workspace: {claimName: a}}", "spec.workspace.mountPath"},
		"Secret files that are a list":         {"{secretFiles: [{name: a, mountPath: /a}]}", "spec.secretFiles"},
		"a variable that has no name":          {"{env: [{value: x}]}", "spec.env[0].name"},
		"arguments that are numbers":           {"{command: {args: [1]}}", "spec.command.args[0]"},
		"a deadline of no seconds":             {"{run: {activeDeadlineSeconds: 0}}", "spec.run.activeDeadlineSeconds"},
		"an unknown policy for pulling":        {"{pod: {imagePullPolicy: Sometimes}}", "spec.pod.imagePullPolicy"},
		"a quantity that is none":              {"{pod: {resources: {limits: {memory: lots}}}}", "spec.pod.resources.limits.memory"},
		"a document without a spec":            {"null", "spec"},
	}
	w := quietWorld(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := w.Create(t.Context(), w.document(test.spec), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			require.Error(t, err)
			assert.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), "it is refused, and not failed: %v", err)
			assert.Contains(t, err.Error(), test.field)
		})
	}
}

// A05, A12: what may be absent may be absent, empty or null.
func TestSchemaTakesEveryOptionalBlockEmptyOrNull(t *testing.T) {
	w := quietWorld(t)
	for _, block := range []string{"agent", "routes", "command", "pod", "serve", "run", "boundary"} {
		for _, value := range []string{"{}", "null"} {
			t.Run(block+" "+value, func(t *testing.T) {
				assert.NoError(t, w.Create(t.Context(), w.document("{"+block+": "+value+"}"), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)))
			})
		}
	}
}

// The document reaches the runtime as the API server stored it: no key is
// dropped and no number passes through a float64.
func TestSchemaKeepsTheDocument(t *testing.T) {
	w := quietWorld(t)
	agent := w.create("numbers", v1alpha1.LoomAgentSpec{Agent: v1alpha1.NewAgentDocument(`{"schema":"loom.agent/1","model":"default","instructions":"x","big":9007199254740993,"deep":{"list":[1,null]}}`)})

	stored := w.agent(agent.Name)

	assert.JSONEq(t, `{"schema":"loom.agent/1","model":"default","instructions":"x","big":9007199254740993,"deep":{"list":[1,null]}}`, string(stored.Spec.Agent.JSON()))
	assert.Contains(t, string(stored.Spec.Agent.JSON()), "9007199254740993")
}

// A51: who does not ask for strictness is warned.
func TestA51UnknownFieldIsWarnedAbout(t *testing.T) {
	w := quietWorld(t)
	warnings := &warningLog{}
	login := rest.CopyConfig(w.cluster.Config)
	login.WarningHandlerWithContext = warnings
	c, err := client.New(login, client.Options{Scheme: w.Scheme()})
	require.NoError(t, err)
	object := w.document("{schedule: {cron: 0 9 * * *, timezone: Europe/Berlin}}")

	require.NoError(t, c.Create(t.Context(), object, client.FieldValidation(metav1.FieldValidationWarn)))

	assert.True(t, warnings.contains(`unknown field "spec.schedule.timezone"`), "%v", warnings.texts)
	_, kept, err := unstructured.NestedString(object.Object, "spec", "schedule", "timezone")
	require.NoError(t, err)
	assert.False(t, kept, "the field is dropped")
}

type warningLog struct {
	mutex sync.Mutex
	texts []string
}

func (l *warningLog) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if code == http.StatusOK || code == 299 {
		l.texts = append(l.texts, text)
	}
}

func (l *warningLog) contains(part string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.ContainsFunc(l.texts, func(text string) bool { return strings.Contains(text, part) })
}
