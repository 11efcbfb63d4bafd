package main

import (
	"fmt"
	"io"
	"maps"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	eventsv1 "k8s.io/api/events/v1"
)

// call is a kind of request, as tables name it: verb, resource and
// subresource, such as "update loomagents/status".
type call string

// calls counts requests that the API server has answered. Those that it
// answered with a conflict are counted in conflicts too.
type calls struct {
	answered  map[call]float64
	conflicts float64
}

// verbs are the API server's names of what clients do. A server-side apply is
// told from other patches.
var verbs = map[string]string{
	"POST": "create", "PUT": "update", "PATCH": "patch", "APPLY": "apply", "DELETE": "delete",
	"GET": "get", "LIST": "list", "WATCH": "watch",
}

// resources are those that the operator's role lets it call. What the API
// server calls by itself, such as leases and the addresses of Services, is
// none of them.
var resources = map[string]bool{
	"loomagents": true, "deployments": true, "jobs": true, "cronjobs": true, "configmaps": true, "services": true,
	"networkpolicies": true, "pods": true, "persistentvolumeclaims": true, "secrets": true, "events": true,
}

// parseCalls reads apiserver_request_total out of the API server's metrics. The
// API group in which Events are sent is left out: the API server sends some, too,
// and does not count by sender, and the bench lists them.
func parseCalls(metrics io.Reader) (calls, error) {
	found := calls{answered: map[call]float64{}}
	family, err := parseFamily(metrics, "apiserver_request_total")
	if err != nil {
		return found, err
	}
	for _, metric := range family.GetMetric() {
		labels := labelsOf(metric)
		verb, known := verbs[labels["verb"]]
		if !known || !resources[labels["resource"]] || labels["group"] == eventsv1.GroupName {
			continue
		}
		resource := labels["resource"]
		if labels["subresource"] != "" {
			resource += "/" + labels["subresource"]
		}
		found.answered[call(verb+" "+resource)] += metric.GetCounter().GetValue()
		if labels["code"] == "409" {
			found.conflicts += metric.GetCounter().GetValue()
		}
	}
	return found, nil
}

// parseFamily reads one family out of metrics in the Prometheus text format.
func parseFamily(metrics io.Reader, name string) (*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(metrics)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	if families[name] == nil {
		return nil, fmt.Errorf("the metrics have no %s", name)
	}
	return families[name], nil
}

func labelsOf(metric *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, pair := range metric.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	return labels
}

// minus is what was answered since an earlier count. Kinds that were not are
// left out.
func (c calls) minus(earlier calls) calls {
	since := calls{answered: maps.Clone(c.answered), conflicts: c.conflicts - earlier.conflicts}
	for kind, n := range earlier.answered {
		since.answered[kind] -= n
	}
	maps.DeleteFunc(since.answered, func(_ call, n float64) bool { return n == 0 })
	return since
}

// total counts all requests.
func (c calls) total() float64 { return c.count(func(call) bool { return true }) }

// writes counts the requests that can change something.
func (c calls) writes() float64 { return c.count(call.write) }

// reads counts the requests that a cache would have answered.
func (c calls) reads() float64 {
	return c.count(func(kind call) bool { return kind.verb() == "get" || kind.verb() == "list" })
}

func (c calls) count(wanted func(call) bool) float64 {
	sum := 0.0
	for kind, n := range c.answered {
		if wanted(kind) {
			sum += n
		}
	}
	return sum
}

func (k call) verb() string {
	verb, _, _ := strings.Cut(string(k), " ")
	return verb
}

func (k call) write() bool {
	switch k.verb() {
	case "get", "list", "watch":
		return false
	default:
		return true
	}
}
