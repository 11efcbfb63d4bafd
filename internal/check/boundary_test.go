package check_test

import (
	"fmt"
	"testing"
)

func TestBoundary(t *testing.T) {
	table := map[string]verdict{
		"all three upstreams": {spec: `{boundary: {
			model: {upstream: "https://models.test", audience: m},
			connectors: {upstream: "http://connectors:8080/v1?x=y", audience: c, operations: [issues.read]},
			git: {upstream: "https://[::1]:443", audience: g, repositories: [team/app]}}}`},
		"empty lists allow nothing": {spec: `{boundary: {connectors: {upstream: "http://c", audience: c, operations: []}, git: {upstream: "http://g", audience: g, repositories: []}}}`},
		"lists that are missing": {
			spec: `{boundary: {connectors: {upstream: "http://c", audience: c}, git: {upstream: "http://g", audience: g}}}`,
			want: []string{"spec.boundary.connectors.operations BoundaryList", "spec.boundary.git.repositories BoundaryList"},
			says: "Name each repository that is allowed, or give [] to allow none.",
		},
		"entries that are empty": {
			spec: `{boundary: {connectors: {upstream: "http://c", audience: c, operations: [a, ""]}, git: {upstream: "http://g", audience: g, repositories: [" "]}}}`,
			want: []string{"spec.boundary.connectors.operations[1] BoundaryList", "spec.boundary.git.repositories[0] BoundaryList"},
			says: "Name the operation or remove the entry.",
		},
		"A05 empty upstreams are all reported": {
			spec: `{boundary: {model: {}, connectors: {operations: []}, git: {repositories: []}}}`,
			want: []string{
				"spec.boundary.model.upstream BoundaryUpstream", "spec.boundary.connectors.upstream BoundaryUpstream", "spec.boundary.git.upstream BoundaryUpstream",
				"spec.boundary.model.audience BoundaryAudience", "spec.boundary.connectors.audience BoundaryAudience", "spec.boundary.git.audience BoundaryAudience",
			},
			says: "The URL is empty",
		},
		"an audience of blanks": {spec: `{boundary: {model: {upstream: "http://m", audience: " "}}}`, want: []string{"spec.boundary.model.audience BoundaryAudience"}},
	}
	refused := []string{"spec.boundary.model.upstream BoundaryUpstream"}
	for name, row := range map[string]struct {
		url  string
		want []string
		says string
	}{
		"a URL with a capital scheme":     {url: "HTTPS://models.test"},
		"a URL with the last port":        {url: "https://models.test:65535"},
		"a URL with an empty port":        {url: "https://models.test:"},
		"a URL with a port too high":      {url: "https://models.test:65536", want: refused, says: "between 1 and 65535"},
		"a URL with port zero":            {url: "https://models.test:0", want: refused, says: "between 1 and 65535"},
		"a URL with the first port":       {url: "https://models.test:1"},
		"a URL with a port that is text":  {url: "https://models.test:x", want: refused, says: "not an absolute"},
		"a URL of another scheme":         {url: "ftp://models.test", want: refused, says: "not an absolute http or https URL"},
		"a host alone":                    {url: "models.test", want: refused},
		"a host with a port alone":        {url: "models.test:443", want: refused},
		"a path alone":                    {url: "/v1", want: refused},
		"a scheme alone":                  {url: "https://", want: refused},
		"a port without a host":           {url: "https://:443", want: refused},
		"a scheme without slashes":        {url: "https:models.test", want: refused},
		"a URL with a user":               {url: "https://u@models.test", want: refused, says: "user or a password"},
		"a URL with an empty user":        {url: "https://@models.test", want: refused, says: "user or a password"},
		"a URL with a fragment":           {url: "https://models.test/#x", want: refused, says: "fragment"},
		"a URL with an empty fragment":    {url: "https://models.test/#", want: refused, says: "fragment"},
		"a URL with a control character":  {url: `https://models.test/\x01`, want: refused},
		"a URL with a blank in its host":  {url: "https://models test", want: refused},
		"a URL with a percent too much":   {url: "https://models.test/%zz", want: refused},
		"a URL with a blank before it":    {url: " https://models.test", want: refused},
		"a URL with a host in non-ASCII":  {url: "https://mödels.test"},
		"a URL with brackets left open":   {url: "https://[::1", want: refused},
		"a URL with a path and no scheme": {url: "//models.test/v1", want: refused},
	} {
		table[name] = verdict{spec: fmt.Sprintf(`{boundary: {model: {upstream: "%s", audience: m}}}`, row.url), want: row.want, says: row.says}
	}
	assertVerdicts(t, table)
}
