package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
)

const metrics = `# HELP apiserver_request_total Counter of requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",resource="jobs",subresource="",verb="POST"} 3
apiserver_request_total{code="409",resource="jobs",subresource="",verb="POST"} 1
apiserver_request_total{code="200",resource="loomagents",subresource="status",verb="PUT"} 4
apiserver_request_total{code="200",resource="services",subresource="",verb="APPLY"} 2
apiserver_request_total{code="200",resource="secrets",subresource="",verb="LIST"} 1
apiserver_request_total{code="200",resource="secrets",subresource="",verb="GET"} 2
apiserver_request_total{code="0",resource="pods",subresource="",verb="WATCH"} 5
apiserver_request_total{code="200",resource="leases",subresource="",verb="PUT"} 70
apiserver_request_total{code="201",resource="ipaddresses",subresource="",verb="POST"} 2
apiserver_request_total{code="201",group="events.k8s.io",resource="events",subresource="",verb="POST"} 6
apiserver_request_total{code="200",group="events.k8s.io",resource="events",subresource="",verb="LIST"} 8
apiserver_request_total{code="200",group="",resource="events",subresource="",verb="LIST"} 1
apiserver_request_total{code="200",resource="",subresource="",verb="GET"} 9
apiserver_request_total{code="200",resource="pods",subresource="",verb="CONNECT"} 9
# TYPE go_goroutines gauge
go_goroutines 7
`

func count(t *testing.T, text string) calls {
	t.Helper()
	counted, err := parseCalls(strings.NewReader(text))
	require.NoError(t, err)
	return counted
}

func TestCallsAreThoseThatTheOperatorMayMake(t *testing.T) {
	counted := count(t, metrics)

	assert.Equal(t, map[call]float64{
		"create jobs": 4, "update loomagents/status": 4, "apply services": 2, "list secrets": 1, "get secrets": 2, "watch pods": 5, "list events": 1,
	}, counted.answered)
	assert.Equal(t, 1., counted.conflicts)
	assert.Equal(t, 10., counted.writes())
	assert.Equal(t, 4., counted.reads(), "a watch is what keeps a cache")
	assert.Equal(t, 19., counted.total())
}

// The API server sends some, too, and its count of them does not tell by whom
// they were sent.
func TestEventsAreThoseOfTheOperator(t *testing.T) {
	by := func(controller string) eventsv1.Event { return eventsv1.Event{ReportingController: controller} }

	assert.Zero(t, sentByOperator([]eventsv1.Event{by("ipallocator-repair-controller"), by("")}))
	assert.Equal(t, 2., sentByOperator([]eventsv1.Event{
		by("loom.beyond10x.dev/agentserve"), by("ipallocator-repair-controller"), by("loom.beyond10x.dev/command"),
	}))
}

func TestCallsSinceAnEarlierCount(t *testing.T) {
	before := count(t, metrics)
	after := count(t, strings.NewReplacer(`verb="POST"} 3`, `verb="POST"} 5`, `verb="POST"} 1`, `verb="POST"} 2`).Replace(metrics))

	since := after.minus(before)

	assert.Equal(t, map[call]float64{"create jobs": 3}, since.answered, "what was not called is left out")
	assert.Equal(t, 1., since.conflicts)
	assert.Equal(t, 4., before.answered["create jobs"], "the earlier count stays")
}

func TestMetricsThatCannotBeCounted(t *testing.T) {
	for name, text := range map[string]string{
		"without the family": "go_goroutines 7\n",
		"without a format":   "<html>",
	} {
		_, err := parseCalls(strings.NewReader(text))
		assert.Error(t, err, name)
	}
}
