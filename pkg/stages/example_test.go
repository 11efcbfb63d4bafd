package stages_test

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

// Two stages: the first writes a ConfigMap, the second reads it back.
func Example() {
	configure := func(ctx context.Context, pass *stages.Pass[*Settings]) error {
		if pass.Object().Spec.Suspended {
			return stages.Wait("Suspended", "Set spec.suspended to false to go on.", 5*time.Minute)
		}
		return pass.Ensure(ctx, &corev1.ConfigMap{Data: map[string]string{"message": pass.Object().Spec.Message}})
	}
	measure := func(ctx context.Context, pass *stages.Pass[*Settings]) error {
		config := &corev1.ConfigMap{}
		if err := pass.Get(ctx, client.ObjectKeyFromObject(pass.Object()), config); err != nil {
			return err
		}
		length := len(config.Data["message"])
		pass.Reached("Measured", fmt.Sprintf("The message has %d bytes.", length))
		return nil
	}

	b := stages.For[*Settings]("settings", stages.Owns(&corev1.ConfigMap{}))
	b.Stage("ConfigurationReady").Do(configure)
	b.Stage("Measured").After("ConfigurationReady").Do(measure)

	// A real program takes both from the manager and calls SetupWithManager.
	c := exampleClient(&Settings{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "greeting", UID: "1"},
		Spec:       SettingsSpec{Message: "hello"},
	})
	settings, err := b.Build(c, c)
	if err != nil {
		fmt.Println(err)
		return
	}
	show := func(suspended bool) {
		ctx, obj := context.Background(), &Settings{}
		_ = c.Get(ctx, client.ObjectKey{Namespace: "demo", Name: "greeting"}, obj)
		obj.Spec.Suspended = suspended
		_ = c.Update(ctx, obj)
		result, err := settings.Reconcile(ctx, obj)
		_ = c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		fmt.Println("again after:", result.RequeueAfter, "error:", err)
		for _, condition := range obj.Status.Conditions {
			fmt.Printf("  %s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
		}
	}
	show(false)
	show(true)
	// Output:
	// again after: 0s error: <nil>
	//   ConfigurationReady=True Succeeded: Stage "ConfigurationReady" succeeded.
	//   Measured=True Measured: The message has 5 bytes.
	//   Ready=True Measured: The message has 5 bytes.
	// again after: 5m0s error: <nil>
	//   ConfigurationReady=False Suspended: Set spec.suspended to false to go on.
	//   Measured=Unknown DependencyNotReady: Not examined, because ConfigurationReady is not True.
	//   Ready=False Suspended: Set spec.suspended to false to go on.
}

func exampleClient(objects ...client.Object) client.Client {
	scheme := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(scheme))
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(eventsv1.AddToScheme(scheme))
	scheme.AddKnownTypes(groupVersion, &Settings{}, &SettingsList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&Settings{}).Build()
}
