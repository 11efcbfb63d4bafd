package check_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestConfinement(t *testing.T) {
	table := map[string]verdict{
		"a seccomp profile is a relative path":        {spec: "{seccompProfile: {type: Localhost, localhostProfile: /a.json}}", want: []string{"spec.seccompProfile.localhostProfile Confinement"}, says: "not a relative path"},
		"a seccomp profile leads nowhere up":          {spec: "{seccompProfile: {type: Localhost, localhostProfile: a/../../b}}", want: []string{"spec.seccompProfile.localhostProfile Confinement"}},
		"a seccomp profile is not the folder above":   {spec: "{seccompProfile: {type: Localhost, localhostProfile: ..}}", want: []string{"spec.seccompProfile.localhostProfile Confinement"}},
		"two dots within its name are good":           {spec: "{seccompProfile: {type: Localhost, localhostProfile: a..b/..c}}"},
		"an AppArmor profile may look like a path":    {spec: "{appArmorProfile: {type: Localhost, localhostProfile: /usr/bin/agent}}"},
		"both profiles are examined, in order":        {spec: "{seccompProfile: {type: Localhost}, appArmorProfile: {type: Localhost}}", want: []string{"spec.seccompProfile.localhostProfile Confinement", "spec.appArmorProfile.localhostProfile Confinement"}},
		"a wrong place of a profile is reported once": {spec: "{seccompProfile: {type: Unconfined, localhostProfile: /a}}", want: []string{"spec.seccompProfile.localhostProfile Confinement"}},
		"A05 an empty profile has no type":            {spec: "{seccompProfile: {}, appArmorProfile: {}}", want: []string{"spec.seccompProfile.type Choice", "spec.appArmorProfile.type Choice"}, says: `"" is not one of RuntimeDefault Localhost Unconfined`},
		"a seccomp profile may lie deep":              {spec: "{seccompProfile: {type: Localhost, localhostProfile: a/b/c.json}}"},
	}
	for _, block := range []string{"seccompProfile", "appArmorProfile"} {
		refused := []string{"spec." + block + ".localhostProfile Confinement"}
		profile := func(text string) string { return fmt.Sprintf("{%s: {%s}}", block, text) }
		table[block+" of the runtime"] = verdict{spec: profile("type: RuntimeDefault")}
		table[block+" that is none"] = verdict{spec: profile("type: Unconfined")}
		table[block+" of the node with its name"] = verdict{spec: profile("type: Localhost, localhostProfile: a")}
		table[block+" of the node without a name"] = verdict{spec: profile("type: Localhost"), want: refused, says: "is missing"}
		table[block+" of the node with an empty name"] = verdict{spec: profile("type: Localhost, localhostProfile: ''"), want: refused, says: "is missing"}
		table[block+" of the node with a blank name"] = verdict{spec: profile("type: Localhost, localhostProfile: ' '"), want: refused, says: "is missing"}
		table[block+" of the node with blanks around"] = verdict{spec: profile("type: Localhost, localhostProfile: ' a'"), want: refused, says: "Remove the spaces"}
		table[block+" of the runtime with a name"] = verdict{spec: profile("type: RuntimeDefault, localhostProfile: a"), want: refused, says: "type Localhost only"}
		table[block+" with the longest name"] = verdict{spec: profile("type: Localhost, localhostProfile: " + strings.Repeat("a", 4095))}
		table[block+" with a longer name"] = verdict{spec: profile("type: Localhost, localhostProfile: " + strings.Repeat("a", 4096)), want: refused}
		table[block+" of another type"] = verdict{spec: profile("type: runtimedefault"), want: []string{"spec." + block + ".type Choice"}}
	}
	assertVerdicts(t, table)
}
