package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// twin is a fresh agent of a document: what a live agent must come to that has
// been given the same one.
type twin struct {
	once    sync.Once
	outcome outcome
	// reason of Ready at rest.
	reason string
	family family
	// broken is what the twin itself shows to be wrong.
	broken string
	// refusal is the API server's.
	refusal error
	err     error
}

// twin makes the twin of a document, once for each.
func (c *campaign) twin(ctx context.Context, spec any) (*twin, error) {
	found, _ := c.twins.LoadOrStore(text(spec), &twin{})
	t := found.(*twin)
	t.once.Do(func() { t.err = t.live(ctx, c, spec) })
	return t, t.err
}

// live lets the twin come to rest, and remembers how it was then. An error
// means that it could not be tried.
func (t *twin) live(ctx context.Context, c *campaign, spec any) error {
	name := c.name("twin")
	agent, err := c.create(ctx, name, spec, client.DryRunAll)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		t.outcome, t.refusal = bySchema, err
		return nil
	}
	if err := c.provide(ctx, agent); err != nil {
		return err
	}
	if agent, err = c.create(ctx, name, spec); err != nil {
		return fmt.Errorf("make agent %s: %w", name, err)
	}
	broken := t.settle(ctx, c, agent)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if broken != nil {
		t.broken = broken.Error()
	}
	return c.remove(ctx, name)
}

func (t *twin) settle(ctx context.Context, c *campaign, agent *v1alpha1.LoomAgent) error {
	name := agent.Name
	if _, err := c.await(ctx, name, agent.Generation, judged); err != nil {
		return fmt.Errorf("a fresh agent: %w", err)
	}
	restless := c.rest(ctx, name)
	agent, err := c.await(ctx, name, agent.Generation, arrived)
	if err != nil {
		return fmt.Errorf("a fresh agent: %w", err)
	}
	t.outcome, t.reason = outcomeOf(agent), reasonOf(agent)
	if t.reason == v1alpha1.ReasonReconcileError {
		restless = errors.Join(restless, fmt.Errorf("it ends with %s", t.reason))
	}
	if t.family, err = c.family(ctx, agent); err != nil {
		return err
	}
	if restless != nil {
		return fmt.Errorf("a fresh agent: %w", restless)
	}
	return nil
}

// arrived wants an agent to be where it stays: no pod is being waited for.
func arrived(agent *v1alpha1.LoomAgent) error {
	switch reason := reasonOf(agent); reason {
	case v1alpha1.ReasonRolloutInProgress, v1alpha1.ReasonRunning, v1alpha1.ReasonReplacingVariant, v1alpha1.ReasonChildTerminating:
		return fmt.Errorf("it stays at %s", reason)
	}
	return judged(agent)
}

// keeps tells whether the twin is a schedule.
func (t *twin) keeps() bool {
	for name := range t.family {
		if strings.HasPrefix(name, "CronJob/") {
			return true
		}
	}
	return false
}
