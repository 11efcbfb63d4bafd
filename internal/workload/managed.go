package workload

import "github.com/beyond10x/loom-operator/apis/v1alpha1"

// ManagedBy returns the label that every child, and every pod, carries, so that
// a cache can be limited to them.
func ManagedBy() map[string]string {
	return map[string]string{labelManagedBy: v1alpha1.FieldOwner}
}
