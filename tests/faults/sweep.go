package main

import (
	"context"
	"fmt"
	"io"
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
	// progress gets a line for each violation.
	progress io.Writer
}

// replay is one life with one fault.
type replay struct {
	variant string
	fault   fault
	request Request
	result
}

// run records each life without a fault, then replays it with every fault at
// every request. A replay goes on for one step after the one of the fault, and
// is then deleted. It returns the recordings, as replays without a fault, and the
// replays.
func (s sweep) run(ctx context.Context) ([]replay, error) {
	slots := &slots{cluster: s.cluster, parallel: s.parallel}
	recordings := make([]replay, len(s.variants))
	err := slots.each(ctx, len(recordings), func(ctx context.Context, i int, namespace string) (bool, error) {
		recordings[i] = replay{variant: s.variants[i], fault: fault{name: "none", replicas: 1}}
		return s.live(ctx, &recordings[i], fmt.Sprintf("recorded-%d", i), namespace)
	})
	if err != nil {
		return nil, err
	}
	replays := s.replays(recordings)
	fmt.Fprintf(s.progress, "%d lives to replay\n", len(replays))
	broken, lived := atomic.Bool{}, atomic.Int64{}
	err = slots.each(ctx, len(replays), func(ctx context.Context, i int, namespace string) (bool, error) {
		if s.stop && broken.Load() {
			return true, nil
		}
		clean, err := s.live(ctx, &replays[i], fmt.Sprintf("replay-%d", i), namespace)
		if n := lived.Add(1); n%100 == 0 {
			fmt.Fprintf(s.progress, "%d lived\n", n)
		}
		if len(replays[i].violations) > 0 {
			broken.Store(true)
		}
		return clean, err
	})
	if err != nil {
		return nil, err
	}
	return append(recordings, replays...), slots.close(ctx)
}

// replays lists every fault at every request that a recording has.
func (s sweep) replays(recordings []replay) []replay {
	var all []replay
	for _, fault := range faults() {
		for i, recording := range recordings {
			for _, request := range recording.requests {
				if i > 0 && request.Step == "start" {
					continue // The operator starts in the same way for every life.
				}
				if fault.meets(request) && s.picks(fault, request) {
					all = append(all, replay{variant: recording.variant, fault: fault, request: request})
				}
			}
		}
	}
	return all
}

// live lives one replay.
func (s sweep) live(ctx context.Context, r *replay, name, namespace string) (clean bool, err error) {
	began := time.Now()
	met := atomic.Bool{}
	steps := variants()[r.variant]
	if r.fault.do != nil {
		steps = upTo(steps, r.request.Step)
	}
	r.result, err = live(ctx, plan{
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
	if met.Load() && r.fault.reason != "" && !slices.Contains(r.reasons, r.fault.reason) {
		r.violations = append(r.violations, fmt.Sprintf("Ready was %s, never %s", strings.Join(r.reasons, ", "), r.fault.reason))
	}
	for _, violation := range r.violations {
		fmt.Fprintf(s.progress, "%s, %s, %s (%s): %s\n", r.variant, r.fault.name, r.request, time.Since(began).Round(time.Second), strings.TrimSpace(violation))
	}
	return len(r.violations) == 0, err
}
