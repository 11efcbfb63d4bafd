package stages_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

func TestAReportingControllerIgnoresItsOwnStatus(t *testing.T) {
	changes := map[string]struct {
		edit    func(*Settings)
		passes  bool
		version string
	}{
		"status":                         {edit: func(s *Settings) { s.Status.Checksum = "new" }},
		"conditions":                     {edit: func(s *Settings) { s.Status.Conditions = []metav1.Condition{{Type: "Ready"}} }},
		"status and managed fields":      {edit: func(s *Settings) { s.Status.Checksum = "new"; s.ManagedFields = []metav1.ManagedFieldsEntry{{}} }},
		"a generation of unknown fields": {edit: func(s *Settings) { s.Generation++ }, passes: true},
		"spec":                           {edit: func(s *Settings) { s.Spec.Message = "new"; s.Generation++ }, passes: true},
		"labels":                         {edit: func(s *Settings) { s.Labels = map[string]string{"a": "b"} }, passes: true},
		"annotations with status":        {edit: func(s *Settings) { s.Annotations = map[string]string{"a": "b"}; s.Status.Checksum = "new" }, passes: true},
		"deletion":                       {edit: func(s *Settings) { s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, passes: true},
		"a resync":                       {edit: func(*Settings) {}, passes: true, version: "1"},
	}
	w := newWorld(t)
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			before, after := newSettings(), newSettings()
			before.ResourceVersion, after.ResourceVersion = "1", "2"
			if c.version != "" {
				after.ResourceVersion = c.version
			}
			c.edit(after)
			update := event.UpdateEvent{ObjectOld: before, ObjectNew: after}
			kept := after.DeepCopyObject()
			assert.Equal(t, c.passes, w.plain(succeed).Predicate().Update(update))
			assert.Equal(t, kept, client.Object(after), "the cache's object is not changed")

			assert.True(t, w.plain(succeed, stages.StatusUpdates(true)).Predicate().Update(update), "overridden")
			assert.True(t, w.plain(succeed, stages.ReportStatus(false)).Predicate().Update(update), "a controller that does not report gets every update")
			assert.Equal(t, c.passes, w.plain(succeed, stages.ReportStatus(false), stages.StatusUpdates(false)).Predicate().Update(update))
		})
	}
	counting := w.plain(succeed)
	require.NoError(t, counting.Discover(&resources{names: []string{"settings"}}))
	before, after := newSettings(), newSettings()
	before.ResourceVersion, after.ResourceVersion = "1", "2"
	after.Status.Checksum, after.Generation = "new", before.Generation+1
	assert.False(t, counting.Predicate().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}), "without a subresource the status counts as a generation")
	assert.True(t, w.plain(succeed).Predicate().Create(event.CreateEvent{Object: newSettings()}))
	assert.True(t, w.plain(succeed).Predicate().Delete(event.DeleteEvent{Object: newSettings()}))
}
