package guard

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

func TestNextStep(t *testing.T) {
	ours, other, foreign := &Found{UID: "job", Ours: true}, &Found{UID: "other", Ours: true}, &Found{UID: "x"}
	for name, c := range map[string]struct {
		facts Facts
		want  Step
	}{
		"nothing was started: create":                                        {Facts{}, Create},
		"nothing was started, and a live read agrees: create":                {Facts{Live: true}, Create},
		"A36 a mark, and the cache has no Job: look":                         {Facts{Marked: true}, Look},
		"A36 a mark, and a live read has no Job: nothing ran, create":        {Facts{Marked: true, Live: true}, Create},
		"A19 a mark, and the Job is there: adopt":                            {Facts{Marked: true, Found: ours}, Adopt},
		"A06 no mark in a lagging cache, and the Job is there: adopt":        {Facts{Found: ours}, Adopt},
		"a live read has the Job: adopt":                                     {Facts{Marked: true, Found: ours, Live: true}, Adopt},
		"the recorded Job is there: follow":                                  {Facts{Recorded: "job", Found: ours}, Follow},
		"A64 recorded and still marked: the record counts":                   {Facts{Recorded: "job", Marked: true, Found: ours}, Follow},
		"the recorded Job is not in the cache: look":                         {Facts{Recorded: "job"}, Look},
		"A01 the recorded Job is gone for good: lose, never create":          {Facts{Recorded: "job", Live: true}, Lose},
		"the recorded Job is gone and a mark is left: lose, never create":    {Facts{Recorded: "job", Marked: true, Live: true}, Lose},
		"another Job of ours in the cache: look first":                       {Facts{Recorded: "job", Found: other}, Look},
		"another Job of ours for sure: discard":                              {Facts{Recorded: "job", Found: other, Live: true}, Discard},
		"A35 a Job of somebody else: yield":                                  {Facts{Found: foreign}, Yield},
		"A35 a Job of somebody else although one was recorded: yield":        {Facts{Recorded: "job", Found: foreign, Live: true}, Yield},
		"A35 a Job of somebody else although a create was sent: yield":       {Facts{Marked: true, Found: foreign}, Yield},
		"a mark beside a Job that is ours but not the recorded one: look":    {Facts{Recorded: "job", Marked: true, Found: other}, Look},
		"a mark beside another Job of ours for sure: discard, do not create": {Facts{Recorded: "job", Marked: true, Found: other, Live: true}, Discard},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, Next(c.facts))
		})
	}
}

// Creating is safe only when nothing was recorded and, where a create may have
// been sent, a live read found nothing.
func TestCreateNeedsCertainty(t *testing.T) {
	for _, recorded := range []types.UID{"", "job"} {
		for _, marked := range []bool{false, true} {
			for _, live := range []bool{false, true} {
				for _, found := range []*Found{nil, {UID: "job", Ours: true}, {UID: "other", Ours: true}, {UID: "x"}} {
					if Next(Facts{recorded, marked, found, live}) != Create {
						continue
					}
					assert.Empty(t, recorded)
					assert.Nil(t, found)
					assert.True(t, live || !marked)
				}
			}
		}
	}
}

func TestOutcomeOfCreate(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for name, c := range map[string]struct {
		err  error
		want Outcome
	}{
		"A20 no error: created":                     {nil, Created},
		"A20 (b) 409: a Job of that name exists":    {apierrors.NewAlreadyExists(jobs, "j"), Exists},
		"A20 (c) 403, quota or webhook: refused":    {apierrors.NewForbidden(jobs, "j", errors.New("exceeded quota")), Refused},
		"A20 (d) 422: refused":                      {apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "j", nil), Refused},
		"A20 (e) 429: refused":                      {apierrors.NewTooManyRequests("busy", 1), Refused},
		"404, the namespace is gone: refused":       {apierrors.NewNotFound(jobs, "j"), Refused},
		"A20 (a) 504: unknown":                      {apierrors.NewTimeoutError("timeout", 1), Unknown},
		"A20 (a) the server timed out: unknown":     {apierrors.NewServerTimeout(jobs, "create", 1), Unknown},
		"A20 (a) 500: unknown":                      {apierrors.NewInternalError(errors.New("etcd")), Unknown},
		"A20 (a) 503: unknown":                      {apierrors.NewServiceUnavailable("down"), Unknown},
		"A20 (a) the connection was reset: unknown": {errors.New("read: connection reset by peer"), Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, OutcomeOf(c.err))
		})
	}
}

func TestMarksOfOthersAreIgnored(t *testing.T) {
	agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{UID: "a", Generation: 2}}
	attempt := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		mark  string
		start string
		want  bool
	}{
		"its own":                       {Mark{"a", 2, "j", attempt}.String(), Start{"a", 2, "j"}.String(), true},
		"of another UID, restored YAML": {Mark{"b", 2, "j", attempt}.String(), Start{"b", 2, "j"}.String(), false},
		"of another generation":         {Mark{"a", 1, "j", attempt}.String(), Start{"a", 1, "j"}.String(), false},
		"unreadable":                    {"{", "yes", false},
		"empty":                         {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			agent.Annotations = map[string]string{v1alpha1.CreatePendingAnnotation: c.mark, v1alpha1.RunAnnotation: c.start}
			mark, marked := MarkOf(agent)
			start, started := StartOf(agent)
			require.Equal(t, c.want, marked)
			require.Equal(t, c.want, started)
			if c.want {
				assert.Equal(t, Mark{"a", 2, "j", attempt}, mark)
				assert.Equal(t, Start{"a", 2, "j"}, start)
			}
		})
	}
	agent.Annotations = nil
	_, marked := MarkOf(agent)
	assert.False(t, marked)
}
