package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/beyond10x/loom-operator/internal/check"
)

func TestImage(t *testing.T) {
	hex := strings.Repeat("0a", 32)
	for name, row := range map[string]struct {
		repository, tag string
		want            string
		says            string
	}{
		"a name alone comes from the default registry": {repository: "agent"},
		"a path":                                       {repository: "team/agent-x__y.z"},
		"a first part that is no host":                 {repository: "max__y/agent"},
		"a host":                                       {repository: "registry.test/agent"},
		"a host with a port":                           {repository: "registry.test:5000/team/agent"},
		"a host in capitals":                           {repository: "Registry.test/agent"},
		"a host without a dot in capitals":             {repository: "REGISTRY/agent"},
		"localhost":                                    {repository: "localhost/agent"},
		"localhost with a port":                        {repository: "localhost:5000/agent"},
		"a host that is an IPv6 address":               {repository: "[2001:db8::1]:5000/agent"},
		"a tag of 128 characters":                      {repository: "agent", tag: "_" + strings.Repeat("A", 127)},
		"a digest":                                     {repository: "registry.test/agent", tag: "sha256:" + hex},
		"a repository of 255 characters":               {repository: strings.Repeat("a", 255)},
		"a repository of 256 characters":               {repository: strings.Repeat("a", 256), want: "repository", says: "256 characters and at most 255"},
		"no repository":                                {repository: "", want: "repository", says: "The repository is empty"},
		"capitals in the path":                         {repository: "registry.test/Agent", want: "repository", says: "not a valid repository"},
		"a tag in the repository":                      {repository: "registry.test/agent:1", want: "repository", says: "Move it to spec.image.tag"},
		"a tag in a repository without a host":         {repository: "agent:1", want: "repository", says: "already has a tag"},
		"a digest in the repository":                   {repository: "agent@sha256:" + hex, want: "repository", says: "already has a tag or a digest"},
		"a URL":                                        {repository: "https://registry.test/agent", want: "repository"},
		"a blank":                                      {repository: "registry.test/ agent", want: "repository"},
		"a slash at the end":                           {repository: "registry.test/", want: "repository"},
		"a slash at the start":                         {repository: "/agent", want: "repository"},
		"two slashes":                                  {repository: "a//b", want: "repository"},
		"a host that ends in a hyphen":                 {repository: "registry-.test/agent", want: "repository"},
		"a port that is no number":                     {repository: "registry.test:x/agent", want: "repository"},
		"a path that begins with a dot":                {repository: "registry.test/.agent", want: "repository"},
		"a line end":                                   {repository: "agent\n", want: "repository"},
		"the id of an image":                           {repository: hex, want: "repository"},
		"a path of 64 hexadecimal digits below a host": {repository: "registry.test/" + hex},
		"a tag that begins with a hyphen":              {repository: "agent", tag: "-", want: "tag", says: "not a valid tag"},
		"a tag of 129 characters":                      {repository: "agent", tag: strings.Repeat("A", 129), want: "tag"},
		"a tag that begins with a dot":                 {repository: "agent", tag: ".1", want: "tag"},
		"a tag with a colon":                           {repository: "agent", tag: "a:b", want: "tag"},
		"a digest of another algorithm":                {repository: "agent", tag: "sha512:" + hex + hex, want: "tag"},
		"a digest without digits":                      {repository: "agent", tag: "sha256:", want: "tag", says: "64 digits"},
		"a digest of 63 digits":                        {repository: "agent", tag: "sha256:" + hex[1:], want: "tag", says: "not a digest"},
		"a digest of 65 digits":                        {repository: "agent", tag: "sha256:" + hex + "0", want: "tag"},
		"a digest in capitals":                         {repository: "agent", tag: "sha256:" + strings.ToUpper(hex), want: "tag"},
		"a tag that only begins like a digest's name":  {repository: "agent", tag: "sha256"},
		"a tag with a letter beyond ASCII":             {repository: "agent", tag: "é", want: "tag"},
	} {
		t.Run(name, func(t *testing.T) {
			if row.tag == "" {
				row.tag = "1"
			}
			var want []string
			if row.want != "" {
				want = []string{"spec.image." + row.want + " Image"}
			}
			report := check.Run(check.Input{Agent: agentWith(t, fmt.Sprintf("{image: {repository: %q, tag: %q}}", row.repository, row.tag))})
			assert.Equal(t, want, findings(report), report.Message())
			assert.Contains(t, report.Message(), row.says)
			assertWellFormed(t, report)
		})
	}
	assertVerdicts(t, map[string]verdict{
		"an image may be left to the operator": {spec: "{image: null}"},
		"an empty image is not left to it":     {spec: "{image: {repository: '', tag: ''}}", want: []string{"spec.image.repository Image", "spec.image.tag Image"}, says: "The tag is empty"},
	})
	t.Run("an image is needed where the operator has none", func(t *testing.T) {
		report := check.Run(check.Input{Agent: agentWith(t, "{image: null}")})
		assert.Equal(t, []string{"spec.image Image"}, findings(report))
		assert.Contains(t, report.Message(), "Give spec.image.")
		assertWellFormed(t, report)
	})
}
