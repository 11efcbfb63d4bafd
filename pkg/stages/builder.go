package stages

import (
	"errors"
	"fmt"
	"reflect"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Builder collects the parts of a controller. Nothing is checked until Validate or Build.
type Builder[T client.Object] struct {
	name      string
	options   []Option
	pipeline  Pipeline[T]
	summarize func(*Pass[T], Outcome)
	doubled   bool
}

// For starts a controller of the given name for objects of type T, such as *v1.Settings. The name must be valid in
// Events and as a field manager, so keep to a DNS name.
func For[T client.Object](name string, options ...Option) *Builder[T] {
	return &Builder[T]{name: name, options: options}
}

// Reconcile makes one handler the whole controller.
func (b *Builder[T]) Reconcile(handler Handler[T]) *Builder[T] {
	b.doubled = b.doubled || b.pipeline.Handler != nil
	b.pipeline.Handler = handler
	return b
}

// Stage adds a stage and returns it, to be described further.
func (b *Builder[T]) Stage(name string) *Stage[T] {
	stage := &Stage[T]{Name: name}
	b.pipeline.Stages = append(b.pipeline.Stages, stage)
	return stage
}

// Case adds a root case, tried after the named ones.
func (b *Builder[T]) Case(name string, when Predicate[T], do Handler[T], after ...string) *Builder[T] {
	b.pipeline.Cases = append(b.pipeline.Cases, Case[T]{Name: name, When: when, Do: do, After: after})
	return b
}

// Otherwise adds the root case that runs when no other applies.
func (b *Builder[T]) Otherwise(do Handler[T]) *Builder[T] {
	b.pipeline.Cases = append(b.pipeline.Cases, Case[T]{Name: otherwise, Do: do})
	return b
}

// Summarize registers a function that is called once in every pass, after the stages ran and their conditions are
// staged, and before the status is written. It may set the status and further conditions.
func (b *Builder[T]) Summarize(f func(pass *Pass[T], outcome Outcome)) *Builder[T] {
	b.summarize = f
	return b
}

// Validate reports everything that is wrong with the controller, without a cluster.
func (b *Builder[T]) Validate() error {
	_, err := b.Build(nil, nil)
	return err
}

// Build validates the controller and returns it. Writes and ordinary reads go to c, which usually reads from a cache;
// [Pass.Get] reads from live, the manager's API reader.
func (b *Builder[T]) Build(c client.Client, live client.Reader) (*Controller[T], error) {
	cfg := defaults(b.name)
	for _, option := range b.options {
		option(&cfg)
	}
	run, err := b.pipeline.Compile()
	err = errors.Join(err, b.check(cfg))
	if c != nil && cfg.events && !c.Scheme().IsGroupRegistered(eventsv1.GroupName) {
		err = errors.Join(err, errors.New("the client's scheme lacks events.k8s.io/v1: add it, or switch Events off"))
	}
	if err != nil {
		return nil, fmt.Errorf("controller %q: %w", b.name, err)
	}
	if cfg.children == nil {
		cfg.children = c
	}
	return newController(b.name, cfg, run, b.summarize, c, live), nil
}

func (b *Builder[T]) check(cfg config) error {
	var errs []error
	if b.name == "" {
		errs = append(errs, errors.New("the controller needs a name"))
	}
	if b.doubled {
		errs = append(errs, errors.New("Reconcile is called twice"))
	}
	if cfg.every < 0 || min(cfg.timeout, cfg.eventBudget, cfg.eventTimeout) <= 0 {
		errs = append(errs, errors.New("the options Every, Timeout and EventBudget need positive durations"))
	}
	typ := reflect.TypeFor[T]()
	reports := typ.Implements(reflect.TypeFor[Reporter]())
	if cfg.report != nil && *cfg.report && !reports {
		errs = append(errs, fmt.Errorf("%v cannot report status: it does not implement stages.Reporter", typ))
	}
	if _, ok := statusField(typ); reports && !ok {
		errs = append(errs, fmt.Errorf(`%v cannot report status: it has no field with the JSON name "status"`, typ))
	}
	return errors.Join(errs...)
}
