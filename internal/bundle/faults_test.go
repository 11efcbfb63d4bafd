package bundle_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/internal/bundle"
)

func TestAFaultInTheSourceIsNamed(t *testing.T) {
	type edit struct{ file, from, to string }
	const (
		descriptors = "config/bundle/descriptors.yaml"
		release     = "config/bundle/release.yaml"
		deployment  = "config/manager/deployment.yaml"
		role        = "config/rbac/role.yaml"
	)
	for name, test := range map[string]struct {
		edit edit
		want string
	}{
		"a field has no descriptor":            {edit{descriptors, "- {path: suspend, name: Suspend, hints: [\"ui:booleanSwitch\"]}\n", ""}, descriptors + ": spec lacks the path suspend"},
		"a nested field has no descriptor":     {edit{descriptors, "- {path: serve.port, name: Port, hints: [\"ui:number\"]}\n", ""}, "spec lacks the path serve.port"},
		"a descriptor is of no field":          {edit{descriptors, "path: nextRun", "path: nextRum"}, "status has the path nextRum, which is no field"},
		"a descriptor is there twice":          {edit{descriptors, "path: run.backoffLimit", "path: run.activeDeadlineSeconds"}, "spec has the path run.activeDeadlineSeconds twice"},
		"a hint is misspelled":                 {edit{descriptors, "ui:podCount", "iu:podCount"}, `the hint "iu:podCount" starts with neither ui: nor kubernetes`},
		"an image is named by tag":             {edit{release, "loom-agent@sha256:", "loom-agent:0.1.0-sha256-"}, "images.agent is"},
		"the version is no semantic version":   {edit{release, "version: 0.1.0", "version: v0.1"}, `version is "v0.1"`},
		"the time is no RFC 3339":              {edit{release, "created: \"2026-11-", "created: \"2026/11/"}, "created is"},
		"the key is misspelled":                {edit{release, "version:", "Version:"}, release + ": "},
		"the manager has another name":         {edit{deployment, "- name: manager", "- name: operator"}, deployment + `: there is no container "manager"`},
		"the namespaces are not read":          {edit{deployment, "- name: WATCH_NAMESPACE\n          value: \"\"\n        ", ""}, `the container "manager" has no variable WATCH_NAMESPACE`},
		"the agent image is not read":          {edit{deployment, "RELATED_IMAGE_LOOM_AGENT", "AGENT_IMAGE"}, "has no variable RELATED_IMAGE_LOOM_AGENT"},
		"a rule mixes cluster and namespace":   {edit{role, "- tokenreviews", "- tokenreviews\n  - pods"}, role + ": one rule is about [tokenreviews pods]"},
		"an example has no name of its own":    {edit{"config/samples/serve.yaml", "name: support-desk", "name: release-notes"}, `the name of an example is "release-notes"`},
		"the owned version does not exist":     {edit{"config/bundle/csv.yaml", "version: v1alpha1\n      kind", "version: v1\n      kind"}, "there is no version v1"},
		"a manifest has a key that is unknown": {edit{deployment, "replicas: 2", "replica: 2"}, deployment + ": "},
	} {
		t.Run(name, func(t *testing.T) {
			files := source(t)
			change(t, files, test.edit.file, test.edit.from, test.edit.to)
			_, err := bundle.Files(files)
			require.Error(t, err)
			assert.Contains(t, err.Error(), test.want)
		})
	}
}

func TestAKindThatOLMWouldLeaveBehindIsRefused(t *testing.T) {
	files := source(t)
	files["config/rbac/priority.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: loom}\n")}
	_, err := bundle.Files(files)
	assert.ErrorContains(t, err, `config/rbac/priority.yaml: a bundle has no place for the kind "PriorityClass"`)
}

func TestAMissingFileIsNamed(t *testing.T) {
	for file := range source(t) {
		if !strings.HasPrefix(file, "config/bundle/") {
			continue
		}
		files := source(t)
		delete(files, file)
		_, err := bundle.Files(files)
		assert.ErrorContains(t, err, file)
	}
}

const digest = "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"

func TestAReleaseIsRecorded(t *testing.T) {
	text, err := bundle.Record(validRelease(), bundle.Release{}, strings.NewReader(
		"/tmp/operator.tar\tghcr.io/beyond10x/loom-operator:0.2.0\t"+digest+"\n"+
			"/tmp/agent.tar\tghcr.io/beyond10x/loom-agent:0.2.0\t"+digest+"\n"+
			"/tmp/scorecard.tar\tghcr.io/beyond10x/loom-scorecard:0.2.0\t"+digest+"\n"))
	require.NoError(t, err)

	files := source(t)
	files[bundle.ReleaseFile] = &fstest.MapFile{Data: text}
	release, err := bundle.ReadRelease(files)
	require.NoError(t, err)
	want := validRelease()
	want.Images = bundle.Images{
		Operator:  "ghcr.io/beyond10x/loom-operator@" + digest,
		Agent:     "ghcr.io/beyond10x/loom-agent@" + digest,
		Scorecard: "ghcr.io/beyond10x/loom-scorecard@" + digest,
	}
	assert.Equal(t, want, release)
}

