package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beyond10x/loom-operator/tests/harness"
)

const (
	// oneIn requests of a step goes wrong.
	oneIn = 8
	// often is how often the same request of a step can go wrong.
	often = 3
	// stormy is how long after its beginning a step is disturbed.
	stormy = 15 * time.Second
)

// clocks are what the operator's clock shows, and the change of its source that
// makes it so, if it takes one.
func clocks() map[string]change {
	const file, now = "pkg/stages/pass.go", "now: c.clock.Now()"
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
	// expires lets Kubernetes remove finished Jobs.
	expires bool
	// mishaps by step.
	mishaps map[string]mishap
	delays  map[string]time.Duration
}

// forecast draws the weather of a seed, with some of the mishaps.
func forecast(seed uint64, mishaps []mishap) weather {
	random := rand.New(rand.NewPCG(seed, 0))
	w := weather{
		seed: seed, replicas: 1, mishaps: map[string]mishap{}, delays: map[string]time.Duration{},
		variant: pick(random, slices.Sorted(maps.Keys(variants()))),
		clock:   pick(random, slices.Sorted(maps.Keys(clocks()))),
		expires: random.IntN(3) == 0,
	}
	if random.IntN(8) == 0 {
		w.replicas = 2
	}
	for _, s := range variants()[w.variant] {
		m, delay := pick(random, mishaps), time.Duration(random.Int64N(int64(gap)))
		if random.IntN(m.oneIn) == 0 && m.happens(s) {
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
	text := fmt.Sprintf("seed %d: %s, clock %s, %d replica(s), ttl %t", w.seed, w.variant, w.clock, w.replicas, w.expires)
	for _, name := range slices.Sorted(maps.Keys(w.mishaps)) {
		text += fmt.Sprintf(", %s in %q", w.mishaps[name].name, name)
	}
	return text
}

// storm lives lives in the weather of seeds.
type storm struct {
	cluster  *harness.Cluster
	parallel int
	// seeds to live in.
	seeds []uint64
	// node that runs the pods; nil is none.
	node *node
	// binaries of the operator, by clock (build).
	binaries map[string]string
	records  *records
	progress io.Writer
}

// from lists so many seeds.
func from(first uint64, seeds int) []uint64 {
	all := make([]uint64, seeds)
	for i := range all {
		all[i] = first + uint64(i)
	}
	return all
}

func (s storm) forecast(seed uint64) weather {
	if s.node != nil {
		return forecast(seed, nodeMishaps())
	}
	return forecast(seed, mishaps())
}

func (s storm) name() string {
	if s.node != nil {
		return "storm on a node"
	}
	return "storm"
}

// build builds an operator for each clock that a seed asks for.
func (s *storm) build(ctx context.Context, dir string) (err error) {
	s.binaries = map[string]string{"right": s.cluster.OperatorBinary}
	for _, seed := range s.seeds {
		clock := s.forecast(seed).clock
		if s.binaries[clock] != "" {
			continue
		}
		if s.binaries[clock], err = build(ctx, dir, strings.ReplaceAll(clock, " ", "-"), clocks()[clock]); err != nil {
			return err
		}
	}
	return nil
}

// run lives a life for each seed.
func (s storm) run(ctx context.Context) ([]record, error) {
	slots := &slots{cluster: s.cluster, parallel: s.parallel}
	lives := make([]record, len(s.seeds))
	lived := atomic.Int64{}
	err := slots.each(ctx, len(lives), func(ctx context.Context, i int, namespace string) (bool, error) {
		var err error
		lives[i], err = s.records.once(ctx, fmt.Sprintf("%s: seed %d", s.name(), s.seeds[i]), func() record {
			return s.live(ctx, s.forecast(s.seeds[i]), namespace)
		})
		if n := lived.Add(1); n%50 == 0 {
			fmt.Fprintf(s.progress, "%d lived\n", n)
		}
		return len(lives[i].Violations) == 0, err
	})
	return lives, errors.Join(err, slots.close(ctx))
}

func (s storm) live(ctx context.Context, w weather, namespace string) record {
	cluster := *s.cluster
	cluster.OperatorBinary = s.binaries[w.clock]
	frozen := atomic.Bool{}
	lived, err := live(ctx, plan{
		cluster: &cluster, namespace: namespace, name: fmt.Sprintf("seed-%d", w.seed), replicas: w.replicas,
		steps: variants()[w.variant], calm: stormy, expires: w.expires, node: s.node,
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
	})
	one := recordOf(lived, err)
	one.Life, one.Fault, one.At = w.variant, s.name()+", clock "+w.clock, w.String()
	if ctx.Err() == nil {
		for _, violation := range one.Violations {
			fmt.Fprintf(s.progress, "%s: %s\nfaults: %s\n", w, strings.TrimSpace(violation), strings.Join(lived.injected, "; "))
		}
	}
	return one
}
