package controllers_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// foreignPod is what the workloads of others run.
func foreignPod(policy corev1.RestartPolicy) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "foreign"}},
		Spec:       corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{{Name: "main", Image: "registry.test/foreign:1"}}},
	}
}

// A35: an object of the child's name that belongs to nobody or to somebody else
// is left alone, and named; the agent goes on when it is gone, without an edit.
func TestA35ForeignObjectIsLeftAlone(t *testing.T) {
	tests := map[string]struct {
		variant string
		foreign func(agent *v1alpha1.LoomAgent) client.Object
	}{
		"a Deployment": {"serve", func(agent *v1alpha1.LoomAgent) client.Object {
			return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: workload.DeploymentName(agent)}, Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "foreign"}}, Template: foreignPod(corev1.RestartPolicyAlways), Replicas: new(int32(0)),
			}}
		}},
		"a Service": {"serve", func(agent *v1alpha1.LoomAgent) client.Object {
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: workload.ServiceName(agent)}, Spec: corev1.ServiceSpec{
				Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}},
			}}
		}},
		"a ConfigMap": {"serve", func(agent *v1alpha1.LoomAgent) client.Object {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: workload.Config(workload.Input{Agent: agent}).Name}, Data: map[string]string{"agent.json": "foreign"}}
		}},
		"a ConfigMap of a command": {"command", func(agent *v1alpha1.LoomAgent) client.Object {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: workload.Config(workload.Input{Agent: agent}).Name}, Data: map[string]string{"agent.json": "foreign"}}
		}},
		"a Job": {"command", func(agent *v1alpha1.LoomAgent) client.Object {
			return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: workload.JobName(agent)}, Spec: batchv1.JobSpec{Template: foreignPod(corev1.RestartPolicyNever), Suspend: new(true)}}
		}},
		"a CronJob": {"schedule", func(agent *v1alpha1.LoomAgent) client.Object {
			return &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: workload.CronJobName(agent)}, Spec: batchv1.CronJobSpec{
				Schedule: "0 0 29 2 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: foreignPod(corev1.RestartPolicyNever)}},
			}}
		}},
	}
	for name, test := range tests {
		for _, owned := range []bool{false, true} {
			suffix := " of nobody"
			if owned {
				suffix = " of somebody else"
			}
			t.Run(name+suffix, func(t *testing.T) {
				w := newWorld(t)
				// The agent waits until the foreign object, whose name may depend
				// on the agent's UID, is there.
				spec := variants()[test.variant]()
				spec.SecretRef = &v1alpha1.SecretRef{Name: "gate"}
				agent := w.create("a", spec)
				foreign := test.foreign(agent)
				if owned {
					owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}
					w.make(owner)
					foreign.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
				}
				w.make(foreign)
				w.make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "gate"}})

				agent = w.await("a", "says that the name is taken", notReady(v1alpha1.ReasonNameTaken))

				text := message(agent, v1alpha1.ConditionReady)
				assert.Contains(t, text, foreign.GetName())
				if owned {
					assert.Contains(t, text, `ConfigMap "owner"`)
				} else {
					assert.Contains(t, text, "nobody controls it")
				}
				resource := strings.ToLower(reflect.TypeOf(foreign).Elem().Name()) + "s"
				for _, write := range w.cluster.Writes(t, harness.OperatorUser(), w.namespace) {
					assert.False(t, write.Name == foreign.GetName() && write.Resource == resource && write.Code < 300, "the operator wrote: %s", write)
				}
				require.NoError(t, w.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
				assert.Equal(t, owned, len(foreign.GetOwnerReferences()) == 1)
				assert.Empty(t, foreign.GetLabels()[v1alpha1.AgentLabel])

				w.remove(foreign)
				w.settled(test.variant, "a")
				assert.Equal(t, int64(1), w.agent("a").Generation, "without an edit")
			})
		}
	}
}

// A35: looking whether the name is free again costs no write, though the cache
// does not show somebody else's Job.
func TestA35TakenNameOfAJobIsReadNotTried(t *testing.T) {
	w := newWorld(t)
	spec := command()
	spec.SecretRef = &v1alpha1.SecretRef{Name: "gate"}
	agent := w.create("a", spec)
	foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: workload.JobName(agent)}, Spec: batchv1.JobSpec{Template: foreignPod(corev1.RestartPolicyNever), Suspend: new(true)}}
	w.make(foreign)
	events, err := w.Watch(t.Context(), &v1alpha1.LoomAgentList{}, client.InNamespace(w.namespace))
	require.NoError(t, err)
	defer events.Stop()
	w.make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "gate"}})
	for taken := false; !taken; {
		shown := next(t, events).Object.(*v1alpha1.LoomAgent)
		assert.Error(t, ready(metav1.ConditionFalse, v1alpha1.ReasonRunning)(shown), "nothing of the agent runs")
		taken = notReady(v1alpha1.ReasonNameTaken)(shown) == nil
	}

	writes := func() (found []harness.Write) {
		for _, write := range w.cluster.Writes(t, harness.OperatorUser(), w.namespace) {
			if write.Resource != "events" {
				found = append(found, write)
			}
		}
		return found
	}
	before := len(writes())
	edit(w, "a", func(agent *v1alpha1.LoomAgent) { agent.Labels = map[string]string{"look": "again"} })
	w.always("the operator writes nothing", func(context.Context) error {
		if now := writes(); len(now) != before {
			return fmt.Errorf("it wrote: %v", now[before:])
		}
		return nil
	})
}

