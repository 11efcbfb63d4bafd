package check_test

import (
	"fmt"
	"testing"
)

func TestMountPaths(t *testing.T) {
	workspace := func(path string) string { return fmt.Sprintf("{workspace: {mountPath: %q}}", path) }
	refused := []string{"spec.workspace.mountPath MountPath"}
	table := map[string]verdict{
		"a folder of one's own":                          {spec: workspace("/w")},
		"a slash at the end does not matter":             {spec: workspace("/w/")},
		"a folder whose name begins like a reserved":     {spec: workspace("/tmpfiles")},
		"a folder beside the operator's":                 {spec: workspace("/etc/loomx")},
		"two dots within a name":                         {spec: workspace("/w/..x/y..")},
		"A50 the root":                                   {spec: workspace("/"), want: refused, says: "root of the file system"},
		"A50 the root in other words":                    {spec: workspace("//."), want: refused, says: "root of the file system"},
		"A50 a relative path":                            {spec: workspace("w"), want: refused, says: `"w" is not an absolute path`},
		"A50 no path":                                    {spec: workspace(""), want: refused, says: "not an absolute path"},
		"A50 the operator's own folder":                  {spec: workspace("/etc/loom"), want: refused, says: "/etc/loom, which is not free"},
		"A50 the operator's own folder, not cleaned":     {spec: workspace("/etc/./loom/"), want: refused},
		"a folder in the operator's":                     {spec: workspace("/etc/loom/files"), want: refused},
		"a folder that holds the operator's":             {spec: workspace("/etc"), want: refused},
		"the scratch folder":                             {spec: workspace("/tmp"), want: refused, says: "lies in /tmp"},
		"a folder in the kernel's":                       {spec: workspace("/proc/1"), want: refused},
		"the devices":                                    {spec: workspace("/dev/shm"), want: refused},
		"the system":                                     {spec: workspace("/sys"), want: refused},
		"the folder of the API token":                    {spec: workspace("/var/run/secrets/kubernetes.io"), want: refused},
		"a folder that holds it":                         {spec: workspace("/var"), want: refused},
		"a way back":                                     {spec: workspace("/a/../b"), want: refused, says: "has '..' in it"},
		"a way back at the end":                          {spec: workspace("/a/b/.."), want: refused, says: "has '..' in it"},
		"a colon":                                        {spec: workspace("/a:b"), want: refused, says: "':'"},
		"a line end":                                     {spec: workspace("/a\nb"), want: refused, says: "control character"},
		"A50 the folder of the Secret is judged alike":   {spec: "{secretFiles: {name: s, mountPath: tmp}}", want: []string{"spec.secretFiles.mountPath MountPath"}},
		"A50 one Secret in the environment and as files": {spec: "{secretRef: {name: s}, secretFiles: {name: s, mountPath: /s}}"},
	}
	clash := []string{"spec.workspace.mountPath MountClash"}
	for name, row := range map[string]struct {
		secret, workspace string
		want              []string
	}{
		"A50 two folders beside each other":          {"/s", "/w", nil},
		"A50 two folders that begin alike":           {"/w", "/work", nil},
		"A50 the same folder twice":                  {"/w", "/w", clash},
		"A50 the same folder after cleaning":         {"/w/", "/w", clash},
		"A50 a secret's folder in the workspace":     {"/w/s", "/w", clash},
		"A50 the workspace in the secret's folder":   {"/s", "/s/w", clash},
		"A50 a folder with a slash in the workspace": {"/w//s/", "/w/.", clash},
	} {
		says := ""
		if row.want != nil {
			says = fmt.Sprintf("%q and %q of spec.secretFiles.mountPath", row.workspace, row.secret)
		}
		table[name] = verdict{
			spec: fmt.Sprintf("{secretFiles: {name: s, mountPath: %s}, workspace: {mountPath: %s}}", row.secret, row.workspace),
			want: row.want,
			says: says,
		}
	}
	assertVerdicts(t, table)
}
