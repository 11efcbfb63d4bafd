package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
)

// family is the children of an agent, each as a text that is the same for two
// agents of one document.
type family map[string]string

// family reads the children of an agent.
func (c *campaign) family(ctx context.Context, agent *v1alpha1.LoomAgent) (family, error) {
	found := family{}
	for _, kind := range slices.Concat(children.Workloads(), children.Attachments()) {
		gvk, err := apiutil.GVKForObject(kind, c.cluster.Client.Scheme())
		if err != nil {
			return nil, err
		}
		list, err := c.cluster.Client.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err != nil {
			return nil, err
		}
		if err := c.cache.List(ctx, list.(client.ObjectList), client.InNamespace(c.namespace), client.MatchingFields{children.OwnerIndex: string(agent.UID)}); err != nil {
			return nil, fmt.Errorf("list children: %w", err)
		}
		err = meta.EachListItem(list, func(object runtime.Object) error {
			name, text, err := normal(agent.Name, gvk.Kind, object.(client.Object))
			found[name] = text
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// jobName matches what a command's Job has behind the name of its agent.
var jobName = regexp.MustCompile(`^NAME-[0-9a-f]{10}$`)

// volatile are keys whose values differ between two agents of one document:
// they tell the agent's UID or generation, or Kubernetes sets them.
var volatile = []string{
	"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name",
	"clusterIP", "clusterIPs",
	v1alpha1.AppliedAnnotation, v1alpha1.GenerationAnnotation, v1alpha1.ResumedAnnotation, v1alpha1.Group + "/references",
}

const revision = "deployment.kubernetes.io/revision"

// normal renders a child without what only this one can have.
func normal(agent, kind string, object client.Object) (name, text string, err error) {
	full, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", "", fmt.Errorf("read %s %q: %w", kind, object.GetName(), err)
	}
	delete(full, "status")
	full["metadata"] = map[string]any{"labels": object.GetLabels(), "annotations": object.GetAnnotations(), "deleted": object.GetDeletionTimestamp() != nil}
	raw, err := json.Marshal(full)
	if err != nil {
		return "", "", fmt.Errorf("read %s %q: %w", kind, object.GetName(), err)
	}
	var plain any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(raw), agent, "NAME")), &plain); err != nil {
		return "", "", fmt.Errorf("read %s %q: %w", kind, object.GetName(), err)
	}
	mask(plain)
	raw, err = json.MarshalIndent(plain, "", " ")
	name = strings.ReplaceAll(object.GetName(), agent, "NAME")
	if kind == "Job" {
		name = jobName.ReplaceAllString(name, "NAME-RUN")
	}
	return kind + "/" + name, string(raw), err
}

func mask(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if key == revision {
				delete(value, key) // The deployment controller sets it when it comes to it.
				continue
			}
			if slices.Contains(volatile, key) {
				value[key] = "..."
				continue
			}
			mask(inner)
			if members, ok := inner.(map[string]any); ok && len(members) == 0 && slices.Contains(affinities, key) {
				delete(value, key)
			}
		}
	case []any:
		for _, inner := range value {
			mask(inner)
		}
	}
}

// affinities are blocks that mean nothing when they are empty. Server-side
// apply keeps an empty block that is new, and takes it away together with the
// last member that it had.
var affinities = []string{"affinity", "nodeAffinity", "podAffinity", "podAntiAffinity"}

// policy is the guardrail of an agent with a boundary. Runs of a former
// document keep theirs.
const policy = "NetworkPolicy/NAME"

// inUse leaves out configurations that no workload mounts any more. They go
// once nothing can need them, which takes a while.
func (f family) inUse() family {
	used := family{}
	for name, text := range f {
		config, isConfig := strings.CutPrefix(name, "ConfigMap/")
		if !isConfig || f.mounts(config) {
			used[name] = text
		}
	}
	return used
}

func (f family) mounts(config string) bool {
	for name, text := range f {
		if !strings.HasPrefix(name, "ConfigMap/") && strings.Contains(text, `"name": "`+config+`"`) {
			return true
		}
	}
	return false
}

// differs tells the first difference between what there is and what there
// should be; empty: none.
func (f family) differs(want family) string {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if _, ok := want[name]; !ok {
			return name + " lingers"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		have, ok := f[name]
		if !ok {
			return name + " is missing"
		}
		if have != want[name] {
			return name + " differs: " + firstDifference(have, want[name])
		}
	}
	return ""
}

func firstDifference(have, want string) string {
	a, b := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%s, not %s", strings.TrimSpace(a[i]), strings.TrimSpace(b[i]))
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(a), len(b))
}
