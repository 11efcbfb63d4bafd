package controllers

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// Who reviews the operator's rights reads the page, so the page has all of them
// and no other.
func TestPermissionsPageShowsTheRole(t *testing.T) {
	text, err := os.ReadFile("../config/rbac/role.yaml")
	require.NoError(t, err)
	var role rbacv1.ClusterRole
	require.NoError(t, yaml.UnmarshalStrict(text, &role))
	granted := map[string][]string{}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			granted[resource] = append(granted[resource], rule.Verbs...)
		}
	}

	page, err := os.ReadFile("../docs/permissions.md")
	require.NoError(t, err)
	shown := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.+?`) \\| (.+?) \\| .+ \\|$").FindAllStringSubmatch(string(page), -1) {
		for resource := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			shown[resource] = strings.Split(row[2], ", ")
		}
	}
	for _, verbs := range []map[string][]string{granted, shown} {
		for resource := range verbs {
			slices.Sort(verbs[resource])
		}
	}
	assert.Equal(t, granted, shown)
}
