package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// lagging has a cache of pods that does not show what the API server has.
type lagging struct {
	*fakeManager
	descendants client.Reader
}

func (m lagging) GetAPIReader() client.Reader { return liveReader{m.client, m.descendants} }

// liveReader lists the pods and Events of Jobs from elsewhere.
type liveReader struct {
	client.Reader
	descendants client.Reader
}

func (r liveReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return r.descendants.List(ctx, list, opts...)
}

// descendants are the pods and Events of Jobs that the API server has.
func descendants(t *testing.T, objects ...client.Object) client.Reader {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(objects...).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(obj client.Object) []string { return []string{string(obj.(*corev1.Event).InvolvedObject.UID)} }).
		WithIndex(&corev1.Event{}, "type", func(obj client.Object) []string { return []string{obj.(*corev1.Event).Type} }).Build()
}

// createWithUID gives what is made a UID, as an API server does.
func createWithUID(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
	if obj.GetUID() == "" {
		obj.SetUID(types.UID("uid-of-" + obj.GetName()))
	}
	return c.Create(ctx, obj, opts...)
}

func onSchedule() v1alpha1.LoomAgentSpec {
	spec := serving()
	spec.Schedule = &v1alpha1.ScheduleSpec{Cron: "0 0 29 2 *"}
	return spec
}

// run is a run of the agent's schedule, of this generation.
func run(t *testing.T, api client.Client, generation string, status batchv1.JobStatus) *batchv1.Job {
	t.Helper()
	cronJob := &batchv1.CronJob{}
	require.NoError(t, api.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: read(t, api).Status.Workload.Name}, cronJob))
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "a-1", UID: "job", Labels: cronJob.Spec.JobTemplate.Labels,
			Annotations:     map[string]string{v1alpha1.GenerationAnnotation: generation},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Spec: batchv1.JobSpec{ActiveDeadlineSeconds: new(int64(60))}, Status: status,
	}
	require.NoError(t, api.Create(t.Context(), job))
	return job
}

func podOf(state corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "a-1-x", Labels: map[string]string{v1alpha1.AgentLabel: "a", batchv1.ControllerUidLabel: "job"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "a-1", UID: "job", Controller: new(true)}},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: v1alpha1.AgentContainer, Image: "registry.example/agent:1"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: v1alpha1.AgentContainer, State: state}}},
	}
}

// A29: a run of a former document that cannot start is removed, so that the
// present one can run. What the API server has decides that, not the cache.
func TestA29FormerRunIsReleasedOnlyWhenItHasNotStarted(t *testing.T) {
	held := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	refused := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "e"}, InvolvedObject: corev1.ObjectReference{UID: "job"},
		Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: `Error creating: pods "a-1-" is forbidden: exceeded quota: small`,
	}
	for name, c := range map[string]struct {
		generation string
		cached     *corev1.Pod
		live       []client.Object
		released   bool
		after      time.Duration // the next look, where it is not the next run's
	}{
		"its image cannot be pulled":                          {"0", podOf(held), []client.Object{podOf(held)}, true, 0},
		"its image has arrived, and the cache lags":           {"0", podOf(held), []client.Object{podOf(running)}, false, 0},
		"it cannot make its pod":                              {"0", nil, []client.Object{refused}, true, 0},
		"it has no pod, and nothing tells why":                {"0", nil, nil, false, 30 * time.Second},
		"it could not make its pod at first":                  {"0", nil, []client.Object{refused, podOf(running)}, false, 0},
		"it cannot make its pod, but the document is present": {"1", nil, []client.Object{refused}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			api := newClient(t, newAgent(onSchedule()), interceptor.Funcs{Create: createWithUID})
			r, err := newRouter(lagging{&fakeManager{client: api}, descendants(t, c.live...)}, Options{AgentImage: "registry.example/agent:1"})
			require.NoError(t, err)
			for range 3 {
				_, err := r.Reconcile(t.Context(), read(t, api))
				require.NoError(t, err)
			}
			job := run(t, api, c.generation, batchv1.JobStatus{StartTime: new(metav1.Now())})
			if c.cached != nil {
				require.NoError(t, api.Create(t.Context(), c.cached))
			}

			result, err := r.Reconcile(t.Context(), read(t, api))

			require.NoError(t, err)
			if c.after > 0 {
				assert.Equal(t, c.after, result.RequeueAfter)
			}
			err = api.Get(t.Context(), client.ObjectKeyFromObject(job), job)
			if c.released {
				assert.True(t, apierrors.IsNotFound(err), "%v", err)
				return
			}
			assert.NoError(t, err)
		})
	}
}

// Why the last run failed outlasts a pass that fails, and goes when the agent
// no longer runs on a schedule.
func TestLastRunOutlastsAPassThatFails(t *testing.T) {
	errDown := apierrors.NewInternalError(errors.New("down"))
	broken := false
	api := newClient(t, newAgent(onSchedule()), interceptor.Funcs{
		Create: createWithUID,
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, ok := obj.(*batchv1.CronJob); ok && broken {
				return errDown
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	r, err := newRouter(lagging{&fakeManager{client: api}, descendants(t)}, Options{AgentImage: "registry.example/agent:1"})
	require.NoError(t, err)
	lastRun := func() metav1.Condition {
		condition, _ := stages.GetCondition(read(t, api), v1alpha1.ConditionLastRunSucceeded)
		return condition
	}
	for range 3 {
		_, err := r.Reconcile(t.Context(), read(t, api))
		require.NoError(t, err)
	}
	run(t, api, "1", batchv1.JobStatus{Conditions: []batchv1.JobCondition{{
		Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonDeadlineExceeded, LastTransitionTime: metav1.Now(),
	}}})
	_, err = r.Reconcile(t.Context(), read(t, api))
	require.NoError(t, err)
	told := lastRun()
	require.Contains(t, told.Message, "Raise run.activeDeadlineSeconds")

	broken = true
	_, err = r.Reconcile(t.Context(), read(t, api))
	require.ErrorIs(t, err, errDown)
	assert.Equal(t, told, lastRun(), "after the pass that failed")
	broken = false
	_, err = r.Reconcile(t.Context(), read(t, api))
	require.NoError(t, err)
	assert.Equal(t, told, lastRun(), "after the next one")

	agent := read(t, api)
	agent.Status.Conditions = nil
	require.NoError(t, api.Status().Update(t.Context(), agent))
	_, err = r.Reconcile(t.Context(), read(t, api))
	require.NoError(t, err)
	assert.Equal(t, "The program ended with an exit code that is not known (DeadlineExceeded).", lastRun().Message, "the record tells what is left")

	agent = read(t, api)
	agent.Spec.Schedule, agent.Generation = nil, 2
	require.NoError(t, api.Update(t.Context(), agent))
	_, err = r.Reconcile(t.Context(), read(t, api))
	require.NoError(t, err)
	assert.Empty(t, lastRun(), "the agent serves")
}
