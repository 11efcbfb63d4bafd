package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// sweep replays lives, each time with one fault at one request.
type sweep struct {
	cluster  *harness.Cluster
	parallel int
	variants []string
	// picks tells which fault is tried at which request.
	picks func(fault, Request) bool
	// stop ends the sweep with the first violation.
	stop bool
	// records keep the lives, and have those that need not be lived again.
	records *records
	// progress gets a line for each violation.
	progress io.Writer
}

// replay is one life with one fault.
type replay struct {
	variant string
	fault   fault
	request Request
}

// run records each life without a fault, then replays it with every fault at
// every request. A replay goes on for one step after the one of the fault, and
// is then deleted. It returns the lives, recordings first.
func (s sweep) run(ctx context.Context) ([]record, error) {
	slots := &slots{cluster: s.cluster, parallel: s.parallel}
	recordings, recorded := make([][]Request, len(s.variants)), make([]record, len(s.variants))
	if err := slots.each(ctx, len(recordings), func(ctx context.Context, i int, namespace string) (bool, error) {
		r := replay{variant: s.variants[i], fault: fault{name: "none", replicas: 1}}
		recordings[i], recorded[i] = s.live(ctx, r, fmt.Sprintf("recorded-%d", i), namespace)
		return len(recorded[i].Violations) == 0, ctx.Err()
	}); err != nil {
		return nil, err
	}
	replays := s.replays(recordings)
	fmt.Fprintf(s.progress, "%d lives to replay\n", len(replays))
	lives, broken, lived := make([]record, len(replays)), atomic.Bool{}, atomic.Int64{}
	broken.Store(total(summarize(recorded)).violations > 0)
	// Lives that wait and lives that work go on side by side.
	order := rand.New(rand.NewPCG(1, 0)).Perm(len(replays))
	err := slots.each(ctx, len(replays), func(ctx context.Context, i int, namespace string) (bool, error) {
		i = order[i]
		r := replays[i]
		if s.stop && broken.Load() {
			return true, nil
		}
		var err error
		lives[i], err = s.records.once(ctx, fmt.Sprintf("sweep: %s, %s, %s", r.variant, r.fault.name, r.request), func() record {
			_, one := s.live(ctx, r, fmt.Sprintf("replay-%d", i), namespace)
			return one
		})
		if n := lived.Add(1); n%100 == 0 {
			fmt.Fprintf(s.progress, "%d lived\n", n)
		}
		clean := len(lives[i].Violations) == 0
		if !clean {
			broken.Store(true)
		}
		return clean, err
	})
	return append(recorded, lives...), errors.Join(err, slots.close(ctx))
}

// replays lists every fault at every request that a recording has.
func (s sweep) replays(recordings [][]Request) []replay {
	var all []replay
	for _, fault := range faults() {
		for i, requests := range recordings {
			for _, request := range requests {
				if i > 0 && request.Step == "start" {
					continue // The operator starts in the same way for every life.
				}
				if fault.meets(request) && s.picks(fault, request) {
					all = append(all, replay{variant: s.variants[i], fault: fault, request: request})
				}
			}
		}
	}
	return all
}

// live lives one replay, and returns its requests too.
func (s sweep) live(ctx context.Context, r replay, name, namespace string) ([]Request, record) {
	began := time.Now()
	met := atomic.Bool{}
	steps := variants()[r.variant]
	if r.fault.do != nil {
		steps = upTo(steps, r.request.Step)
	}
	lived, err := live(ctx, plan{
		cluster: s.cluster, namespace: namespace, name: name, replicas: r.fault.replicas, steps: steps,
		disturb: func(l *life, x *exchange) bool {
			if r.fault.do == nil || x.Request != r.request || met.Swap(true) {
				return false
			}
			l.note("%s at %s", r.fault.name, r.request)
			l.failed(r.fault.do(ctx, l, x))
			return true
		},
	})
	if met.Load() && r.fault.reason != "" && !slices.Contains(lived.reasons, r.fault.reason) {
		lived.violations = append(lived.violations, fmt.Sprintf("Ready was %s, never %s", strings.Join(lived.reasons, ", "), r.fault.reason))
	}
	one := recordOf(lived, err)
	one.Key, one.Life, one.Fault, one.At = name, r.variant, r.fault.name, r.request.String()
	if ctx.Err() == nil {
		for _, violation := range one.Violations {
			fmt.Fprintf(s.progress, "%s, %s, %s (%s): %s\n", one.Life, one.Fault, one.At, time.Since(began).Round(time.Second), strings.TrimSpace(violation))
		}
	}
	return lived.requests, one
}
