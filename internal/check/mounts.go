package check

import (
	"path"
	"strings"
	"unicode"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Folders that the operator mounts itself or that every container has. Nothing
// may be mounted on them, in them or over them.
var reservedFolders = []string{"/etc/loom", "/tmp", "/proc", "/sys", "/dev", "/var/run/secrets"}

type mount struct {
	field string
	path  string
}

func mounts(spec *v1alpha1.LoomAgentSpec) []mount {
	var all []mount
	if spec.SecretFiles != nil {
		all = append(all, mount{"spec.secretFiles.mountPath", spec.SecretFiles.MountPath})
	}
	if spec.Workspace != nil {
		all = append(all, mount{"spec.workspace.mountPath", spec.Workspace.MountPath})
	}
	return all
}

func mountPath(in Input) []Finding {
	var found []Finding
	for _, mount := range mounts(&in.Agent.Spec) {
		if problem := pathProblem(mount.path); problem != "" {
			found = append(found, broken(mount.field, "%s %s", quote(mount.path), problem))
		}
	}
	return found
}

// pathProblem completes a sentence that begins with the path; empty: none.
func pathProblem(folder string) string {
	switch {
	case !path.IsAbs(folder):
		return "is not an absolute path. Begin it with '/'."
	case strings.Contains(folder, ":") || strings.ContainsFunc(folder, unicode.IsControl):
		return "has a ':' or a control character, which is not possible in a mount path. Remove it."
	case strings.Contains(folder+"/", "/../"):
		return "has '..' in it. Write the path without."
	case path.Clean(folder) == "/":
		return "is the root of the file system. Name a folder below it."
	}
	for _, reserved := range reservedFolders {
		if nested(folder, reserved) {
			return "is, holds or lies in " + reserved + ", which is not free to mount on. Choose another folder."
		}
	}
	return ""
}

// Mounts must lie beside each other: of two at one path the pod is invalid, and
// one inside the other would hide files (A50).
func mountClash(in Input) []Finding {
	all := mounts(&in.Agent.Spec)
	if len(all) < 2 || !nested(all[0].path, all[1].path) {
		return nil
	}
	return []Finding{broken(all[1].field, "%s and %s of %s are the same or lie in each other. Choose folders beside each other.", quote(all[1].path), quote(all[0].path), all[0].field)}
}

// nested tells whether two folders are the same or one lies in the other.
func nested(a, b string) bool {
	a, b = path.Clean(a)+"/", path.Clean(b)+"/"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
