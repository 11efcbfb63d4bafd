package check

import (
	"path"
	"strings"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// maxProfileBytes is the longest name of an AppArmor profile that the API
// server takes: the longest path of Linux without its closing zero byte.
const maxProfileBytes = 4095

// A seccomp profile is a file below a folder of the node, an AppArmor profile
// is a loaded profile's name, which may look like an absolute path.
func confinement(in Input) []Finding {
	seccomp, appArmor := in.Agent.Spec.SeccompProfile, in.Agent.Spec.AppArmorProfile
	found := append(localhostProfile("spec.seccompProfile", seccomp), localhostProfile("spec.appArmorProfile", appArmor)...)
	if name, ok := localhostName(seccomp); ok && (path.IsAbs(name) || strings.Contains("/"+name+"/", "/../")) {
		found = append(found, broken("spec.seccompProfile.localhostProfile", "%s is not a relative path without '..'. Write the path below the node's folder of seccomp profiles.", quote(name)))
	}
	return found
}

func localhostProfile(field string, profile *v1alpha1.ConfinementProfile) []Finding {
	if profile == nil {
		return nil
	}
	field += ".localhostProfile"
	name, ok := localhostName(profile)
	switch {
	case profile.Type != v1alpha1.ProfileLocalhost && profile.LocalhostProfile != nil:
		return []Finding{broken(field, "The profile's name is allowed with type Localhost only. Remove it or set the type to Localhost.")}
	case profile.Type == v1alpha1.ProfileLocalhost && !ok:
		return []Finding{broken(field, "The profile's name is missing. Give it, since the type is Localhost.")}
	case strings.TrimSpace(name) != name || len(name) > maxProfileBytes:
		return []Finding{broken(field, "%s is not a valid name of a profile. Remove the spaces around it and use at most %d characters.", quote(name), maxProfileBytes)}
	}
	return nil
}

// localhostName returns the name of the profile on the node, if there is one.
func localhostName(profile *v1alpha1.ConfinementProfile) (string, bool) {
	if profile == nil || profile.Type != v1alpha1.ProfileLocalhost || profile.LocalhostProfile == nil {
		return "", false
	}
	name := *profile.LocalhostProfile
	return name, strings.TrimSpace(name) != ""
}
