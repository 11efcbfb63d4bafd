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
	"k8s.io/apimachinery/pkg/runtime"
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
		"no entry point":  {func(b *builder) {}, []string{"exactly one entry point", "0 are set"}},
		"no name":         {func(b *builder) { *b = *stages.For[*Settings]("").Reconcile(succeed) }, []string{"needs a name"}},
		"two of them":     {func(b *builder) { b.Reconcile(succeed).Stage("a").Establishes("A").Do(succeed) }, []string{"exactly one entry point", "2 are set"}},
		"all of them":     {func(b *builder) { b.Reconcile(succeed).Otherwise(succeed).Stage("a") }, []string{"3 are set"}},
		"Reconcile twice": {func(b *builder) { b.Reconcile(succeed).Reconcile(succeed) }, []string{"Reconcile is called twice"}},
		"a missing reference": {func(b *builder) {
			b.Stage("a").Establishes("A").After("nowhere").Do(succeed)
		}, []string{`stage "a" comes after "nowhere"`}},
		"a cycle": {func(b *builder) {
			b.Stage("first").Establishes("F").Do(succeed)
			b.Stage("a").Establishes("A").After("first", "b").Do(succeed)
			b.Stage("b").Establishes("B").After("a").Do(succeed)
		}, []string{`cycle among ["a" "b"]`}},
		"a tie": {func(b *builder) {
			b.Stage("a").Establishes("A").Do(succeed)
			b.Stage("b").Establishes("B").Do(succeed)
		}, []string{`order of the stages ["a" "b"] is open`}},
		"a tie after a common dependency": {func(b *builder) {
			b.Stage("a").Establishes("A").Do(succeed)
			b.Stage("b").Establishes("B").After("a").Do(succeed)
			b.Stage("c").Establishes("C").After("a").Do(succeed)
		}, []string{`order of the stages ["b" "c"] is open`}},
		"a repeated stage name": {func(b *builder) {
			b.Stage("a").Establishes("A").Do(succeed)
			b.Stage("a").Establishes("B").After("a").Do(succeed)
		}, []string{`stage name "a" is empty or used twice`}},
		"a stage without a name": {func(b *builder) { b.Stage("").Establishes("A").Do(succeed) }, []string{`stage name "" is empty`}},
		"a repeated condition": {func(b *builder) {
			b.Stage("a").Establishes("Same").Do(succeed)
			b.Stage("b").Establishes("Same").After("a").Do(succeed)
		}, []string{`stage "b" establishes Same`, `stage "a"`}},
		"a reserved condition":           {func(b *builder) { b.Stage("a").Establishes("Ready").Do(succeed) }, []string{`stage "a" establishes Ready`, "reserved"}},
		"no condition":                   {func(b *builder) { b.Stage("a").Do(succeed) }, []string{`stage "a"`, "condition type"}},
		"a condition the API refuses":    {func(b *builder) { b.Stage("a").Establishes("not valid").Do(succeed) }, []string{`"not valid"`}},
		"a stage without work":           {func(b *builder) { b.Stage("a").Establishes("A") }, []string{`stage "a" has neither`}},
		"a stage with two handlers":      {func(b *builder) { b.Stage("a").Establishes("A").Do(succeed).Do(succeed) }, []string{`stage "a" has more than one handler`}},
		"a stage with handler and cases": {func(b *builder) { b.Stage("a").Establishes("A").Do(succeed).Otherwise(succeed) }, []string{`stage "a" has both`}},
		"cases without an otherwise": {func(b *builder) {
			b.Stage("a").Establishes("A").Case("x", yes, succeed)
		}, []string{`stage "a"`, "exactly one otherwise", "[]"}},
		"cases with two otherwises":       {func(b *builder) { b.Otherwise(succeed).Otherwise(succeed) }, []string{"the controller", `["otherwise" "otherwise"]`}},
		"a case without a predicate":      {func(b *builder) { b.Case("x", nil, succeed).Otherwise(succeed) }, []string{`["x" "otherwise"]`}},
		"a case without a handler":        {func(b *builder) { b.Case("x", yes, nil).Otherwise(succeed) }, []string{`case "x" has no handler`}},
		"an ambiguous case order":         {func(b *builder) { b.Case("x", yes, succeed).Case("y", yes, succeed).Otherwise(succeed) }, []string{`cases ["x" "y"] is open`}},
		"a cycle of cases":                {func(b *builder) { b.Case("x", yes, succeed, "y").Case("y", yes, succeed, "x").Otherwise(succeed) }, []string{`order of the cases has a cycle among ["x" "y"]`}},
		"a case after a missing one":      {func(b *builder) { b.Case("x", yes, succeed, "y").Otherwise(succeed) }, []string{`case "x" comes after "y"`}},
		"several faults at the same time": {func(b *builder) { b.Stage("a"); b.Stage("b").Establishes("Ready").Do(succeed) }, []string{`stage "a" has neither`, `stage "b" establishes Ready`, "is open"}},
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
	_, err := stages.For[*Settings]("settings").Reconcile(succeed).Build(fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build(), nil)
	assert.ErrorContains(t, err, "lacks events.k8s.io/v1")
	noop := func(context.Context, *stages.Pass[*corev1.ConfigMap]) error { return nil }
	assert.ErrorContains(t, stages.For[*corev1.ConfigMap]("maps", stages.ReportStatus(true)).Reconcile(noop).Validate(),
		"*v1.ConfigMap cannot report status", "built-in kinds are not opted in")
	assert.NoError(t, stages.For[*corev1.ConfigMap]("maps").Reconcile(noop).Validate())
}

