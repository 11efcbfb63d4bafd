package stages_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

type builder = stages.Builder[*Settings]

func yes(*Settings, pass) bool { return true }
func no(*Settings, pass) bool  { return false }

func TestBuildingNamesTheCulprits(t *testing.T) {
	cases := map[string]struct {
		build func(*builder)
		want  []string
	}{
		"no entry point": {func(b *builder) {}, []string{"exactly one entry point", "found []"}},
		"a namespace of Events that the API server refuses": {func(b *builder) { *b = *stages.For[*Settings]("x", stages.EventNamespace("audit")).Reconcile(succeed) }, []string{`"audit"`, "kube-system"}},
		"no name":                  {func(b *builder) { *b = *stages.For[*Settings]("").Reconcile(succeed) }, []string{"needs a name"}},
		"no field owner":           {func(b *builder) { *b = *stages.For[*Settings]("x", stages.FieldOwner("")).Reconcile(succeed) }, []string{"a field owner"}},
		"no annotation":            {func(b *builder) { *b = *stages.For[*Settings]("x", stages.AppliedAnnotation("")).Reconcile(succeed) }, []string{"an annotation"}},
		"no clock":                 {func(b *builder) { *b = *stages.For[*Settings]("x", stages.Clock(nil)).Reconcile(succeed) }, []string{"a clock"}},
		"a root after something":   {func(b *builder) { b.Root().After("A").Do(succeed) }, []string{`a reconcile handler is the whole controller`, `cannot come after ["A"]`}},
		"two of them":              {func(b *builder) { b.Reconcile(succeed).Stage("A").Do(succeed) }, []string{"exactly one entry point", `"a reconcile handler" "stage \"A\""`}},
		"all of them":              {func(b *builder) { b.Reconcile(succeed).Root().Otherwise(succeed); b.Stage("A").Do(succeed) }, []string{"a reconcile handler", "root cases", `stage \"A\"`}},
		"Reconcile twice":          {func(b *builder) { b.Reconcile(succeed).Reconcile(succeed) }, []string{`found ["a reconcile handler" "a reconcile handler"]`}},
		"a handler and root cases": {func(b *builder) { b.Root().Do(succeed).Case("x", yes, succeed).Otherwise(succeed) }, []string{"root cases", "both a handler and cases"}},
		"a missing reference":      {func(b *builder) { b.Stage("A").After("Nowhere").Do(succeed) }, []string{`does not exist: "A" after ["Nowhere"]`}},
		"a cycle": {func(b *builder) {
			b.Stage("First").Do(succeed)
			b.Stage("A").After("First", "B").Do(succeed)
			b.Stage("B").After("A").Do(succeed)
		}, []string{`cycle`, `"A" after ["B"], "B" after ["A"]`}},
		"a stage after itself": {func(b *builder) { b.Stage("A").After("A").Do(succeed) }, []string{`"A" after ["A"]`}},
		"a tie": {func(b *builder) {
			b.Stage("A").Do(succeed)
			b.Stage("B").Do(succeed)
		}, []string{`order of the stages ["A" "B"] is open`}},
		"a tie after a common dependency": {func(b *builder) {
			b.Stage("A").Do(succeed)
			b.Stage("B").After("A").Do(succeed)
			b.Stage("C").After("A").Do(succeed)
		}, []string{`order of the stages ["B" "C"] is open`}},
		"a repeated condition": {func(b *builder) {
			b.Stage("Same").Do(succeed)
			b.Stage("Same").After("Same").Do(succeed)
		}, []string{`stage name "Same" is empty or used twice`}},
		"a reserved condition":           {func(b *builder) { b.Stage("Ready").Do(succeed) }, []string{`stage "Ready"`, "reserved"}},
		"a condition the API refuses":    {func(b *builder) { b.Stage("not valid").Do(succeed) }, []string{`stage "not valid"`, "condition type"}},
		"a stage without work":           {func(b *builder) { b.Stage("A") }, []string{`stage "A": a handler is needed`}},
		"a stage with handler and cases": {func(b *builder) { b.Stage("A").Do(succeed).Otherwise(succeed) }, []string{`stage "A" has both`}},
		"cases without an otherwise":     {func(b *builder) { b.Stage("A").Case("x", yes, succeed) }, []string{`stage "A"`, "exactly one otherwise, found 0"}},
		"cases with two otherwises":      {func(b *builder) { b.Root().Otherwise(succeed).Otherwise(succeed) }, []string{"root cases", "exactly one otherwise, found 2"}},
		"a case without a predicate":     {func(b *builder) { b.Root().Case("x", nil, succeed).Otherwise(succeed) }, []string{`root cases from "x"`, "found 2"}},
		"a case without a handler":       {func(b *builder) { b.Root().Case("x", yes, nil).Otherwise(succeed) }, []string{`case "x" has no handler`}},
		"a case without a name":          {func(b *builder) { b.Root().Case("", yes, succeed).Otherwise(succeed) }, []string{`case name "" is empty`}},
		"an ambiguous case order":        {func(b *builder) { b.Root().Case("x", yes, succeed).Case("y", yes, succeed).Otherwise(succeed) }, []string{`cases ["x" "y"] is open`}},
		"a cycle of cases": {func(b *builder) {
			b.Root().Case("x", yes, succeed, "y").Case("y", yes, succeed, "x").Otherwise(succeed)
		}, []string{`cases has a cycle`, `"x" after ["y"], "y" after ["x"]`}},
		"a case after a missing one": {func(b *builder) { b.Root().Case("x", yes, succeed, "y").Otherwise(succeed) }, []string{`"x" after ["y"]`}},
		"an otherwise after a missing one": {func(b *builder) {
			b.Stage("A").Cases = []stages.Case[*Settings]{{Name: "else", Do: succeed, After: []string{"Nowhere"}}}
		}, []string{`"else" after ["Nowhere"]`}},
		"a case named as the otherwise":   {func(b *builder) { b.Root().Case("otherwise", yes, succeed).Otherwise(succeed) }, []string{`case name "otherwise" is empty or used twice`}},
		"an embedded stage that is nil":   {func(b *builder) { b.Embed(&stages.Stage[*Settings]{Condition: "A", Handler: succeed}, nil) }, []string{"stage 2 of 2 is nil"}},
		"several faults at the same time": {func(b *builder) { b.Stage("A"); b.Stage("Ready").Do(succeed) }, []string{`stage "A": a handler`, `stage "Ready"`, "is open"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := stages.For[*Settings]("settings")
			c.build(b)
			err := b.Validate()
			require.Error(t, err)
			for _, part := range c.want {
				assert.ErrorContains(t, err, part)
			}
			_, err = b.Build(newWorld(t).client, nil)
			assert.Error(t, err, "Build refuses what Validate refuses")
		})
	}
}

