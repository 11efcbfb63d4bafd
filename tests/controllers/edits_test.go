package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// A04: the marks of a GitOps tool on the agent reach no child and no pod.
func TestA04LabelsAndAnnotationsAreNeverCopied(t *testing.T) {
	for variant, spec := range variants() {
		t.Run(variant, func(t *testing.T) {
			w := newWorld(t)
			agent := &v1alpha1.LoomAgent{ObjectMeta: w.meta("a"), Spec: spec()}
			agent.Labels = map[string]string{"argocd.argoproj.io/instance": "x", "app.kubernetes.io/instance": "x"}
			agent.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "argocd.argoproj.io/tracking-id": "x"}
			w.make(agent)
			w.await("a", "has its workload", hasWorkload(kinds[variant]))
			if variant == "schedule" {
				w.tick("a")
			}
			w.pod("a")

			children := w.children()
			assert.GreaterOrEqual(t, len(children), 3)
			for _, child := range children {
				assert.NotContains(t, child.GetLabels(), "argocd.argoproj.io/instance", "%T", child)
				assert.Equal(t, "a", child.GetLabels()["app.kubernetes.io/instance"], "%T", child)
				assert.NotContains(t, child.GetAnnotations(), "kubectl.kubernetes.io/last-applied-configuration", "%T", child)
				assert.NotContains(t, child.GetAnnotations(), "argocd.argoproj.io/tracking-id", "%T", child)
			}
		})
	}
}

// A40: every kind of edit is live, and the status follows the generation. A48:
// nothing that an edit can change is part of the selector.
func TestA40EveryEditOfAServingAgentIsLive(t *testing.T) {
	edits := []struct {
		what   string
		change func(*v1alpha1.LoomAgentSpec)
		live   func(world, *corev1.PodSpec) bool
	}{
		{"a config file", func(spec *v1alpha1.LoomAgentSpec) {
			spec.ConfigFiles = []v1alpha1.ConfigFile{{Name: "a.txt", Content: "two"}}
		}, func(w world, pod *corev1.PodSpec) bool { return mounted(w, pod)["files.a.txt"] == "two" }},
		{"a variable", func(spec *v1alpha1.LoomAgentSpec) { spec.Env = []v1alpha1.EnvVar{{Name: "A", Value: "1"}} },
			func(_ world, pod *corev1.PodSpec) bool { return value(pod, "A") == "1" }},
		{"the routes", func(spec *v1alpha1.LoomAgentSpec) {
			spec.Routes = &apiextensionsv1.JSON{Raw: []byte(`{"default":{"model":"large"}}`)}
		}, func(w world, pod *corev1.PodSpec) bool {
			return strings.Contains(mounted(w, pod)["routes.json"], "large")
		}},
		{"the image", func(spec *v1alpha1.LoomAgentSpec) { spec.Image = image("2") },
			func(_ world, pod *corev1.PodSpec) bool { return pod.Containers[0].Image == "registry.test/agent:2" }},
		{"the port", func(spec *v1alpha1.LoomAgentSpec) { spec.Serve = &v1alpha1.ServeSettings{Port: new(int32(9000))} },
			func(_ world, pod *corev1.PodSpec) bool { return pod.Containers[0].Ports[0].ContainerPort == 9000 }},
		{"a label of the pod", func(spec *v1alpha1.LoomAgentSpec) {
			spec.Pod = &v1alpha1.PodSettings{ServiceAccountName: "agent"}
		}, func(_ world, pod *corev1.PodSpec) bool { return pod.ServiceAccountName == "agent" }},
		{"back to the first document", func(spec *v1alpha1.LoomAgentSpec) { *spec = serving() },
			func(w world, pod *corev1.PodSpec) bool {
				return value(pod, "A") == "" && pod.ServiceAccountName == "default" && pod.Containers[0].Ports[0].ContainerPort == 8080 && mounted(w, pod)["files.a.txt"] == ""
			}},
	}
	w := newWorld(t)
	w.create("s", serving())
	w.await("s", "has its workload", hasWorkload("Deployment"))
	selector := get[appsv1.Deployment](w, "s").Spec.Selector
	uid := get[appsv1.Deployment](w, "s").UID
	for _, change := range edits {
		agent := edit(w, "s", func(agent *v1alpha1.LoomAgent) {
			agent.Labels = map[string]string{"edit": strings.ReplaceAll(change.what, " ", "-")}
			change.change(&agent.Spec)
		})
		w.eventually(change.what+" is live", lookAt(w, "s", func(d *appsv1.Deployment) bool { return change.live(w, &d.Spec.Template.Spec) }))
		w.await("s", "follows", hasWorkload("Deployment"), func(now *v1alpha1.LoomAgent) error {
			if now.Status.ObservedGeneration < agent.Generation {
				return fmt.Errorf("it is at generation %d", now.Status.ObservedGeneration)
			}
			return nil
		})
	}
	assert.Equal(t, selector, get[appsv1.Deployment](w, "s").Spec.Selector)
	assert.Equal(t, uid, get[appsv1.Deployment](w, "s").UID, "it is updated in place")
	w.available("s")
	w.eventually("the former configurations are gone", func(ctx context.Context) error {
		var configs corev1.ConfigMapList
		if err := w.List(ctx, &configs, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.AgentLabel: "s"}); err != nil {
			return err
		}
		if len(configs.Items) != 1 {
			return fmt.Errorf("there are %d", len(configs.Items))
		}
		return nil
	})
}

