// Package intake holds the stages that every agent passes before its workload:
// the check of the document, and the objects that it refers to.
package intake

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/gather"
	"github.com/beyond10x/loom-operator/internal/guard"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// Controller is a controller of LoomAgents under construction.
type Controller = stages.Builder[*v1alpha1.LoomAgent]

// Intake is what the two stages need.
type Intake struct {
	// DefaultImage runs agents that name no image.
	DefaultImage string
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads past every cache.
	Live client.Reader
	// Children removes what a refused document must not leave running.
	Children children.Remover
}

// Open starts a controller with its first two stages. A pass that ends in the
// second one calls watch, which observes the workload without writing to it: a
// reference that goes missing later must not hide how the workload fares.
func (i Intake) Open(name string, watch stages.Handler[*v1alpha1.LoomAgent]) *Controller {
	b := stages.For[*v1alpha1.LoomAgent](v1alpha1.Group+"/"+name,
		stages.FieldOwner(v1alpha1.FieldOwner),
		stages.AppliedAnnotation(v1alpha1.AppliedAnnotation),
		stages.TransitionEvents(false),
		stages.FailureReason(v1alpha1.ReasonReconcileError),
		stages.Retire(v1alpha1.ConditionAvailable, v1alpha1.ConditionCompleted, v1alpha1.ConditionScheduled, v1alpha1.ConditionLastRunSucceeded,
			v1alpha1.ConditionStalled),
	).Summarize(summarize)
	b.Stage(v1alpha1.ConditionChecked).Do(i.check)
	b.Stage(v1alpha1.ConditionReferencesResolved).After(v1alpha1.ConditionChecked).
		Case("none", hasNone, resolvedNone).
		Case("run started", runStarted, resolvedEarlier, "none").
		Otherwise(i.references(watch))
	return b
}

// Input is what the workload's children are built from in this pass.
func (i Intake) Input(pass *journal.Pass) workload.Input {
	found, _ := stages.Value[gather.Found](pass)
	return workload.Input{Agent: pass.Object(), DefaultImage: i.defaultImage(pass.Object()), ReferencesDigest: found.Digest}
}

// defaultImage is the image of an agent that names none: the one that its
// generation was started with, so that an upgrade of the operator restarts
// nothing (docs/decisions/0009), and for a new generation the present default.
func (i Intake) defaultImage(agent *v1alpha1.LoomAgent) string {
	if started := agent.Status.Workload; started != nil && started.Image != "" {
		return started.Image
	}
	return i.DefaultImage
}

// check opens the pass and gives the verdict on a document, once for each
// generation: a later version of the operator does not judge again what runs,
// not even where a backup tool has wiped the verdict on a run that was started.
func (i Intake) check(ctx context.Context, pass *journal.Pass) error {
	if err := journal.Apply(pass); err != nil {
		return err
	}
	agent := pass.Object()
	if agent.Status.Check == nil && !runStarted(agent, pass) {
		report := check.Run(check.Input{Agent: agent, DefaultImage: i.DefaultImage})
		if report.ExitCode() == 0 {
			return i.accept(ctx, pass)
		}
		if err := admit(pass, report.ExitCode(), report.Message()); err != nil {
			return err
		}
	}
	if verdict := agent.Status.Check; verdict != nil && verdict.ExitCode != 0 {
		return i.refuse(ctx, pass, verdict.Message)
	}
	return i.accept(ctx, pass)
}

// guardrail writes the network policy, in every state and before anything else
// (design section 8).
func (i Intake) guardrail(ctx context.Context, pass *journal.Pass) error {
	if pass.Object().Paused() {
		return nil
	}
	return children.Ensure(ctx, pass, workload.NetworkPolicy(i.Input(pass)))
}

// accept reports the accepted document, and what of it lowers the confinement
// that pods have without it.
func (i Intake) accept(ctx context.Context, pass *journal.Pass) error {
	if err := i.guardrail(ctx, pass); err != nil {
		return err
	}
	message := "The check accepted the document."
	for _, sentence := range workload.Lowered(pass.Object()) {
		message += " " + sentence
		if pass.Object().Status.Check != nil {
			continue // Told when the verdict was new.
		}
		pass.Event(corev1.EventTypeWarning, "ConfinementLowered", "Check", sentence)
	}
	pass.Reached(v1alpha1.ReasonAccepted, message)
	return nil
}