func TestBuildingChecksOptions(t *testing.T) {
	for name, option := range map[string]stages.Option{
		"no timeout":           stages.Timeout(0),
		"a negative resync":    stages.Every(-1),
		"no budget for Events": stages.EventBudget(0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorContains(t, stages.For[*Settings]("settings", option).Reconcile(succeed).Validate(), "positive")
		})
	}
	without := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	_, err := stages.For[*Settings]("settings").Reconcile(succeed).Build(without, nil)
	assert.ErrorContains(t, err, "lacks events.k8s.io/v1")
	_, err = stages.For[*Settings]("settings", stages.Events(false)).Reconcile(succeed).Build(without, nil)
	assert.NoError(t, err)
	noop := func(context.Context, *stages.Pass[*corev1.ConfigMap]) error { return nil }
	assert.ErrorContains(t, stages.For[*corev1.ConfigMap]("maps", stages.ReportStatus(true)).Reconcile(noop).Validate(),
		"*v1.ConfigMap cannot report status", "built-in kinds are not opted in")
	assert.NoError(t, stages.For[*corev1.ConfigMap]("maps").Reconcile(noop).Validate())
}

// statusless implements stages.Reporter and has nowhere to keep a report.
type statusless struct{ corev1.ConfigMap }

func (*statusless) GetConditions() []metav1.Condition { return nil }
func (*statusless) SetConditions([]metav1.Condition)  {}
func (*statusless) SetObservedGeneration(int64)       {}

