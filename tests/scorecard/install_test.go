package scorecard_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/internal/bundle"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// installation is the operator of a bundle, as the Operator Lifecycle Manager
// installs it for an OperatorGroup of its own namespace.
type installation struct {
	cluster   *harness.Cluster
	namespace string
	csv       v1alpha1.ClusterServiceVersion
	made      []client.Object
}

// install makes the namespace with its Pod Security level, and in it what the
// bundle says: service account, roles and Deployment. The tests of scorecard
// get their service account. What was made is in the installation also when
// something failed.
func install(ctx context.Context, cluster *harness.Cluster, folder string) (*installation, error) {
	i := &installation{cluster: cluster}
	if err := readManifest(filepath.Join(folder, "manifests", "loom-operator.clusterserviceversion.yaml"), &i.csv); err != nil {
		return i, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "scorecard-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := i.create(ctx, namespace); err != nil {
		return i, err
	}
	i.namespace = namespace.Name
	crd, err := os.ReadFile(filepath.Join(folder, "manifests", "loom.beyond10x.dev_loomagents.yaml"))
	if err != nil {
		return i, err
	}
	if err := cluster.Apply(ctx, crd); err != nil {
		return i, err
	}
	return i, errors.Join(i.grantAll(ctx), i.deploy(ctx), i.admitScorecard(ctx))
}

func (i *installation) grantAll(ctx context.Context) error {
	strategy := i.csv.Spec.InstallStrategy.StrategySpec
	account := strategy.DeploymentSpecs[0].Spec.Template.Spec.ServiceAccountName
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: i.namespace, Name: account}}
	failed := []error{i.create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: account}})}
	for n, permission := range strategy.Permissions {
		meta := metav1.ObjectMeta{Namespace: i.namespace, Name: fmt.Sprintf("%s-%d", i.csv.Name, n)}
		failed = append(failed,
			i.create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: permission.Rules}),
			i.create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}}))
	}
	for n, permission := range strategy.ClusterPermissions {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", i.namespace, n)}
		failed = append(failed,
			i.create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: permission.Rules}),
			i.create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}}))
	}
	return errors.Join(failed...)
}

// deploy hands the pods the namespaces to look after, as OLM does.
func (i *installation) deploy(ctx context.Context) error {
	wanted := i.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: wanted.Name, Labels: wanted.Label}, Spec: wanted.Spec}
	metav1.SetMetaDataAnnotation(&deployment.Spec.Template.ObjectMeta, "olm.targetNamespaces", i.namespace)
	return i.create(ctx, deployment)
}

// admitScorecard applies config/scorecard, as kustomize does for a namespace.
func (i *installation) admitScorecard(ctx context.Context) error {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, "config", "scorecard", "rbac.yaml"))
	if err != nil {
		return err
	}
	const reviewer = "loom-scorecard-reviewer"
	i.made = append(i.made,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: reviewer}}, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: reviewer}})
	return i.cluster.Apply(ctx, []byte(strings.ReplaceAll(string(text), harness.OperatorNamespace, i.namespace)))
}

// available waits until a pod of the operator is.
func (i *installation) available(ctx context.Context) error {
	deployment := &appsv1.Deployment{}
	if err := i.cluster.Client.Get(ctx, i.operator(), deployment); err != nil {
		return err
	}
	if deployment.Status.AvailableReplicas == 0 {
		return fmt.Errorf("no pod of the operator is available: %v", deployment.Status.Conditions)
	}
	return nil
}

func (i *installation) operator() client.ObjectKey {
	return client.ObjectKey{Namespace: i.namespace, Name: i.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name}
}

func (i *installation) create(ctx context.Context, object client.Object) error {
	if err := i.cluster.Client.Create(ctx, object); err != nil {
		return err
	}
	i.made = append(i.made, object)
	return nil
}

// remove deletes what was made, the operator and its namespace included.
func (i *installation) remove(ctx context.Context) error {
	var failed []error
	for _, object := range i.made {
		failed = append(failed, client.IgnoreNotFound(i.cluster.Client.Delete(ctx, object)))
	}
	return errors.Join(failed...)
}

// build generates the bundle of this tree into a folder, for images that were
// built from it, and returns the folder.
func build(folder string, change func(*bundle.Release)) (string, error) {
	root, err := harness.Root()
	if err != nil {
		return "", err
	}
	files := fstest.MapFS{}
	repository := os.DirFS(root)
	err = fs.WalkDir(repository, "config", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(repository, name)
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		return "", err
	}
	release, err := bundle.ReadRelease(files)
	if err != nil {
		return "", err
	}
	change(&release)
	if files[bundle.ReleaseFile].Data, err = yaml.Marshal(release); err != nil {
		return "", err
	}
	built, err := bundle.Files(files)
	if err != nil {
		return "", err
	}
	for name, text := range built {
		file := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644)); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, bundle.Folder), nil
}

func readManifest(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(text, into)
}
