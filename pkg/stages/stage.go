package stages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Handler does the work of a stage, a case or a whole controller. It must be idempotent: it runs on every pass,
// after success and after a restart too. It returns nil for success, one of the outcomes [Wait], [Stop], [Fail] and
// [Terminal], or any other error, which is a failure that is retried.
type Handler[T client.Object] func(ctx context.Context, pass *Pass[T]) error

// Predicate decides whether a case applies. It must have no side effects.
type Predicate[T client.Object] func(obj T, pass *Pass[T]) bool

// Stage is one step of a controller and the condition that it establishes, which is also its name. It can be written as
// a literal or through its methods.
type Stage[T client.Object] struct {
	// Condition is the condition type that the stage establishes. A stage without one is the whole controller, and
	// reports through Ready.
	Condition string
	// Dependencies names the stages that must have succeeded earlier in the same pass.
	Dependencies []string
	// Handler is the work, unless Cases is set.
	Handler Handler[T]
	// Cases are alternatives of which exactly one runs. They create no conditions of their own.
	Cases []Case[T]
}

// After names the stages that this stage depends on.
func (s *Stage[T]) After(conditions ...string) *Stage[T] {
	s.Dependencies = append(s.Dependencies, conditions...)
	return s
}

// Do gives the stage its handler.
func (s *Stage[T]) Do(handler Handler[T]) *Stage[T] {
	s.Handler = handler
	return s
}

// Case adds an alternative, tried after the named ones.
func (s *Stage[T]) Case(name string, when Predicate[T], do Handler[T], after ...string) *Stage[T] {
	s.Cases = append(s.Cases, Case[T]{Name: name, When: when, Do: do, After: after})
	return s
}

// Otherwise adds the alternative that runs when no case applies. Every set of cases needs one.
func (s *Stage[T]) Otherwise(do Handler[T]) *Stage[T] { return s.Case("otherwise", nil, do) }

// Case is one alternative of a stage or of a controller. It holds a handler only, so neither cases nor stages can be
// nested in it.
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

func (s *Stage[T]) String() string {
	switch {
	case s.Condition != "":
		return fmt.Sprintf("stage %q", s.Condition)
	case len(s.Cases) > 0:
		return fmt.Sprintf("root cases from %q", s.Cases[0].Name)
	}
	return "a reconcile handler"
}

// compile validates the stages and returns them in their order, each with one handler.
func compile[T client.Object](stages []*Stage[T]) ([]*Stage[T], error) {
	var errs []error
	var found []string
	var compiled []*Stage[T]
	root := len(stages) == 0
	for i, s := range stages {
		if s == nil {
			return nil, fmt.Errorf("stage %d of %d is nil", i+1, len(stages))
		}
		handler, err := s.compile()
		errs = append(errs, err)
		found = append(found, s.String())
		compiled = append(compiled, &Stage[T]{Condition: s.Condition, Dependencies: s.Dependencies, Handler: handler})
		if root = root || s.Condition == ""; s.Condition == "" {
			continue
		}
		if problems := validation.IsQualifiedName(s.Condition); len(problems) > 0 || s.Condition == Ready {
			errs = append(errs, fmt.Errorf("%s must be a condition type other than %s, which is reserved. %s", s, Ready, strings.Join(problems, "; ")))
		}
	}
	switch {
	case root && len(stages) != 1:
		errs = append(errs, fmt.Errorf("exactly one entry point is needed (a reconcile handler, stages or root cases), found %q", found))
	case !root:
		sorted, err := inOrder("stage", compiled, func(s *Stage[T]) (string, []string) { return s.Condition, s.Dependencies })
		compiled, errs = sorted, append(errs, err)
	}
	return compiled, errors.Join(errs...)
}

// compile makes one handler of a handler or of cases.
func (s *Stage[T]) compile() (Handler[T], error) {
	switch {
	case s.Handler != nil && len(s.Cases) > 0:
		return nil, fmt.Errorf("%s has both a handler and cases", s)
	case s.Condition == "" && len(s.Dependencies) > 0:
		return nil, fmt.Errorf("%s is the whole controller, so it cannot come after %q", s, s.Dependencies)
	case s.Handler != nil:
		return s.Handler, nil
	}
	var errs []error
	var conditional []string
	for _, c := range s.Cases {
		if c.Do == nil {
			errs = append(errs, fmt.Errorf("case %q has no handler", c.Name))
		}
		if c.When != nil {
			conditional = append(conditional, c.Name)
		}
	}
	if otherwise := len(s.Cases) - len(conditional); otherwise != 1 {
		errs = append(errs, fmt.Errorf("a handler is needed, or cases with exactly one otherwise, found %d", otherwise))
	}
	branches, err := inOrder("case", s.Cases, func(c Case[T]) (string, []string) {
		if c.When == nil {
			return c.Name, slices.Concat(conditional, c.After)
		}
		return c.Name, c.After
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	return func(ctx context.Context, pass *Pass[T]) error {
		chosen := slices.IndexFunc(branches, func(c Case[T]) bool { return c.When == nil || c.When(pass.Object(), pass) })
		return branches[chosen].Do(ctx, pass)
	}, nil
}

// inOrder sorts the parts so that each comes after those it names. It refuses every graph that allows more than one
// order, so that the order of registration never matters.
func inOrder[P any](kind string, parts []P, describe func(P) (name string, after []string)) (order []P, err error) {
	placed := map[string]bool{}
	for _, part := range parts {
		name, _ := describe(part)
		if _, twice := placed[name]; twice || name == "" {
			return nil, fmt.Errorf("the %s name %q is empty or used twice", kind, name)
		}
		placed[name] = false
	}
	for range parts {
		var next P
		var ready, stuck []string
		for _, part := range parts {
			name, after := describe(part)
			missing := slices.DeleteFunc(slices.Clone(after), func(earlier string) bool { return placed[earlier] })
			switch {
			case len(missing) > 0:
				stuck = append(stuck, fmt.Sprintf("%q after %q", name, missing))
			case !placed[name]:
				ready, next = append(ready, name), part
			}
		}
		switch slices.Sort(ready); {
		case len(ready) > 1:
			return nil, fmt.Errorf("the order of the %ss %q is open: say which one comes after the other", kind, ready)
		case len(ready) == 0:
			return nil, fmt.Errorf("the order of the %ss has a cycle or a name that does not exist: %s", kind, strings.Join(stuck, ", "))
		}
		placed[ready[0]], order = true, append(order, next)
	}
	return order, nil
}
