package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// gap is how long a fault that lasts goes on.
const gap = 2 * time.Second

// fault is one way in which one request goes wrong.
type fault struct {
	name string
	// meets tells which requests it can happen to.
	meets func(Request) bool
	// replicas that it needs.
	replicas int
	// reason that Ready has to have meanwhile; empty is any.
	reason string
	do     func(ctx context.Context, l *life, x *exchange) error
}

func always(Request) bool        { return true }
func unlessWatch(r Request) bool { return r.Verb != "watch" }
func onlyWrite(r Request) bool   { return r.Write() }
func createOfJob(r Request) bool { return r.Verb == "create" && r.Resource == "jobs" }
func readOfJob(r Request) bool   { return r.Verb == "get" && r.Resource == "jobs" }

func alone(name string, meets func(Request) bool, do func(context.Context, *life, *exchange) error) fault {
	return fault{name: name, meets: meets, replicas: 1, do: do}
}

// faults lists them, the harmless ones first.
func faults() []fault {
	all := []fault{
		alone("connection reset before the effect", always, func(_ context.Context, _ *life, x *exchange) error {
			x.reset()
			return nil
		}),
	}
	for _, code := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		all = append(all, alone(fmt.Sprintf("%d before the effect", code), always, answers(code)))
	}
	return append(all,
		alone("409 before the effect", onlyWrite, answers(http.StatusConflict)),
		alone("answer lost after the effect", onlyWrite, func(_ context.Context, _ *life, x *exchange) error {
			err := x.take()
			x.reset()
			return err
		}),
		alone("504 after the effect", onlyWrite, func(_ context.Context, _ *life, x *exchange) error {
			err := x.take()
			x.answer(http.StatusGatewayTimeout)
			return err
		}),
		alone("delayed by 2 seconds", unlessWatch, func(ctx context.Context, _ *life, x *exchange) error {
			pause(ctx, gap)
			x.forward()
			return nil
		}),
		alone("killed before the effect", always, killed(nothing)),
		alone("killed after the effect", onlyWrite, killed(effect)),
		alone("watches cut, then listed anew", always, func(_ context.Context, l *life, x *exchange) error {
			l.proxy.view.cut(gap)
			x.forward()
			return nil
		}),
		alone("restarted with the view before this write", onlyWrite, restartedInto(func(ctx context.Context, l *life) (string, error) { return l.now(ctx) })),
		alone("restarted with the view before this step", onlyWrite, restartedInto(func(_ context.Context, l *life) (string, error) { return l.before(), nil })),
		alone("killed, and the Job ends and vanishes unseen", onlyWrite, killed(func(ctx context.Context, l *life, x *exchange) error { return errors.Join(x.take(), vanish(ctx, l)) })),
		alone("watches cut, and the Job ends and vanishes unseen", onlyWrite, func(ctx context.Context, l *life, x *exchange) error {
			l.proxy.view.cut(2 * gap)
			x.forward()
			return vanish(ctx, l)
		}),
		fault{name: "refused, and the read of the outcome too", meets: createOfJob, replicas: 1, reason: v1alpha1.ReasonCreateOutcomeUnknown, do: blind},
		fault{name: "frozen past its lease, and late", meets: onlyWrite, replicas: 2, do: frozen},
	)
}

func answers(code int) func(context.Context, *life, *exchange) error {
	return func(_ context.Context, _ *life, x *exchange) error {
		x.answer(code)
		return nil
	}
}

// killed kills the replica that sent the request; while it is down, something
// happens.
func killed(meanwhile func(context.Context, *life, *exchange) error) func(context.Context, *life, *exchange) error {
	return func(ctx context.Context, l *life, x *exchange) error {
		replica, err := l.replica(x.replica)
		if err != nil {
			x.reset() // It is just being started, and nobody has taken note of it yet.
			return nil
		}
		err = replica.crash(func() error { return meanwhile(ctx, l, x) })
		x.reset()
		return err
	}
}

func nothing(context.Context, *life, *exchange) error      { return nil }
func effect(_ context.Context, _ *life, x *exchange) error { return x.take() }

// vanish lets every Job that may run by now end and be removed, before anybody
// of the operator looks again.
func vanish(ctx context.Context, l *life) error {
	l.lose()
	pause(ctx, gap)
	return l.removeJobs(ctx)
}

// removeJobs deletes the Jobs of the namespace as a person does, and waits
// until they are gone.
func (l *life) removeJobs(ctx context.Context) error {
	return await(ctx, converges, func(ctx context.Context) error {
		jobs := &batchv1.JobList{}
		if err := l.cluster.Client.List(ctx, jobs, client.InNamespace(l.namespace)); err != nil || len(jobs.Items) == 0 {
			return err
		}
		l.lose() // The life may have gone on to another step meanwhile.
		err := l.cluster.Client.DeleteAllOf(ctx, &batchv1.Job{}, client.InNamespace(l.namespace), client.PropagationPolicy(metav1.DeletePropagationBackground))
		return errors.Join(err, errors.New("there are Jobs left"))
	})
}

// restartedInto lets the request take effect and restarts the replica into a
// view of the past.
func restartedInto(version func(context.Context, *life) (string, error)) func(context.Context, *life, *exchange) error {
	return func(ctx context.Context, l *life, x *exchange) error {
		past, err := version(ctx, l)
		if err != nil {
			return err
		}
		return killed(func(_ context.Context, l *life, x *exchange) error {
			err := x.take()
			l.proxy.view.rewind(past, gap)
			return err
		})(ctx, l, x)
	}
}

// blind refuses the create of a Job without an answer, and the read that would
// tell what became of it: the status has to say so.
func blind(_ context.Context, l *life, x *exchange) error {
	l.proxy.refuse(readOfJob, gap)
	x.reset()
	return nil
}

// frozen stops the leader with a request on its way, which arrives when
// another leads.
func frozen(ctx context.Context, l *life, x *exchange) error {
	replica, err := l.replica(x.replica)
	if err != nil {
		x.forward()
		return nil
	}
	return replica.freeze(func() error {
		former, err := l.leader(ctx)
		if err != nil {
			return errors.Join(err, x.late())
		}
		changed := await(ctx, converges, func(ctx context.Context) error {
			now, err := l.leader(ctx)
			if err == nil && now == former {
				err = errors.New("no other replica took the lease")
			}
			return err
		})
		pause(ctx, 2*gap) // The new leader works.
		return errors.Join(changed, x.late())
	})
}

func (l *life) leader(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	if err := l.cluster.Client.Get(ctx, client.ObjectKey{Namespace: l.namespace, Name: v1alpha1.FieldOwner}, lease); err != nil {
		return "", fmt.Errorf("read who leads: %w", err)
	}
	if lease.Spec.HolderIdentity == nil {
		return "", nil
	}
	return *lease.Spec.HolderIdentity, nil
}

// before is the resource version before the present step.
func (l *life) before() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.past
}