func TestRegistrationOrderNeverMatters(t *testing.T) {
	for range 20 {
		var ran []string
		b := stages.For[*Settings]("settings", stages.Events(false))
		for _, i := range rand.Perm(5) {
			stage := b.Stage(stageName(i)).Establishes(conditionName(i)).Do(func(context.Context, pass) error {
				ran = append(ran, stageName(i))
				return nil
			})
			for before := range i {
				stage.After(stageName(before))
			}
		}
		w := newWorld(t)
		_, err := w.pass(w.build(b))
		require.NoError(t, err)
		assert.Equal(t, []string{"stage1", "stage2", "stage3", "stage4", "stage5"}, ran)
	}
}

func TestPartsAreEmbeddedWithoutTheBuilder(t *testing.T) {
	w := newWorld(t)
	var ran []string
	mark := func(name string) handler {
		return func(context.Context, pass) error { ran = append(ran, name); return nil }
	}
	pipeline := stages.Pipeline[*Settings]{Stages: []*stages.Stage[*Settings]{
		{Name: "b", Condition: "B", Dependencies: []string{"a"}, Cases: []stages.Case[*Settings]{
			{Name: "never", When: no, Do: mark("never")},
			{Name: "else", Do: mark("else")},
		}},
		{Name: "a", Condition: "A", Handler: mark("a")},
	}}
	require.NoError(t, pipeline.Validate())
	run, err := pipeline.Compile()
	require.NoError(t, err)
	c := w.plain(func(ctx context.Context, p pass) error {
		ran = append(ran, "before")
		return run(ctx, p)
	})
	_, err = w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, []string{"before", "a", "else"}, ran)
	assert.Equal(t, map[string]string{"A": "True/Succeeded", "B": "True/Succeeded", "Ready": "True/Succeeded"}, w.conditions())
}

func TestMixingStylesIsRefused(t *testing.T) {
	staged, err := stages.Pipeline[*Settings]{Stages: []*stages.Stage[*Settings]{{Name: "a", Condition: "A", Handler: succeed}}}.Compile()
	require.NoError(t, err)
	cased, err := stages.Pipeline[*Settings]{Cases: []stages.Case[*Settings]{{Name: "else", Do: succeed}}}.Compile()
	require.NoError(t, err)
	for name, embedded := range map[string]handler{"stages": staged, "cases": cased} {
		for where, build := range map[string]func(*builder){
			"in a stage":           func(b *builder) { b.Stage("outer").Establishes("Outer").Do(embedded) },
			"in a case of a stage": func(b *builder) { b.Stage("outer").Establishes("Outer").Otherwise(embedded) },
			"in a root case":       func(b *builder) { b.Otherwise(embedded) },
			"after another one": func(b *builder) {
				b.Reconcile(func(ctx context.Context, p pass) error {
					if err := staged(ctx, p); err != nil {
						return err
					}
					return embedded(ctx, p)
				})
			},
		} {
			t.Run(name+" "+where, func(t *testing.T) {
				w := newWorld(t)
				b := stages.For[*Settings]("settings", w.options()...)
				build(b)
				_, err := w.pass(w.build(b))
				assert.ErrorContains(t, err, "cannot embed a pipeline")
				assert.Equal(t, "False/Misuse", w.conditions()["Ready"])
			})
		}
	}
}

// Nesting cases is not a mistake that can be made: a case has no place for cases or stages.
func TestCasesCannotNest(t *testing.T) {
	for field := range reflect.TypeFor[stages.Case[*Settings]]().Fields() {
		name := fmt.Sprint(field.Type)
		assert.False(t, strings.Contains(name, "[]stages.") || strings.Contains(name, "stages.Stage"), "field %s holds %s", field.Name, name)
	}
}
