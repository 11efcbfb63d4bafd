package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/controllers"
	"github.com/beyond10x/loom-operator/internal/upgradeable"
)

const (
	agentImageVariable     = "RELATED_IMAGE_LOOM_AGENT"
	watchNamespaceVariable = "WATCH_NAMESPACE"
	// gracePeriod is how long the process takes to stop at most. It is longer
	// than a pass may drain, and shorter than the grace of the operator's pod.
	gracePeriod = 25 * time.Second
	// collectAt is how much garbage, in percent of what is in use, is collected
	// at. The caches hardly change, so half of Go's default costs little CPU.
	collectAt = 50
	// giveBackEvery is how often memory that is not in use goes back to the
	// system, for one collection. Go itself keeps what the last burst took, and
	// an operator mostly rests.
	giveBackEvery = 30 * time.Second
)

type managerFlags struct {
	metricsAddress, probeAddress string
	pprofAddress                 string
	secureMetrics, leaderElect   bool
	leaderElectionNamespace      string
	agentImage, watchNamespace   string
	logLevel                     string
	workers, qps                 int
}

func newManager() *cobra.Command {
	flags := &managerFlags{}
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run the operator",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.metricsAddress, "metrics-bind-address", ":8443", "Address of the metrics endpoint; 0 turns it off")
	f.BoolVar(&flags.secureMetrics, "metrics-secure", true, "Serve metrics over HTTPS to clients that are authenticated and authorized by the API server")
	f.StringVar(&flags.probeAddress, "health-probe-bind-address", ":8081", "Address of the probes /healthz and /readyz")
	f.StringVar(&flags.pprofAddress, "pprof-bind-address", "0", "Address of Go's profiles, served without authentication; 0 turns it off")
	f.BoolVar(&flags.leaderElect, "leader-elect", false, "Let one replica at a time work, by a Lease")
	f.StringVar(&flags.leaderElectionNamespace, "leader-election-namespace", "", "Namespace of the Lease; default: the pod's own")
	f.StringVar(&flags.agentImage, "agent-image", os.Getenv(agentImageVariable), "Image of agents that name none (environment "+agentImageVariable+")")
	f.StringVar(&flags.watchNamespace, "watch-namespace", os.Getenv(watchNamespaceVariable), "Namespaces to look after, separated by commas; empty means all (environment "+watchNamespaceVariable+")")
	f.StringVar(&flags.logLevel, "log-level", "info", "Least level that is logged: debug, info, warn or error")
	f.IntVar(&flags.workers, "workers", 8, "Agents that are worked on at once")
	f.IntVar(&flags.qps, "kube-api-qps", 0, "Requests to the API server in a second at most, twice as many in a burst; 0 leaves the limit to its priority and fairness")
	return cmd
}

func (f *managerFlags) run(cmd *cobra.Command) error {
	logger, err := newLogger(cmd, f.logLevel)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	if f.workers < 1 {
		return fmt.Errorf("--workers is %d, at least 1 is needed", f.workers)
	}
	if f.qps < 0 {
		return fmt.Errorf("--kube-api-qps is %d, use 0 for no limit", f.qps)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	f.tune(config)
	if _, chosen := os.LookupEnv("GOGC"); !chosen {
		debug.SetGCPercent(collectAt)
	}
	mgr, err := ctrl.NewManager(config, f.options())
	if err != nil {
		return fmt.Errorf("prepare the manager: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	go wait.UntilWithContext(ctx, func(context.Context) { debug.FreeOSMemory() }, giveBackEvery)
	if err := controllers.Setup(ctx, mgr, controllers.Options{AgentImage: f.agentImage, Namespaces: f.namespaces(), Workers: f.workers}); err != nil {
		return err
	}
	if err := upgradeable.Setup(mgr); err != nil {
		return err
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return fmt.Errorf("add the probes: %w", err)
	}
	logger.Info("Starting", "namespaces", f.namespaces(), "agentImage", f.agentImage, "workers", f.workers, "leaderElection", f.leaderElect)
	if err := mgr.Start(log.IntoContext(ctx, logger)); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}

// tune keeps to the requests that the flag allows; without it controller-runtime
// switches the client's own limit off. It also asks for answers as they are: the
// API server compresses each event of a watch on its own, for as much CPU time as
// all else that the watch takes, and network within a cluster is cheap.
func (f *managerFlags) tune(config *rest.Config) {
	config.DisableCompression = true
	if f.qps > 0 {
		config.QPS, config.Burst = float32(f.qps), 2*f.qps
	}
}

func (f *managerFlags) options() ctrl.Options {
	grace := gracePeriod
	metrics := metricsserver.Options{BindAddress: f.metricsAddress}
	if f.secureMetrics {
		metrics.SecureServing = true
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return ctrl.Options{
		Scheme:                        newScheme(),
		Cache:                         controllers.CacheOptions(f.namespaces()),
		MapperProvider:                newMapper,
		Metrics:                       metrics,
		HealthProbeBindAddress:        f.probeAddress,
		PprofBindAddress:              f.pprofAddress,
		LeaderElection:                f.leaderElect,
		LeaderElectionID:              v1alpha1.FieldOwner,
		LeaderElectionNamespace:       f.leaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &grace,
	}
}

// namespaces reads the comma list; OLM writes an empty value for all.
func (f *managerFlags) namespaces() []string {
	var namespaces []string
	for namespace := range strings.SplitSeq(f.watchNamespace, ",") {
		if namespace = strings.TrimSpace(namespace); namespace != "" {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// logLevels are all there are. slog also reads levels such as debug-10, at which
// the client's library logs the bodies of requests and answers (case A39).
var logLevels = []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

func newLogger(cmd *cobra.Command, level string) (logr.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil || !slices.Contains(logLevels, least) {
		return logr.Logger{}, fmt.Errorf("--log-level is %q; use debug, info, warn or error", level)
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: least})), nil
}
