package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beyond10x/loom-operator/tests/deploy"
)

// call sends the serving agent a request through its Service. The API server's
// proxy reaches it on every cluster, also from outside.
func (d *demo) call(ctx context.Context) error {
	d.step("Asking the serving agent over HTTP, through its Service")
	path := fmt.Sprintf("/api/v1/namespaces/%s/services/%s:http/proxy/", namespace, serving)
	d.show("$ kubectl get --raw " + path)
	answer, err := d.cluster.Run(ctx, "get", "--raw", path)
	if err != nil {
		return fmt.Errorf("ask %s: %w", serving, err)
	}
	d.show(answer)
	var said struct{ Name, Model string }
	if err := json.Unmarshal([]byte(answer), &said); err != nil || said.Name != serving || said.Model == "" {
		return fmt.Errorf("%s answers, and does not say its name and model: %s", serving, answer)
	}
	return nil
}

// present prints what a person would look at first.
func (d *demo) present(ctx context.Context) error {
	d.step("All is as promised")
	for _, table := range []struct {
		heading string
		args    []string
	}{
		{"kubectl get loomagents -o wide", []string{"get", "loomagents", "--output=wide"}},
		{"Events of the agents", []string{"get", "events", "--field-selector=involvedObject.kind=LoomAgent", "--sort-by=.eventTime",
			"--output=custom-columns=AGENT:.involvedObject.name,TYPE:.type,REASON:.reason,MESSAGE:.message"}},
		{"Why " + refused + " was refused", []string{"get", "loomagent", refused, "--output=jsonpath={.status.check.message}"}},
	} {
		text, err := d.cluster.Run(ctx, append([]string{"--namespace", namespace}, table.args...)...)
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			return fmt.Errorf("%s: nothing is there to show", table.heading)
		}
		d.chapter(table.heading, text)
	}
	d.chapter("Look further, from the root of the repository", d.further())
	d.chapter("Stop", d.farewell())
	return nil
}

// further has the commands to go on with.
func (d *demo) further() string {
	environment := ""
	if !d.existing {
		environment = fmt.Sprintf("  export KUBECONFIG=%s\n  export PATH=%s:$PATH\n", d.fromRoot(d.cluster.Kubeconfig), d.fromRoot(filepath.Dir(d.cluster.Kubectl)))
	}
	return environment + fmt.Sprintf(`  kubectl -n %[1]s get loomagents --watch
  kubectl -n %[1]s describe loomagent %[2]s
  kubectl -n %[1]s logs --selector loom.beyond10x.dev/agent=%[2]s
  kubectl -n %[1]s edit loomagent %[3]s    # correct both fields, and it runs
  kubectl -n %[4]s logs deployment/%[5]s`, namespace, command, refused, deploy.Namespace, deploy.Deployment)
}

func (d *demo) farewell() string {
	if d.existing {
		return "  make demo-down CLUSTER=existing"
	}
	return "  make demo-down"
}

// fromRoot writes a path below the repository with the shell's $PWD in its
// place, so that the text is the same on every machine.
func (d *demo) fromRoot(path string) string {
	if relative, inside := strings.CutPrefix(path, d.root+string(os.PathSeparator)); inside {
		return filepath.Join("$PWD", relative)
	}
	return path
}