// A17: a child that was deleted by hand is made again, once; what others
// changed in the operator's own fields is put right, and what is theirs stays.
func TestA17DriftOfADeploymentIsPutRight(t *testing.T) {
	w := newWorld(t)
	spec := serving()
	spec.Env = []v1alpha1.EnvVar{{Name: "A", Value: "right"}}
	w.create("s", spec)
	first := w.available("s").Status.Workload.UID

	edit(w, "s", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Image = "registry.test/other:1"
		d.Spec.Replicas = new(int32(3))
		d.Annotations["theirs"] = "stays"
	})
	w.eventually("the image is put right", lookAt(w, "s", func(d *appsv1.Deployment) bool {
		return d.Spec.Template.Spec.Containers[0].Image == "registry.test/agent:1"
	}))
	deployment := get[appsv1.Deployment](w, "s")
	assert.Equal(t, int32(3), *deployment.Spec.Replicas, "the number of pods is not the operator's when the document names none")
	assert.Equal(t, "stays", deployment.Annotations["theirs"])

	w.remove(deployment)
	agent := w.await("s", "has another Deployment", hasWorkload("Deployment"), func(agent *v1alpha1.LoomAgent) error {
		return lookAt(w, "s", func(d *appsv1.Deployment) bool { return d.UID != first && d.UID == agent.Status.Workload.UID })(t.Context())
	})
	assert.True(t, metav1.IsControlledBy(get[appsv1.Deployment](w, "s"), agent))
}

func TestDriftOfTheOtherChildrenIsPutRight(t *testing.T) {
	w := newWorld(t)
	s := w.create("s", serving())
	c := w.create("t", scheduled())
	w.available("s")
	w.inForce("t")

	for _, child := range []client.Object{
		&corev1.Service{ObjectMeta: w.meta("s")}, &corev1.ConfigMap{ObjectMeta: w.meta(workload.Config(workload.Input{Agent: s}).Name)},
		&corev1.ConfigMap{ObjectMeta: w.meta(workload.Config(workload.Input{Agent: c}).Name)}, &batchv1.CronJob{ObjectMeta: w.meta("t")},
	} {
		require.NoError(t, w.Get(t.Context(), client.ObjectKeyFromObject(child), child))
		before := child.GetUID()
		w.remove(child)
		w.eventually(child.GetName()+" is there again", w.again(child, before))
	}
	edit(w, "t", func(cronJob *batchv1.CronJob) { cronJob.Spec.Schedule, cronJob.Spec.Suspend = "0 0 1 1 *", new(true) })
	w.eventually("the schedule is put right", lookAt(w, "t", func(cronJob *batchv1.CronJob) bool {
		return cronJob.Spec.Schedule == "0 0 29 2 *" && !*cronJob.Spec.Suspend
	}))
	edit(w, "s", func(service *corev1.Service) { service.Spec.Selector = map[string]string{"app": "other"} })
	w.eventually("the selector is put right", lookAt(w, "s", func(service *corev1.Service) bool {
		return service.Spec.Selector["app"] == "" && len(service.Spec.Selector) == 2
	}))
}

// A rule that somebody adds would open what the document closes.
func TestARuleThatIsAddedToThePolicyIsTakenAway(t *testing.T) {
	w := newWorld(t)
	spec := serving()
	spec.Boundary = &v1alpha1.Boundary{Model: &v1alpha1.BoundaryUpstream{Upstream: "https://models.test", Audience: "models"}}
	w.create("s", spec)
	w.available("s")
	before := get[networkingv1.NetworkPolicy](w, "s").Spec

	edit(w, "s", func(policy *networkingv1.NetworkPolicy) {
		policy.Spec.Egress = append(policy.Spec.Egress, networkingv1.NetworkPolicyEgressRule{})
	})
	w.eventually("the rule is gone", lookAt(w, "s", func(policy *networkingv1.NetworkPolicy) bool {
		return reflect.DeepEqual(before, policy.Spec)
	}))
}

// The Job of a run that has ended is not missed.
func TestDriftOfAFinishedCommandIsNone(t *testing.T) {
	w := newWorld(t)
	agent := w.create("c", command())
	before := w.completed("c")

	w.remove(get[corev1.ConfigMap](w, workload.Config(workload.Input{Agent: agent}).Name))
	w.remove(get[batchv1.Job](w, workload.JobName(agent)))
	w.gone(&batchv1.Job{ObjectMeta: w.meta(workload.JobName(agent))})

	w.stays("c", before)
	assert.Empty(t, w.jobs())
}
