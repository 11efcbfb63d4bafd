// Package workload builds the objects that run an agent. Every function is
// pure: the same document gives the same objects, and nothing is read or
// written. docs/runtime-contract.md tells the same to authors of images.
//
// An object holds only what the operator decides, with the values that the API
// server would store, so that a server-side apply owns no more than that and a
// live object can be compared with DeepDerivative. Compare specs, labels and
// annotations: the rest of the metadata is the server's. Lists that get shorter
// are derivatives too, so only an apply removes what a former document asked for.
//
// Left to others by never being set: replicas when the document names none, the
// type and addresses of a Service, user and group IDs, the pod's DNS and
// scheduler, finalizers, and containers, volumes and labels that others add.
// The owner reference is set by the caller.
package workload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Input is what the objects of an agent are made of.
type Input struct {
	// Agent is the document, with its name, namespace, UID and generation. It
	// is never changed, and no object shares memory with it.
	Agent *v1alpha1.LoomAgent
	// DefaultImage runs when the document names no image.
	DefaultImage string
	// ReferencesDigest is a keyed digest over the Secrets and ConfigMaps that
	// the document names, empty when it names none. It rolls a Deployment and
	// changes nothing else: a command is not run again for it, and a schedule
	// reads the new content at its next run (case A14).
	ReferencesDigest string
}

// Object is a child of an agent. It is a controller-runtime client.Object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Image returns the image that the agent runs.
func Image(in Input) string {
	if in.Agent.Spec.Image == nil {
		return in.DefaultImage
	}
	return in.Agent.Spec.Image.String()
}

// Children returns all objects of the agent in the order they are written: the
// network policy before anything can run, the configuration before the template
// that mounts it.
func Children(in Input) []Object {
	var children []Object
	if policy := NetworkPolicy(in); policy != nil {
		children = append(children, policy)
	}
	if config := Config(in); config != nil {
		children = append(children, config)
	}
	switch Component(in.Agent) {
	case ComponentSchedule:
		return append(children, CronJob(in))
	case ComponentRun:
		return append(children, Job(in))
	default:
		return append(children, Service(in), Deployment(in))
	}
}

// TTL returns the seconds that the Job of a command stays after its end, nil to
// keep it. No builder sets it: a Job that removes itself before its end is
// recorded would lose that end, so the caller applies it afterwards (case A01).
func TTL(agent *v1alpha1.LoomAgent) *int32 {
	if agent.Spec.Run == nil || agent.Spec.Run.TTLSecondsAfterFinished == nil {
		return nil
	}
	return new(*agent.Spec.Run.TTLSecondsAfterFinished)
}

// meta returns the metadata of a child. Nothing is copied from the agent: its
// labels and annotations may be the tracking marks of a GitOps tool, which
// would then prune the child (case A04).
func meta(agent *v1alpha1.LoomAgent, name, component string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: agent.Namespace, Labels: Labels(agent, component)}
}
