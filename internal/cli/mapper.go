package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// mapper finds the resource of each kind once; what is not found is looked for
// again. controller-runtime asks for it at every event of a child and, where
// namespaces are chosen, at every read from the cache. Its own mapper goes
// through all groups and versions each time, which was a third of all that an
// operator of one namespace allocated.
type mapper struct {
	meta.RESTMapper
	known sync.Map // of *meta.RESTMapping by schema.GroupVersionKind
}

// newMapper is a cluster.Options.MapperProvider.
func newMapper(config *rest.Config, httpClient *http.Client) (meta.RESTMapper, error) {
	dynamic, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("find the kinds of the API server: %w", err)
	}
	return &mapper{RESTMapper: dynamic}, nil
}

// RESTMapping returns the same mapping to all, who only read it.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	key := kind.WithVersion(strings.Join(versions, ","))
	if known, ok := m.known.Load(key); ok {
		return known.(*meta.RESTMapping), nil
	}
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil {
		m.known.Store(key, mapping)
	}
	return mapping, err
}