// refuse sees to it that nothing of the agent runs, its guardrails excepted.
// Every step is tried, so that a guardrail that cannot be written keeps nothing
// running.
func (i Intake) refuse(ctx context.Context, pass *journal.Pass, message string) error {
	agent := pass.Object()
	if agent.Paused() {
		return stages.Stop(v1alpha1.ReasonRefused, message+pausedToo)
	}
	for _, err := range []error{
		i.guardrail(ctx, pass),
		i.Children.Workloads(ctx, pass, keepNone),
		i.Children.Attachments(ctx, pass, children.Policies),
	} {
		if err != nil && !stages.IsVerdict(err) {
			return err
		}
	}
	return stages.Stop(v1alpha1.ReasonRefused, message)
}

func keepNone(client.Object) bool { return false }

// Admit records that the check accepted the document: the agent moves from
// Pending to Running. The workload's stage calls it when the children are there,
// so that an agent whose children cannot be written stays in Pending.
func Admit(pass *journal.Pass) error {
	if pass.Object().Status.Check != nil {
		return nil
	}
	return admit(pass, 0, "The document was accepted.")
}

func admit(pass *journal.Pass, exitCode int32, message string) error {
	agent := pass.Object()
	_, err := journal.Move(pass, lifecycle.RecordCheck{
		Name: agent.Name, Generation: agent.Generation,
		ExitCode: exitCode, Message: message, Variant: lifecycle.Variant(agent.Variant()),
	})
	return err
}

func hasNone(agent *v1alpha1.LoomAgent, _ *journal.Pass) bool {
	return len(gather.References(agent.Spec)) == 0
}

func resolvedNone(_ context.Context, pass *journal.Pass) error {
	stages.Put(pass, gather.Found{})
	pass.Reached(v1alpha1.ReasonResolved, "The document refers to no other object.")
	return nil
}

// runStarted is for a command that was handed what it needs: the references do
// not matter any more, and must not keep its end from being recorded. Such a
// generation is never created again, whatever its status says (internal/guard).
func runStarted(agent *v1alpha1.LoomAgent, _ *journal.Pass) bool {
	_, started := guard.StartOf(agent)
	return agent.Spec.Command != nil && agent.Spec.Schedule == nil && (started || agent.Status.Workload != nil)
}

func resolvedEarlier(_ context.Context, pass *journal.Pass) error {
	stages.Put(pass, gather.Found{})
	pass.Reached(v1alpha1.ReasonResolved, "Every object that the document names existed when the run was started.")
	return nil
}

func (i Intake) references(watch stages.Handler[*v1alpha1.LoomAgent]) stages.Handler[*v1alpha1.LoomAgent] {
	return func(ctx context.Context, pass *journal.Pass) error {
		found, err := gather.Read(ctx, i.Live, pass.Object())
		if err == nil && len(found.Missing) == 0 {
			stages.Put(pass, found)
			pass.Reached(v1alpha1.ReasonResolved, "Every object that the document names exists.")
			return nil
		}
		message := found.Message()
		if err != nil {
			message = fmt.Sprintf("An object that the document names could not be read: %s. It is tried again; check that the operator may get it.", children.ServerText(err))
		}
		if rests(pass.Object()) {
			stages.Put(pass, gather.Found{})
			pass.Reached(v1alpha1.ReasonSuspended, "The agent rests, so this is not waited for: "+message)
			return nil
		}
		if pass.Object().Paused() {
			message += pausedToo
		}
		if watchErr := watch(ctx, pass); watchErr != nil && !stages.IsVerdict(watchErr) {
			return watchErr
		}
		if err != nil {
			return stages.Fail(v1alpha1.ReasonReferenceUnreadable, message, err)
		}
		return stages.Wait(v1alpha1.ReasonReferenceMissing, message, 0)
	}
}

// rests tells that nothing of the agent is to start. What it refers to must not
// keep it from coming to rest.
func rests(agent *v1alpha1.LoomAgent) bool {
	schedule := agent.Spec.Schedule
	return agent.Suspended() || schedule != nil && schedule.Suspend != nil && *schedule.Suspend
}
