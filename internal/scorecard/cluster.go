package scorecard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

const (
	// manager is the container of the operator in its Deployment.
	manager = "manager"
	// patience bounds each wait for the operator. A schedule starts a run
	// within a minute.
	patience = 2 * time.Minute
	// interval is the time between two looks.
	interval = 200 * time.Millisecond
)

// Cluster is where an operator runs.
type Cluster struct {
	// Client has the permissions of config/scorecard.
	Client client.Client
	// Namespace is the operator's own, and that of the test.
	Namespace string
}

// InCluster is the cluster of the pod that a test runs in. scorecard names the
// namespace in the environment variable SCORECARD_NAMESPACE.
func InCluster() (Cluster, error) {
	namespace := os.Getenv("SCORECARD_NAMESPACE")
	if namespace == "" {
		return Cluster{}, errors.New("the environment variable SCORECARD_NAMESPACE is empty")
	}
	login, err := rest.InClusterConfig()
	if err != nil {
		return Cluster{}, err
	}
	return Connect(login, namespace)
}

// Connect reaches the cluster of a login.
func Connect(login *rest.Config, namespace string) (Cluster, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return Cluster{}, err
	}
	login = rest.CopyConfig(login)
	login.QPS = -1
	login.WarningHandler = rest.NoWarnings{}
	c, err := client.New(login, client.Options{Scheme: scheme})
	return Cluster{Client: c, Namespace: namespace}, err
}

func (c Cluster) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: c.Namespace, Name: name}
}

// await calls look until it returns nil. Its last error is the cause when that
// takes too long.
func await(ctx context.Context, what string, look func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		if err := look(ctx); err == nil || ctx.Err() == nil {
			last = err
		}
		return last == nil, nil
	})
	if err == nil {
		return nil
	}
	if last == nil {
		last = err
	}
	return fmt.Errorf("it was waited in vain until %s: %w", what, last)
}

// operatorRuns wants the operator of the bundle to be available, with the image
// of the bundle.
func operatorRuns(ctx context.Context, s subject, c Cluster) (found []finding) {
	for _, wanted := range s.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		deployment := &appsv1.Deployment{}
		if err := c.Client.Get(ctx, c.key(wanted.Name), deployment); err != nil {
			found = append(found, fault("The operator does not run in the namespace %s: %v.", c.Namespace, err))
			continue
		}
		if available := deployment.Status.AvailableReplicas; available == 0 {
			found = append(found, fault("The operator does not run: no pod of the Deployment %s is available.", wanted.Name))
		}
		images := map[string]string{}
		for _, container := range deployment.Spec.Template.Spec.Containers {
			images[container.Name] = container.Image
		}
		for _, container := range wanted.Spec.Template.Spec.Containers {
			if image := images[container.Name]; image != container.Image {
				found = append(found, fault("The container %s of the operator runs %q, and the bundle has %s.", container.Name, image, container.Image))
			}
		}
	}
	return found
}
