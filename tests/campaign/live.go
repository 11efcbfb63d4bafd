package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// mostWrites is how much the operator may write for one change. Replacing one
// variant by another takes the most.
const mostWrites = 60

// life is the live agent of a trial.
type life struct {
	*campaign
	trial
	name       string
	generation int64
	row        row
	// before is the twin of the document that the agent has.
	before *twin
}

// try lets a fresh agent show what becomes of each value, and gives them to a
// live agent in sequences. An error means that it could not be tried.
func (c *campaign) try(ctx context.Context, t trial) (row, error) {
	l := &life{campaign: c, trial: t, name: c.name("live"), row: row{property: t.path.String(), values: len(t.values)}}
	twins, err := l.meetTwins(ctx)
	if err != nil {
		return l.row, err
	}
	if err := l.begin(ctx); err != nil {
		return l.row, fmt.Errorf("%s on %s: %w", t.path, t.variant, err)
	}
	for _, sequence := range t.sequences(twins) {
		l.row.sequences++
		if err := l.walk(ctx, sequence); err != nil {
			return l.row, fmt.Errorf("%s on %s: %w", t.path, t.variant, err)
		}
	}
	if err := l.end(ctx); err != nil {
		return l.row, fmt.Errorf("%s on %s: %w", t.path, t.variant, err)
	}
	return l.row, c.remove(ctx, l.name)
}

// violated notes what is wrong, with the sequence that shows it.
func (l *life) violated(sequence []int, format string, args ...any) {
	var values []string
	for _, i := range sequence {
		value := text(l.values[i])
		if len(value) > 80 {
			value = value[:80] + "..."
		}
		values = append(values, value)
	}
	l.row.violations = append(l.row.violations, fmt.Sprintf("%s on %s (%s), values %s: %s", l.path, l.variant, l.name, strings.Join(values, " then "), fmt.Sprintf(format, args...)))
}

func (l *life) meetTwins(ctx context.Context) ([]*twin, error) {
	var twins []*twin
	for i, document := range l.documents {
		t, err := l.twin(ctx, document)
		if err != nil {
			return nil, fmt.Errorf("%s on %s, value %s: %w", l.path, l.variant, text(l.values[i]), err)
		}
		switch t.outcome {
		case runs:
			l.row.run++
		case refused:
			l.row.refused++
		case childRefused:
			l.row.child++
		case waits:
			l.row.waits++
		case bySchema:
			l.row.schema++
			if err := schemaNames(l.path, t.refusal); err != nil {
				l.violated([]int{i}, "%v", err)
			}
		}
		if t.broken != "" {
			l.violated([]int{i}, "%s", t.broken)
		}
		twins = append(twins, t)
	}
	return twins, nil
}

// begin makes the live agent.
func (l *life) begin(ctx context.Context) error {
	var err error
	if l.before, err = l.twin(ctx, base(l.variant)); err != nil {
		return err
	}
	agent, err := l.create(ctx, l.name, base(l.variant))
	if err != nil {
		return err
	}
	l.generation = agent.Generation
	return l.settle(ctx, nil, l.before)
}

// walk makes one change after the other, and looks after each.
func (l *life) walk(ctx context.Context, sequence []int) error {
	for step, i := range sequence {
		l.row.steps++
		target, err := l.twin(ctx, l.documents[i])
		if err != nil {
			return err
		}
		tried := l.audit.tried(l.name)
		agent, err := l.change(ctx, l.name, l.documents[i])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		path := sequence[:step+1]
		if rejected := apierrors.IsInvalid(err) || apierrors.IsBadRequest(err); rejected != (target.outcome == bySchema) || err != nil && !rejected {
			l.violated(path, "the API server answers %v, and for a fresh agent: %v", err, target.refusal)
			if err != nil {
				continue
			}
		}
		if err != nil {
			if err := l.unchanged(ctx, path); err != nil {
				return err
			}
			continue
		}
		l.generation = agent.Generation
		if err := l.settle(ctx, path, target); err != nil {
			return err
		}
		l.countWrites(path, tried)
	}
	return nil
}

func (l *life) countWrites(sequence []int, before int) {
	writes := int64(l.audit.tried(l.name) - before)
	for most := l.most.Load(); writes > most && !l.most.CompareAndSwap(most, writes); most = l.most.Load() {
	}
	if writes > mostWrites {
		l.violated(sequence, "the operator wrote %d times", writes)
	}
}

// unchanged wants the API server's refusal to have changed nothing.
func (l *life) unchanged(ctx context.Context, sequence []int) error {
	agent := &v1alpha1.LoomAgent{}
	if err := l.cache.Get(ctx, client.ObjectKey{Namespace: l.namespace, Name: l.name}, agent); err != nil {
		return fmt.Errorf("read the agent: %w", err)
	}
	if agent.Generation != l.generation {
		l.violated(sequence, "the generation is %d after a refusal, and was %d", agent.Generation, l.generation)
	}
	return nil
}

// settle waits until the live agent is as its twin.
func (l *life) settle(ctx context.Context, sequence []int, target *twin) error {
	_, err := l.await(ctx, l.name, l.generation, func(agent *v1alpha1.LoomAgent) error { return l.equals(ctx, agent, target, false) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		l.violated(sequence, "%v", err)
	}
	l.before = target
	return nil
}

// equals compares the live agent with its twin. Unless it is to be exact, what
// a former document needed may still be there while something can need it.
func (l *life) equals(ctx context.Context, agent *v1alpha1.LoomAgent, target *twin, exact bool) error {
	if err := judged(agent); err != nil {
		return err
	}
	if outcome := outcomeOf(agent); outcome != target.outcome {
		return fmt.Errorf("the document %s (%s), and on a fresh agent it %s", outcome, reasonOf(agent), target.outcome)
	}
	if target.outcome == childRefused || target.outcome == waits {
		return nil
	}
	if reason := reasonOf(agent); reason != target.reason {
		return fmt.Errorf("its Ready is for %s, and that of a fresh agent for %s", reason, target.reason)
	}
	have, err := l.family(ctx, agent)
	if err != nil {
		return err
	}
	want := target.family
	if !exact {
		have, want = have.inUse(), want.inUse()
		if _, ok := want[policy]; !ok && target.keeps() {
			delete(have, policy)
		}
	}
	if difference := have.differs(want); difference != "" {
		return errors.New(difference)
	}
	return nil
}

// end wants the agent to come to rest, and nothing of an earlier document to
// stay. A schedule keeps what runs that have just begun may need for two
// minutes (controllers/scheduled), which is not waited for.
func (l *life) end(ctx context.Context) error {
	err := l.rest(ctx, l.name)
	if err == nil && !l.before.keeps() {
		_, err = l.await(ctx, l.name, l.generation, func(agent *v1alpha1.LoomAgent) error { return l.equals(ctx, agent, l.before, true) })
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		l.violated(nil, "in the end: %v", err)
	}
	return nil
}
