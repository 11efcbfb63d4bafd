package scorecard_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What operator-sdk scorecard does, as its source has it in
// internal/scorecard: testconfigmap.go, testpod.go and scorecard.go.
const (
	testContainer = "scorecard-test"
	archiveKey    = "bundle.tar.gz"
)

// player plays the part of operator-sdk scorecard in a namespace, with
// --pod-security=restricted.
type player struct {
	client    client.Client
	pods      kubernetes.Interface
	namespace string
	// untar is the image whose program unpacks the bundle.
	untar string
	// bundle is the name of the ConfigMap that holds it.
	bundle string
}

// outcome is what one test said, by its name.
type outcome map[string]v1alpha3.TestStatus

// play runs every stage of the bundle's own configuration. The pods and the
// ConfigMap are gone afterwards.
func (p player) play(ctx context.Context, folder string) (_ outcome, err error) {
	var config v1alpha3.Configuration
	if err := readManifest(filepath.Join(folder, "tests", "scorecard", "config.yaml"), &config); err != nil {
		return nil, err
	}
	archive, err := pack(folder)
	if err != nil {
		return nil, err
	}
	holder := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, GenerateName: "scorecard-test-"}, BinaryData: map[string][]byte{archiveKey: archive}}
	if err := p.client.Create(ctx, holder); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.client.Delete(context.WithoutCancel(ctx), holder)) }()
	p.bundle = holder.Name
	said := outcome{}
	for _, stage := range config.Stages {
		if err := p.stage(ctx, stage, config.ServiceAccount, said); err != nil {
			return nil, err
		}
	}
	return said, nil
}

func (p player) stage(ctx context.Context, stage v1alpha3.StageConfiguration, account string, said outcome) error {
	results := make([]v1alpha3.TestStatus, len(stage.Tests))
	group, ctx := errgroup.WithContext(ctx)
	if !stage.Parallel {
		group.SetLimit(1)
	}
	for i, test := range stage.Tests {
		group.Go(func() (err error) {
			results[i], err = p.test(ctx, test, account)
			return err
		})
	}
	err := group.Wait()
	for i, test := range stage.Tests {
		said[test.Labels["test"]] = results[i]
	}
	return err
}

// test runs one pod to its end. The whole log of it has to be the status.
func (p player) test(ctx context.Context, test v1alpha3.TestConfiguration, account string) (status v1alpha3.TestStatus, err error) {
	pod := p.pod(test, account)
	if err := p.client.Create(ctx, pod); err != nil {
		return status, err
	}
	defer func() {
		err = errors.Join(err, client.IgnoreNotFound(p.client.Delete(context.WithoutCancel(ctx), pod)))
	}()
	if err := p.terminated(ctx, pod); err != nil {
		return status, fmt.Errorf("%s: %w: %v", test.Labels["test"], err, pod.Status.ContainerStatuses)
	}
	log, err := p.pods.CoreV1().Pods(p.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: testContainer}).DoRaw(ctx)
	if err != nil {
		return status, err
	}
	decoder := json.NewDecoder(bytes.NewReader(log))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&status); err != nil || decoder.More() {
		return status, fmt.Errorf("%s: the log is more or less than one status: %w: %s", test.Labels["test"], err, log)
	}
	return status, nil
}

func (p player) terminated(ctx context.Context, pod *corev1.Pod) error {
	return wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, err
		}
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == testContainer && status.State.Terminated != nil {
				return true, nil
			}
		}
		return false, nil
	})
}

func (p player) pod(test v1alpha3.TestConfiguration, account string) *corev1.Pod {
	security := &corev1.SecurityContext{
		RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.namespace, GenerateName: "scorecard-test-", Labels: map[string]string{"app": "scorecard-test", "testrun": p.bundle},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: account,
			RestartPolicy:      corev1.RestartPolicyNever,
			SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: testContainer, Image: test.Image, ImagePullPolicy: corev1.PullIfNotPresent, Command: test.Entrypoint, SecurityContext: security,
				VolumeMounts: []corev1.VolumeMount{{MountPath: "/bundle", Name: "scorecard-untar", ReadOnly: true}},
				Env:          []corev1.EnvVar{{Name: "SCORECARD_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}},
			}},
			InitContainers: []corev1.Container{{
				Name: "scorecard-untar", Image: p.untar, ImagePullPolicy: corev1.PullIfNotPresent, SecurityContext: security,
				Args: []string{"tar", "xvzf", "/scorecard/" + archiveKey, "-C", "/scorecard-bundle"},
				VolumeMounts: []corev1.VolumeMount{
					{MountPath: "/scorecard", Name: "scorecard-bundle", ReadOnly: true},
					{MountPath: "/scorecard-bundle", Name: "scorecard-untar"},
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "scorecard-bundle", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: p.bundle}}}},
				{Name: "scorecard-untar", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}
}

// pack is the bundle as one archive.
func pack(folder string) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	writer := tar.NewWriter(zipped)
	err := errors.Join(writer.AddFS(os.DirFS(folder)), writer.Close(), zipped.Close())
	return out.Bytes(), err
}
