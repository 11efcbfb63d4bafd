package workload

import "github.com/beyond10x/loom-operator/apis/v1alpha1"

// Paths in the agent's container.
const (
	// ConfigDir holds everything that the operator hands over, read-only.
	ConfigDir = "/etc/loom"
	// ScratchDir is an empty folder that every agent may write to.
	ScratchDir = "/tmp"

	// AgentFile is the agent document, below ConfigDir as all that follow.
	AgentFile = "agent.json"
	// RoutesFile has the model routes.
	RoutesFile = "routes.json"
	// ConnectorsFile has the connectors configuration.
	ConnectorsFile = "connectors"
	// BoundaryFile has the upstreams and allow-lists.
	BoundaryFile = "boundary.json"
	// InputFile has the input of a scheduled run.
	InputFile = "input"
	// FilesDir has the document's configFiles.
	FilesDir = "files"
	// TokensDir has a token for each upstream of the boundary.
	TokensDir = "tokens"
)

// Environment variables that the operator sets. Those with EnvPrefix cannot be
// set by a document (case A12); HOME can.
const (
	EnvPrefix    = "LOOM_"
	EnvName      = "LOOM_AGENT_NAME"
	EnvNamespace = "LOOM_AGENT_NAMESPACE"
	EnvMode      = "LOOM_MODE"
	EnvConfigDir = "LOOM_CONFIG_DIR"
	EnvPort      = "LOOM_PORT"
	EnvHome      = "HOME"
)

// Values of EnvMode, and the only argument when the document has no command.
const (
	ModeServe = "serve"
	ModeRun   = "run"
)

const (
	// PortName names the port of a serving agent.
	PortName = "http"
	// DefaultPort is the port of a serving agent when the document names none.
	DefaultPort int32 = 8080
	// LivePath answers the startup and liveness probes by default.
	LivePath = "/healthz"
	// ReadyPath answers the readiness probe by default.
	ReadyPath = "/readyz"
	// DefaultGraceSeconds pass between SIGTERM and SIGKILL by default.
	DefaultGraceSeconds int64 = 30
	// TokenSeconds is the lifetime of a token; the kubelet renews it in time.
	TokenSeconds int64 = 3600
)

const (
	// NetworkPolicyAnnotation on an agent opts out of its network policy when
	// its value is NetworkPolicyDisabled.
	NetworkPolicyAnnotation = v1alpha1.Group + "/network-policy"
	// NetworkPolicyDisabled is that value.
	NetworkPolicyDisabled = "disabled"
	// ReferencesAnnotation on a Deployment's pods carries Input.ReferencesDigest.
	ReferencesAnnotation = v1alpha1.Group + "/references"
)