func TestAReleaseThatCannotBeBuiltAgainIsNotRecorded(t *testing.T) {
	operator := "o.tar\tghcr.io/beyond10x/loom-operator:0.2.0\t" + digest + "\n"
	agent := "a.tar\tghcr.io/beyond10x/loom-agent:0.2.0\t" + digest + "\n" + "s.tar\tghcr.io/beyond10x/loom-scorecard:0.2.0\t" + digest + "\n"
	for name, test := range map[string]struct {
		change func(*bundle.Release)
		lines  string
		want   string
	}{
		"an image was not built":          {func(*bundle.Release) {}, operator, `images.agent is ""`},
		"no image was built":              {func(*bundle.Release) {}, "", `images.operator is ""`},
		"a line is not of an image":       {func(*bundle.Release) {}, "go: downloading\n", "three fields"},
		"an image is of another project":  {func(*bundle.Release) {}, operator + agent + "x.tar\tghcr.io/beyond10x/other:0.2.0\t" + digest + "\n", "is no part of a release"},
		"an image is of another version":  {func(r *bundle.Release) { r.Version = "0.3.0" }, operator + agent, "images.operator is"},
		"no platform was named":           {func(r *bundle.Release) { r.Platforms = nil }, operator + agent, "platforms is empty"},
		"a platform is only a processor":  {func(r *bundle.Release) { r.Platforms = []string{"arm64"} }, operator + agent, `platforms has "arm64"`},
		"the time of the commit is local": {func(r *bundle.Release) { r.Created = "yesterday" }, operator + agent, "created is"},
	} {
		t.Run(name, func(t *testing.T) {
			release := validRelease()
			test.change(&release)
			_, err := bundle.Record(release, bundle.Release{}, strings.NewReader(test.lines))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// A release that is recorded again is the same text, so that its commit can be
// checked by building it again. One with a higher version replaces it.
func TestAReleaseFollowsTheFormerOne(t *testing.T) {
	former := validRelease()
	former.Replaces, former.Images = "0.1.3", bundle.Images{Operator: "ghcr.io/beyond10x/loom-operator@" + digest, Agent: "ghcr.io/beyond10x/loom-agent@" + digest, Scorecard: "ghcr.io/beyond10x/loom-scorecard@" + digest}
	other := "sha256:" + strings.Repeat("0", 64)
	for name, test := range map[string]struct {
		version, operator        string
		replaces, created, skips string
	}{
		"the same again":          {"0.2.0", digest, "0.1.3", former.Created, ">=0.1.0 <0.2.0"},
		"another image":           {"0.2.0", other, "0.1.3", "2026-12-24T00:00:00Z", ">=0.1.0 <0.2.0"},
		"the next patch version":  {"0.2.1", digest, "0.2.0", "2026-12-24T00:00:00Z", ">=0.2.0 <0.2.1"},
		"the next minor version":  {"0.3.0", digest, "0.2.0", "2026-12-24T00:00:00Z", ">=0.2.0 <0.3.0"},
		"a candidate of the next": {"0.3.0-rc.1", digest, "0.2.0", "2026-12-24T00:00:00Z", ">=0.2.0 <0.3.0-rc.1"},
		"the next major version":  {"1.0.0", digest, "0.2.0", "2026-12-24T00:00:00Z", ">=0.2.0 <1.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			release := bundle.Release{Version: test.version, Created: "2026-12-24T00:00:00Z", Platforms: former.Platforms}
			text, err := bundle.Record(release, former, strings.NewReader(
				"o.tar\tghcr.io/beyond10x/loom-operator:"+test.version+"\t"+test.operator+"\na.tar\tghcr.io/beyond10x/loom-agent:"+test.version+"\t"+digest+"\n"+
					"s.tar\tghcr.io/beyond10x/loom-scorecard:"+test.version+"\t"+digest+"\n"))
			require.NoError(t, err)
			files := source(t)
			files[bundle.ReleaseFile] = &fstest.MapFile{Data: text}

			recorded, err := bundle.ReadRelease(files)
			require.NoError(t, err)
			assert.Equal(t, test.replaces, recorded.Replaces)
			assert.Equal(t, test.created, recorded.Created)
			built, err := bundle.Files(files)
			require.NoError(t, err)
			var csv v1alpha1.ClusterServiceVersion
			require.NoError(t, yaml.UnmarshalStrict(built[csvFile], &csv))
			assert.Equal(t, "loom-operator.v"+test.replaces, csv.Spec.Replaces)
			assert.Equal(t, test.skips, csv.Annotations["olm.skipRange"])
		})
	}
}

func TestAReleaseDoesNotReplaceALaterOne(t *testing.T) {
	release := validRelease()
	release.Version = "0.1.9"
	_, err := bundle.Record(release, validRelease(), strings.NewReader(""))
	assert.ErrorContains(t, err, `replaces is "0.2.0", a version below 0.1.9 is needed`)
}

func validRelease() bundle.Release {
	return bundle.Release{Version: "0.2.0", Created: "2026-12-01T00:00:00Z", Platforms: []string{"linux/amd64", "linux/arm64"}}
}
