package stages

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Handler does the work of a stage, a case or a whole controller. It must be idempotent: it runs on every pass,
// after success and after a restart too. It returns nil for success, one of the outcomes [Wait], [Stop], [Fail] and
// [Terminal], or any other error, which is a failure that is retried.
type Handler[T client.Object] func(ctx context.Context, pass *Pass[T]) error

// Predicate decides whether a case applies. It must have no side effects.
type Predicate[T client.Object] func(obj T, pass *Pass[T]) bool

// Case is one alternative of a stage or of a controller. Cases cannot be nested: a case holds a handler only, so the
// compiler refuses a case within a case.
type Case[T client.Object] struct {
	// Name identifies the case in After and in errors; it is unique among its siblings.
	Name string
	// When selects the case. Nil makes it the otherwise, which runs when no other case applies.
	When Predicate[T]
	// After names the cases that are tried before this one.
	After []string
	// Do is the work.
	Do Handler[T]
}

// Stage is one step of a pipeline and the condition that it establishes. It has either a handler or cases. It can be
// written as a literal or through its methods.
type Stage[T client.Object] struct {
	// Name identifies the stage in Dependencies, in errors and in messages.
	Name string
	// Condition is the condition type that the stage establishes.
	Condition string
	// Dependencies names the stages that must have succeeded earlier in the same pass.
	Dependencies []string
	// Handler is the work, unless Cases is set.
	Handler Handler[T]
	// Cases are alternatives of which exactly one runs. They create no conditions of their own.
	Cases []Case[T]

	doubled bool
}

// Establishes names the condition type that the stage establishes.
func (s *Stage[T]) Establishes(conditionType string) *Stage[T] {
	s.Condition = conditionType
	return s
}

// After names the stages that this stage depends on.
func (s *Stage[T]) After(stages ...string) *Stage[T] {
	s.Dependencies = append(s.Dependencies, stages...)
	return s
}

// Do gives the stage its handler.
func (s *Stage[T]) Do(handler Handler[T]) *Stage[T] {
	s.doubled = s.doubled || s.Handler != nil
	s.Handler = handler
	return s
}

// Case adds an alternative, tried after the named ones.
func (s *Stage[T]) Case(name string, when Predicate[T], do Handler[T], after ...string) *Stage[T] {
	s.Cases = append(s.Cases, Case[T]{Name: name, When: when, Do: do, After: after})
	return s
}

// Otherwise adds the alternative that runs when no case applies. Every set of cases needs one.
func (s *Stage[T]) Otherwise(do Handler[T]) *Stage[T] {
	s.Cases = append(s.Cases, Case[T]{Name: otherwise, Do: do})
	return s
}

// otherwise is the name that Otherwise gives to its case.
const otherwise = "otherwise"

// Pipeline is the work of one controller as plain data: exactly one of Handler, Stages and Cases is set.
type Pipeline[T client.Object] struct {
	Handler Handler[T]
	Stages  []*Stage[T]
	Cases   []Case[T]
}

// Validate reports everything that makes the pipeline unusable, naming the culprits. It needs no cluster.
func (p Pipeline[T]) Validate() error {
	_, err := p.Compile()
	return err
}

// Compile validates the pipeline and returns a handler that runs it. This is how stages and cases are embedded
// without the builder: call the handler from a plain [Builder.Reconcile] handler, and the pass reports the stages'
// conditions. A stage or a case cannot embed a pipeline.
func (p Pipeline[T]) Compile() (Handler[T], error) {
	entries := 0
	for _, set := range []bool{p.Handler != nil, len(p.Stages) > 0, len(p.Cases) > 0} {
		if set {
			entries++
		}
	}
	if entries != 1 {
		return nil, fmt.Errorf("a controller has exactly one entry point (a reconcile handler, stages or root cases), but %d are set", entries)
	}
	switch {
	case p.Handler != nil:
		return p.Handler, nil
	case len(p.Cases) > 0:
		run, err := compileCases("the controller", p.Cases)
		return func(ctx context.Context, pass *Pass[T]) error {
			if err := pass.enter(nil); err != nil {
				return err
			}
			return run(ctx, pass)
		}, err
	default:
		return compileStages(p.Stages)
	}
}

// step is a validated stage.
type step[T client.Object] struct {
	name, condition string
	run             Handler[T]
}

func compileStages[T client.Object](stages []*Stage[T]) (Handler[T], error) {
	steps, err := checkStages(stages)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, pass *Pass[T]) error {
		if err := pass.enter(steps); err != nil {
			return err
		}
		for i := range steps {
			pass.active = &steps[i]
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := steps[i].run(ctx, pass); err != nil {
				return err
			}
			pass.advance()
		}
		return nil
	}, nil
}

func compileCases[T client.Object](owner string, cases []Case[T]) (Handler[T], error) {
	branches, fallback, err := checkCases(owner, cases)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, pass *Pass[T]) error {
		i := slices.IndexFunc(branches, func(c Case[T]) bool { return c.When(pass.Object(), pass) })
		if i < 0 {
			return fallback(ctx, pass)
		}
		return branches[i].Do(ctx, pass)
	}, nil
}