func TestAReporterNeedsAFieldStatus(t *testing.T) {
	noop := func(context.Context, *stages.Pass[*statusless]) error { return nil }
	assert.ErrorContains(t, stages.For[*statusless]("statusless").Reconcile(noop).Validate(), "*stages_test.statusless cannot report status: it has no field Status")
}

func TestOnlyAPointerToAnAPITypeCanBeReconciled(t *testing.T) {
	noop := func(context.Context, *stages.Pass[client.Object]) error { return nil }
	assert.ErrorContains(t, stages.For[client.Object]("any").Reconcile(noop).Validate(), "needs a pointer to an API type")
}

func TestRegistrationOrderNeverMatters(t *testing.T) {
	for range 20 {
		var ran []string
		b := stages.For[*Settings]("settings", stages.Events(false))
		for _, i := range rand.Perm(5) {
			stage := b.Stage(conditionName(i)).Do(func(context.Context, pass) error {
				ran = append(ran, conditionName(i))
				return nil
			})
			for before := range i {
				stage.After(conditionName(before))
			}
		}
		w := newWorld(t)
		_, err := w.pass(w.build(b))
		require.NoError(t, err)
		assert.Equal(t, []string{"Condition1", "Condition2", "Condition3", "Condition4", "Condition5"}, ran)
	}
}

func TestPartsAreEmbeddedWithoutTheBuilder(t *testing.T) {
	w := newWorld(t)
	var ran []string
	mark := func(name string) handler {
		return func(context.Context, pass) error { ran = append(ran, name); return nil }
	}
	b := stages.For[*Settings]("settings", w.options()...).Embed(
		&stages.Stage[*Settings]{Condition: "B", Dependencies: []string{"A"}, Cases: []stages.Case[*Settings]{
			{Name: "never", When: no, Do: mark("never")},
			{Name: "else", Do: mark("else")},
		}},
		&stages.Stage[*Settings]{Condition: "A", Handler: mark("a")},
	)
	require.NoError(t, b.Validate())
	_, err := w.pass(w.build(b))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "else"}, ran)
	assert.Equal(t, map[string]string{"A": "True/Succeeded", "B": "True/Succeeded", "Ready": "True/Succeeded"}, w.conditions())
}

func TestMixingStylesIsRefused(t *testing.T) {
	embedded := &stages.Stage[*Settings]{Condition: "A", Handler: succeed}
	for name, c := range map[string]struct {
		build func(*builder)
		want  string
	}{
		"a stage":         {func(b *builder) { b.Stage("B").After("A").Do(succeed) }, `[stage "B"] are registered and [stage "A"] are embedded`},
		"root cases":      {func(b *builder) { b.Root().Case("x", yes, succeed).Otherwise(succeed) }, `[root cases from "x"] are registered and [stage "A"] are embedded`},
		"a plain handler": {func(b *builder) { b.Reconcile(succeed) }, `[a reconcile handler] are registered and [stage "A"] are embedded`},
	} {
		t.Run(name, func(t *testing.T) {
			b := stages.For[*Settings]("settings").Embed(embedded)
			c.build(b)
			assert.ErrorContains(t, b.Validate(), c.want)
		})
	}
}

// Nested cases cannot be written down: a case has no place for cases or stages, and nothing makes a handler of them.
func TestCasesCannotNest(t *testing.T) {
	for field := range reflect.TypeFor[stages.Case[*Settings]]().Fields() {
		name := fmt.Sprint(field.Type)
		assert.False(t, strings.Contains(name, "[]stages.") || strings.Contains(name, "stages.Stage"), "field %s holds %s", field.Name, name)
	}
	for _, part := range []any{stages.Case[*Settings]{}, &stages.Stage[*Settings]{}, &builder{}, &stages.Controller[*Settings]{}} {
		for method := range reflect.TypeOf(part).Methods() {
			for out := range method.Type.Outs() {
				assert.NotEqual(t, reflect.TypeFor[handler](), out, "%T.%s", part, method.Name)
			}
		}
	}
}
