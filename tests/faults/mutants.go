package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// mutant is a mistake in the operator that the sweep has to notice.
type mutant struct {
	name   string
	change change
	// fault is the one of the sweep that is tried.
	fault string
}

func mutants() []mutant {
	const guard, command = "internal/guard/step.go", "controllers/command/guard.go"
	return []mutant{
		{"create without the marker", change{command, "metav1.SetMetaDataAnnotation(&agent.ObjectMeta, v1alpha1.CreatePendingAnnotation, mark.String())", "_ = mark"}, "killed before the effect"},
		{"create not suspended", change{"internal/workload/run.go", "job.Spec.Suspend = new(true)", "job.Spec.Suspend = new(false)"}, "vanishes unseen"},
		{"resume before the UID is recorded", change{
			command, "case guard.Created:\n", "case guard.Created:\n\t\tif err := c.resume(ctx, agent, job); err != nil {\n\t\t\treturn err\n\t\t}\n",
		}, "vanishes unseen"},
		{"marker ignored after a restart", change{
			"internal/guard/mark.go", "return mark, ok && mark.UID == agent.UID && mark.Generation == agent.Generation", "return mark, false && ok",
		}, "killed before the effect"},
		{"bare Creating instead of CreateOutcomeUnknown", change{
			command, "stages.Fail(v1alpha1.ReasonCreateOutcomeUnknown,", `stages.Fail("Creating",`,
		}, "the read of the outcome too"},
		{"cached instead of live read", change{command, "get(ctx, c.Live,", "get(ctx, c.Client,"}, "killed before the effect"},
		{"create again after RunLost", change{guard, "return Lose", "return Create"}, "vanishes unseen"},
		{"verdict from the phase of a pod", change{
			"internal/observe/job.go", "if end := verdict(f.Job); end != nil {", `end := verdict(f.Job)
	for _, pod := range pods {
		switch {
		case end != nil:
		case pod.Status.Phase == corev1.PodSucceeded:
			end = &batchv1.JobCondition{Type: batchv1.JobComplete}
		case pod.Status.Phase == corev1.PodFailed:
			end = &batchv1.JobCondition{Type: batchv1.JobFailed}
		}
	}
	if end != nil {`,
		}, "409 before the effect"},
		{"status write without the guard", change{
			"pkg/stages/status.go", "err = c.client.Status().Update(ctx, staged)\n", `err = c.client.Status().Update(ctx, staged)
		if fresh := clone(p.base); err != nil && c.live.Get(ctx, client.ObjectKeyFromObject(fresh), fresh) == nil {
			staged.SetResourceVersion(fresh.GetResourceVersion())
			err = c.client.Status().Update(ctx, staged)
		}
`,
		}, "frozen past its lease"},
	}
}

// killMutants sweeps each mutant whose name contains only until something is
// violated, and prints what.
func killMutants(ctx context.Context, out io.Writer, dir, only string, s sweep) error {
	progress := s.progress
	s.progress = io.Discard // What kills a mutant is in the table.
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(table, "| Mutant\t| Killed by\t| Violation\t|")
	fmt.Fprintln(table, "| ---\t| ---\t| ---\t|")
	survived := 0
	for i, m := range mutants() {
		if !strings.Contains(m.name, only) {
			continue
		}
		fmt.Fprintf(progress, "mutant: %s\n", m.name)
		binary, err := build(ctx, dir, fmt.Sprintf("mutant-%d", i), m.change)
		killer, violation := "nothing", ""
		if err == nil {
			killer, violation, err = kill(ctx, s, m, binary)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // The others can be killed nevertheless.
			violation = "it could not be made: " + firstLine(err.Error())
		}
		if err != nil || violation == "" {
			survived++
			violation = cmp.Or(violation, "survived")
		}
		fmt.Fprintf(table, "| %s\t| %s\t| %s\t|\n", m.name, killer, violation)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	if survived > 0 {
		return errViolated
	}
	return nil
}

// kill returns the first life that was violated, and how.
func kill(ctx context.Context, s sweep, m mutant, binary string) (killer, violation string, err error) {
	cluster := *s.cluster
	cluster.OperatorBinary = binary
	s.cluster, s.stop, s.variants = &cluster, true, []string{"Command"}
	s.picks = func(f fault, r Request) bool { return r.Step == "create" && matches(f, m.fault) }
	lives, err := s.run(ctx)
	if err != nil {
		return "", "", err
	}
	for _, one := range lives {
		switch {
		case len(one.Violations) == 0:
		case one.Faults == 0:
			return "no fault needed", firstLine(one.Violations[0]), nil
		default:
			return one.Fault + ", at " + one.At, firstLine(one.Violations[0]), nil
		}
	}
	return "nothing", "", nil
}
