package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// slots runs lives side by side, each in a namespace that it has for itself.
type slots struct {
	cluster  *harness.Cluster
	parallel int
	made     []string
}

// each calls work for every number below n, a few at a time. A namespace is
// used again unless work says that something may be left in it.
func (s *slots) each(ctx context.Context, n int, work func(ctx context.Context, i int, namespace string) (clean bool, err error)) error {
	free := make(chan string, s.parallel)
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.parallel)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			namespace, err := s.take(ctx, &mu, free)
			if err != nil {
				return err
			}
			clean, err := work(ctx, i, namespace)
			if clean {
				free <- namespace
			}
			return err
		})
	}
	return group.Wait()
}

// take takes a namespace that is free, or makes one.
func (s *slots) take(ctx context.Context, mu *sync.Mutex, free <-chan string) (string, error) {
	select {
	case namespace := <-free:
		return namespace, nil
	default:
		return s.namespace(ctx, mu)
	}
}

// namespace makes one in which the operator may also elect a leader.
func (s *slots) namespace(ctx context.Context, mu *sync.Mutex) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "faults-"}}
	if err := s.create(ctx, namespace); err != nil {
		return "", fmt.Errorf("make a namespace: %w", err)
	}
	mu.Lock()
	s.made = append(s.made, namespace.Name)
	mu.Unlock()
	named := metav1.ObjectMeta{Namespace: namespace.Name, Name: "leader-election"}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "update"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: harness.OperatorNamespace, Name: harness.OperatorServiceAccount}},
		},
	} {
		if err := s.create(ctx, object); err != nil {
			return "", fmt.Errorf("let the operator elect a leader: %w", err)
		}
	}
	return namespace.Name, nil
}

// create creates an object, also where a storm is restarting the API server.
func (s *slots) create(ctx context.Context, object client.Object) error {
	return await(ctx, converges, func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(s.cluster.Client.Create(ctx, object))
	})
}

// close removes the namespaces.
func (s *slots) close(ctx context.Context) error {
	var failed []error
	for _, name := range s.made {
		failed = append(failed, await(ctx, converges, func(ctx context.Context) error {
			return client.IgnoreNotFound(s.cluster.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		}))
	}
	return errors.Join(failed...)
}