// mounted is what the ConfigMap that a pod mounts holds.
func mounted(w world, pod *corev1.PodSpec) map[string]string {
	w.Helper()
	for _, volume := range pod.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil {
				return get[corev1.ConfigMap](w, source.ConfigMap.Name).Data
			}
		}
	}
	return nil
}

func value(pod *corev1.PodSpec, variable string) string {
	for _, v := range pod.Containers[0].Env {
		if v.Name == variable {
			return v.Value
		}
	}
	return ""
}

// A40: an edit that changes the stored document, and nothing that is read of
// it, is followed too: who waits for its generation waits no longer.
func TestA40EditThatMeansNothingIsFollowed(t *testing.T) {
	w := newWorld(t)
	w.create("s", serving())
	w.available("s")
	pods := podsOf(w, "s")

	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"env":[]}}`))
	require.NoError(t, w.Patch(t.Context(), w.agent("s"), patch))

	agent := w.await("s", "follows", state(v1alpha1.StateRunning), ready(metav1.ConditionTrue, v1alpha1.ReasonAvailable))
	assert.Equal(t, int64(2), agent.Status.ObservedGeneration)
	assert.Equal(t, pods[0].UID, podsOf(w, "s")[0].UID, "the pod stays")
}

func TestA40EditOfAScheduleIsLive(t *testing.T) {
	w := newWorld(t)
	w.create("t", scheduled())
	w.inForce("t")

	edit(w, "t", func(agent *v1alpha1.LoomAgent) {
		agent.Spec.Schedule.Cron, agent.Spec.Schedule.TimeZone = "0 3 1 1 *", new("Asia/Tokyo")
		agent.Spec.Schedule.Input.Text = new("cost $$5, run $(date), $(HOME)")
	})
	w.inForce("t")

	cronJob := get[batchv1.CronJob](w, "t")
	assert.Equal(t, "0 3 1 1 *", cronJob.Spec.Schedule)
	assert.Equal(t, new("Asia/Tokyo"), cronJob.Spec.TimeZone)
	assert.Equal(t, "2", cronJob.Spec.JobTemplate.Annotations[v1alpha1.GenerationAnnotation])
	assert.Equal(t, "cost $$5, run $(date), $(HOME)", mounted(w, &cronJob.Spec.JobTemplate.Spec.Template.Spec)["input"], "A13: byte for byte")
	edit(w, "t", func(agent *v1alpha1.LoomAgent) { agent.Spec.Schedule.TimeZone = nil })
	w.inForce("t")
	assert.Nil(t, get[batchv1.CronJob](w, "t").Spec.TimeZone, "what the document no longer says is removed")
}

// What a run of a former document may still need stays until none can, and
// then goes by itself. It takes two minutes, as controllers/scheduled has it.
func TestFormerConfigurationOfAScheduleGoesOnceNoRunNeedsIt(t *testing.T) {
	w := newWorld(t)
	agent := w.create("t", scheduled())
	w.inForce("t")
	former := &corev1.ConfigMap{ObjectMeta: w.meta(workload.Config(workload.Input{Agent: agent}).Name)}

	edit(w, "t", func(agent *v1alpha1.LoomAgent) { agent.Spec.Schedule.Input.Text = new("other") })
	w.inForce("t")

	require.NoError(t, w.Get(t.Context(), client.ObjectKeyFromObject(former), former), "it stays at first")
	harness.Eventually(t, 3*time.Minute, "it goes", func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(former), former); err != nil {
			return client.IgnoreNotFound(err)
		}
		return errors.New("it is there")
	})
	w.inForce("t")
}

// A57: the numbers of a former rollout do not make a new generation ready.
func TestA57NewGenerationIsNotReadyByTheFormerRollout(t *testing.T) {
	w := newWorld(t)
	w.create("s", serving())
	w.available("s")

	edit(w, "s", func(agent *v1alpha1.LoomAgent) { agent.Spec.Image = image("2") })
	w.await("s", "rolls out", notReady(v1alpha1.ReasonRolloutInProgress), hasWorkload("Deployment"), runs("registry.test/agent:2"))
	pod := w.pod("s")
	require.Equal(t, "registry.test/agent:2", pod.Spec.Containers[0].Image)
	w.always("it is not ready by the former pod", func(context.Context) error {
		return notReady(v1alpha1.ReasonRolloutInProgress)(w.agent("s"))
	})

	w.serves(pod)
	w.await("s", "is available", state(v1alpha1.StateRunning), ready(metav1.ConditionTrue, v1alpha1.ReasonAvailable))
}

// initials keep the names of agents of different variants apart.
var initials = map[string]string{"serve": "d", "command": "j", "schedule": "c"}

// A11, A33: names that are too long are shortened and never collide.
func TestA11LongNamesGetChildrenOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	var agents []string
	for _, length := range []int{52, 53, 63, 64, 100, 253} {
		agents = append(agents, strings.Repeat("n", length-1)+"a", strings.Repeat("n", length-1)+"b")
	}
	agents = append(agents, "xa.b", "xa-b")
	uids := map[any]string{}
	for i, name := range agents {
		for variant, spec := range variants() {
			full := initials[variant] + name[1:]
			w.create(full, spec())
			agent := w.await(full, "has its workload", hasWorkload(kinds[variant]))
			assert.Empty(t, uids[agent.Status.Workload.UID], "%d", i)
			uids[agent.Status.Workload.UID] = full
			if variant == "serve" {
				assert.NoError(t, w.Get(t.Context(), keyOf(w, workload.ServiceName(agent)), &corev1.Service{}))
			}
		}
	}
	assert.Len(t, uids, 3*len(agents))
}

// A60: what does not fit a ConfigMap is refused, and nothing is half made.
func TestA60TooManyConfigFilesAreRefused(t *testing.T) {
	w := newWorld(t)
	spec := serving()
	spec.ConfigFiles = []v1alpha1.ConfigFile{
		{Name: "a", Content: strings.Repeat("x", 600<<10)}, {Name: "b", Content: strings.Repeat("x", 600<<10)},
	}
	w.create("s", spec)

	agent := w.await("s", "is refused", state(v1alpha1.StateRefused), notReady(v1alpha1.ReasonRefused))

	assert.Contains(t, agent.Status.Check.Message, "spec.configFiles")
	assert.Empty(t, names(w.children()))
}

// A42: a text that fits reaches the run as a file.
func TestA42LongInputIsAFile(t *testing.T) {
	w := newWorld(t)
	spec := scheduled()
	spec.Schedule.Input.Text = new(strings.Repeat("long ", 28<<10))
	w.create("t", spec)
	w.inForce("t")

	pod := &get[batchv1.CronJob](w, "t").Spec.JobTemplate.Spec.Template.Spec
	assert.Equal(t, *spec.Schedule.Input.Text, mounted(w, pod)["input"])
}
