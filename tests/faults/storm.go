package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

const (
	// oneIn requests of a step goes wrong, and one in mishapIn steps.
	oneIn    = 8
	mishapIn = 2
	rareIn   = 30
	// often is how often the same request of a step can go wrong.
	often = 3
	// stormy is how long after its beginning a step is disturbed.
	stormy = 15 * time.Second
)

// clocks are what the operator's clock shows, and the change of its source that
// makes it so.
func clocks() map[string]change {
	const file, now = "pkg/stages/controller.go", "now: c.config.clock.Now()"
	return map[string]change{
		"right":              {},
		"two minutes ahead":  {file, now, now + ".Add(2 * time.Minute)"},
		"two minutes behind": {file, now, now + ".Add(-2 * time.Minute)"},
	}
}

// weather is what goes wrong in one life. It follows from the seed alone.
type weather struct {
	seed     uint64
	variant  string
	clock    string
	replicas int
	// ttl lets Kubernetes remove finished Jobs.
	ttl bool
	// mishaps by step.
	mishaps map[string]mishap
	delays  map[string]time.Duration
}

// forecast draws the weather of a seed.
func forecast(seed uint64) weather {
	random := rand.New(rand.NewPCG(seed, 0))
	w := weather{
		seed: seed, replicas: 1, mishaps: map[string]mishap{}, delays: map[string]time.Duration{},
		variant: pick(random, slices.Sorted(maps.Keys(variants()))),
		clock:   pick(random, slices.Sorted(maps.Keys(clocks()))),
		ttl:     random.IntN(3) == 0,
	}
	if random.IntN(8) == 0 {
		w.replicas = 2
	}
	for _, s := range variants()[w.variant] {
		m, delay := pick(random, mishaps()), time.Duration(random.Int64N(int64(gap)))
		chance := mishapIn
		if m.rare {
			chance = rareIn
		}
		if random.IntN(chance) == 0 && m.happens(s) {
			w.mishaps[s.name], w.delays[s.name] = m, delay
		}
	}
	return w
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// fault is what goes wrong at a request; false is nothing. It does not depend
// on the order in which requests come.
func (w weather) fault(r Request) (fault, bool) {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, r.String()) // A hash takes everything.
	random := rand.New(rand.NewPCG(w.seed, hash.Sum64()))
	if random.IntN(oneIn) != 0 || r.N > often {
		return fault{}, false
	}
	possible := slices.DeleteFunc(faults(), func(f fault) bool {
		// Two replicas are for the one fault that needs both of them alive.
		return !f.meets(r) || f.replicas > w.replicas || w.replicas > 1 && strings.Contains(f.name, "killed")
	})
	return pick(random, possible), true
}

func (w weather) String() string {
	text := fmt.Sprintf("seed %d: %s, clock %s, %d replica(s), ttl %t", w.seed, w.variant, w.clock, w.replicas, w.ttl)
	for _, name := range slices.Sorted(maps.Keys(w.mishaps)) {
		text += fmt.Sprintf(", %s in %q", w.mishaps[name].name, name)
	}
	return text
}

// storm lives lives in the weather of seeds.
type storm struct {
	cluster  *harness.Cluster
	parallel int
	first    uint64
	seeds    int
	// binaries of the operator, by clock (build).
	binaries map[string]string
	progress io.Writer
}

// build builds an operator for each clock.
func (s *storm) build(ctx context.Context, dir string) error {
	s.binaries = map[string]string{}
	for name, change := range clocks() {
		s.binaries[name] = s.cluster.OperatorBinary
		if change.file == "" {
			continue
		}
		binary, err := build(ctx, dir, strings.ReplaceAll(name, " ", "-"), change)
		if err != nil {
			return err
		}
		s.binaries[name] = binary
	}
	return nil
}

// run returns a replay for each seed, with its weather in place of the fault.
func (s storm) run(ctx context.Context) ([]replay, error) {
	slots := &slots{cluster: s.cluster, parallel: s.parallel}
	lives := make([]replay, s.seeds)
	lived := atomic.Int64{}
	err := slots.each(ctx, len(lives), func(ctx context.Context, i int, namespace string) (bool, error) {
		defer func() {
			if n := lived.Add(1); n%50 == 0 {
				fmt.Fprintf(s.progress, "%d lived\n", n)
			}
		}()
		w := forecast(s.first + uint64(i))
		lives[i] = replay{variant: w.variant, fault: fault{name: "storm, clock " + w.clock}}
		err := s.live(ctx, &lives[i], w, namespace)
		for _, violation := range lives[i].violations {
			fmt.Fprintf(s.progress, "%s: %s\nfaults: %s\n", w, strings.TrimSpace(violation), strings.Join(lives[i].injected, "; "))
		}
		return len(lives[i].violations) == 0, err
	})
	if err != nil {
		return nil, err
	}
	return lives, slots.close(ctx)
}

func (s storm) live(ctx context.Context, r *replay, w weather, namespace string) (err error) {
	cluster := *s.cluster
	cluster.OperatorBinary = s.binaries[w.clock]
	frozen := atomic.Bool{}
	p := plan{
		cluster: &cluster, namespace: namespace, name: fmt.Sprintf("seed-%d", w.seed), replicas: w.replicas, steps: variants()[w.variant], calm: stormy,
		disturb: func(l *life, x *exchange) bool {
			f, ok := w.fault(x.Request)
			if !ok || l.since() > stormy || f.replicas > 1 && frozen.Swap(true) {
				return false
			}
			l.note("%s at %s", f.name, x.Request)
			if err := f.do(ctx, l, x); !shaken() { // Else the API server was away.
				l.failed(err)
			}
			return true
		},
		mishap: func(ctx context.Context, l *life, s step) error {
			m, ok := w.mishaps[s.name]
			if !ok {
				return nil
			}
			l.note("%s in %q", m.name, s.name)
			return m.after(ctx, l, s, w.delays[s.name])
		},
	}
	if w.ttl {
		p.adjust = func(spec *v1alpha1.LoomAgentSpec) {
			if spec.Command != nil && spec.Schedule == nil {
				spec.Run = &v1alpha1.RunSettings{TTLSecondsAfterFinished: new(int32(0))}
			}
		}
	}
	r.result, err = live(ctx, p)
	return err
}
