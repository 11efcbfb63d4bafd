package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/gather"
)

// patience is how long the operator may take to do what a document asks for.
const patience = 90 * time.Second

// calm is how long the operator must write nothing to have come to rest.
const calm = time.Second

// name makes one that tells what the agent is for.
func (c *campaign) name(kind string) string { return fmt.Sprintf("%s-%05d", kind, c.agents.Add(1)) }

// document is a whole LoomAgent.
func (c *campaign) document(name string, spec any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if spec != (absent{}) {
		object.Object["spec"] = runtime.DeepCopyJSONValue(spec)
	}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	object.SetNamespace(c.namespace)
	object.SetName(name)
	return object
}

// create makes an agent, as strictly as kubectl does.
func (c *campaign) create(ctx context.Context, name string, spec any, options ...client.CreateOption) (*v1alpha1.LoomAgent, error) {
	object := c.document(name, spec)
	if err := c.cluster.Client.Create(ctx, object, append(options, client.FieldValidation(metav1.FieldValidationStrict))...); err != nil {
		return nil, err
	}
	return typed(object)
}

// change replaces the document of an agent.
func (c *campaign) change(ctx context.Context, name string, spec any) (*v1alpha1.LoomAgent, error) {
	patch := map[string]any{"op": "replace", "path": "/spec", "value": spec}
	if spec == (absent{}) {
		patch = map[string]any{"op": "remove", "path": "/spec"}
	}
	text, err := json.Marshal([]any{patch})
	if err != nil {
		return nil, fmt.Errorf("write a document: %w", err)
	}
	object := c.document(name, absent{})
	if err := c.cluster.Client.Patch(ctx, object, client.RawPatch(types.JSONPatchType, text), client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		return nil, err
	}
	return typed(object)
}

// typed reads an agent as the operator does.
func typed(object *unstructured.Unstructured) (*v1alpha1.LoomAgent, error) {
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("read an agent: %w", err)
	}
	agent := &v1alpha1.LoomAgent{}
	if err := json.Unmarshal(text, agent); err != nil {
		return nil, fmt.Errorf("the API server stores what the operator cannot read: %w", err)
	}
	return agent, nil
}

// provide makes the objects that a document names, so that no agent waits.
func (c *campaign) provide(ctx context.Context, agent *v1alpha1.LoomAgent) error {
	for _, reference := range gather.References(agent.Spec) {
		meta := metav1.ObjectMeta{Namespace: c.namespace, Name: reference.Name}
		var object client.Object
		switch reference.Kind {
		case gather.Secret:
			object = &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"key": "value"}}
		case gather.ConfigMap:
			object = &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{reference.Key: "value"}}
		default:
			object = &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
			}}
		}
		// A name that cannot be is the check's business.
		if err := c.cluster.Client.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// await looks at an agent until look is content, and returns look's last error
// when that takes too long. It never looks at a generation before the given.
func (c *campaign) await(ctx context.Context, name string, generation int64, look func(*v1alpha1.LoomAgent) error) (*v1alpha1.LoomAgent, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		agent := &v1alpha1.LoomAgent{}
		err := c.cache.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, agent)
		if err == nil && agent.Generation < generation {
			err = fmt.Errorf("generation %d is not seen yet", generation)
		}
		if err == nil {
			err = look(agent)
		}
		if err == nil || !pause(ctx) {
			return agent, err
		}
	}
}

// wakes is how often an agent that has come to rest is woken. A pass that was
// late may write after the first time; one that writes each time has no rest.
const wakes = 3

// rest waits until nobody writes for an agent, and then wakes it with a change
// that means nothing, after which the operator must not write either.
func (c *campaign) rest(ctx context.Context, name string) error {
	last := ""
	for n := range wakes {
		if err := c.becomesCalm(ctx, name); err != nil {
			return err
		}
		before, _ := c.audit.written(name)
		poke := fmt.Appendf(nil, `{"metadata":{"labels":{"woken":"%d"}}}`, n)
		if err := c.cluster.Client.Patch(ctx, c.document(name, absent{}), client.RawPatch(types.MergePatchType, poke)); err != nil {
			return fmt.Errorf("wake the agent: %w", err)
		}
		for woken := time.Now(); time.Since(woken) < calm; {
			if !pause(ctx) {
				return ctx.Err()
			}
		}
		var now int
		if now, last = c.audit.written(name); now == before {
			return nil
		}
	}
	return fmt.Errorf("the operator writes each time it is woken although nothing has changed, such as %s", last)
}

func (c *campaign) becomesCalm(ctx context.Context, name string) error {
	for began := time.Now(); c.audit.quiet(name, began) < calm; {
		if time.Since(began) > patience {
			_, last := c.audit.written(name)
			return fmt.Errorf("the agent does not come to rest within %s; the operator's last write is %s", patience, last)
		}
		if !pause(ctx) {
			return ctx.Err()
		}
	}
	return nil
}

// remove deletes an agent.
func (c *campaign) remove(ctx context.Context, name string) error {
	return client.IgnoreNotFound(c.cluster.Client.Delete(ctx, c.document(name, absent{}), client.PropagationPolicy(metav1.DeletePropagationBackground)))
}
