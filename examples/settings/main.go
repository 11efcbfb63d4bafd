// Command settings is the example of package stages: a Settings object becomes a ConfigMap, and the checksum of the
// ConfigMap is reported in its status.
//
//	settings install              applies the CRD and the cluster role that the controller needs
//	settings run [-shape SHAPE]   runs the controller; SHAPE is stages (the default), cases or root
//
// The cluster is the one of the environment variable KUBECONFIG or of the flag -kubeconfig.
package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/beyond10x/loom-operator/examples/settings/controller"
	v1 "github.com/beyond10x/loom-operator/examples/settings/v1"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

//go:embed manifests
var manifests embed.FS

// shapes are the ways to write the same controller.
var shapes = map[string]func(...stages.Option) *stages.Builder[*v1.Settings]{
	"stages": controller.Staged,
	"cases":  controller.Cased,
	"root":   controller.RootCases,
}

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	if err := command(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "settings:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: install or run")
	}
	shape := flag.CommandLine.String("shape", "stages", "how the controller is written: stages, cases or root")
	if err := flag.CommandLine.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "install":
		return install(ctx)
	case "run":
		return run(ctx, *shape)
	default:
		return fmt.Errorf("%q is unknown: say install or run", args[0])
	}
}

// install applies the manifests.
func install(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	return fs.WalkDir(manifests, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := manifests.ReadFile(path)
		if err != nil {
			return err
		}
		return apply(ctx, c, text)
	})
}

func apply(ctx context.Context, c client.Client, text []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("settings-example"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
		fmt.Println("applied", obj.GetKind(), obj.GetName())
	}
}

// run runs the controller until the context ends.
func run(ctx context.Context, shape string) error {
	build, ok := shapes[shape]
	if !ok {
		return fmt.Errorf("the shape %q is unknown: say stages, cases or root", shape)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metrics.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	c, err := build().Build(mgr.GetClient(), mgr.GetAPIReader())
	if err != nil {
		return err
	}
	if err := c.SetupWithManager(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
