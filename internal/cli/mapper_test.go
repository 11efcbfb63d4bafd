package cli

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// discovery counts how often it is asked.
type discovery struct {
	*meta.DefaultRESTMapper
	asked int
}

func (d *discovery) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	d.asked++
	return d.DefaultRESTMapper.RESTMapping(kind, versions...)
}

func TestTheMapperAsksForAKindOnce(t *testing.T) {
	kinds := []schema.GroupVersionKind{
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		batchv1.SchemeGroupVersion.WithKind("Job"),
		batchv1.SchemeGroupVersion.WithKind("CronJob"),
	}
	all := &discovery{DefaultRESTMapper: meta.NewDefaultRESTMapper(nil)}
	known := &mapper{RESTMapper: all}
	for _, kind := range kinds {
		_, err := known.RESTMapping(kind.GroupKind(), kind.Version)
		require.True(t, meta.IsNoMatchError(err))
		all.Add(kind, meta.RESTScopeNamespace)
	}
	all.asked = 0
	for range 3 {
		for _, kind := range kinds {
			mapping, err := known.RESTMapping(kind.GroupKind(), kind.Version)
			require.NoError(t, err)
			assert.Equal(t, kind, mapping.GroupVersionKind)
		}
	}
	assert.Equal(t, len(kinds), all.asked)

	_, err := known.RESTMapping(kinds[0].GroupKind(), "v0")
	assert.True(t, meta.IsNoMatchError(err), "another version is another kind")
}

func TestTheManagerHasTheMapper(t *testing.T) {
	provided, err := (&managerFlags{}).options().MapperProvider(&rest.Config{}, http.DefaultClient)
	require.NoError(t, err)
	assert.IsType(t, &mapper{}, provided)
}
