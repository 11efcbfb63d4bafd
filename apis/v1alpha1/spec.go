package v1alpha1

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// LoomAgentSpec says what to run and how (seed loom-resource, LoomAgentSpec).
// The blocks pod, serve, run and suspend are additions of this operator.
type LoomAgentSpec struct {
	// The loom.agent/1 document.
	// +optional
	Agent *AgentDocument `json:"agent,omitempty"`
	// Model routes, handed to the runtime unchanged as one JSON file.
	// +optional
	Routes *apiextensionsv1.JSON `json:"routes,omitempty"`
	// Text of the connectors configuration, handed to the runtime as a file.
	// +optional
	ConnectorsConfig *string `json:"connectorsConfig,omitempty"`
	// Secret whose keys become environment variables of the agent.
	// +optional
	SecretRef *SecretRef `json:"secretRef,omitempty"`
	// Secret whose keys become files of the agent.
	// +optional
	SecretFiles *SecretFiles `json:"secretFiles,omitempty"`
	// Environment variables. Kubernetes expands $(NAME) in the values.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	Env []EnvVar `json:"env,omitempty"`
	// Image to run. Default: the operator's agent image.
	// +optional
	Image *ImageRef `json:"image,omitempty"`
	// Program to run to its end instead of serving.
	// +optional
	Command *CommandSpec `json:"command,omitempty"`
	// Working directory that the agent may write to.
	// +optional
	Workspace *Workspace `json:"workspace,omitempty"`
	// Files given to the agent byte for byte.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=200
	ConfigFiles []ConfigFile `json:"configFiles,omitempty"`
	// Seccomp profile of the pod. Default: RuntimeDefault.
	// +optional
	SeccompProfile *ConfinementProfile `json:"seccompProfile,omitempty"`
	// AppArmor profile of the pod. Default: the node's own.
	// +optional
	AppArmorProfile *ConfinementProfile `json:"appArmorProfile,omitempty"`
	// Upstreams the agent may reach, each with a token of its own.
	// +optional
	Boundary *Boundary `json:"boundary,omitempty"`
	// Run on a schedule instead of once or as a service.
	// +optional
	Schedule *ScheduleSpec `json:"schedule,omitempty"`

	// Settings of the pod, the same for every variant.
	// +optional
	Pod *PodSettings `json:"pod,omitempty"`
	// Settings of a serving agent.
	// +optional
	Serve *ServeSettings `json:"serve,omitempty"`
	// Settings of a run: of a command, or of each run of a schedule.
	// +optional
	Run *RunSettings `json:"run,omitempty"`
	// Rest: no serving pods, no new run, until it is false again.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
}

// SecretRef names a Secret in the agent's namespace.
type SecretRef struct {
	// Name of the Secret.
	Name string `json:"name"`
}

// SecretFiles mounts a Secret of the agent's namespace as files.
type SecretFiles struct {
	// Name of the Secret.
	Name string `json:"name"`
	// Absolute path of the folder that holds the files.
	MountPath string `json:"mountPath"`
}

// EnvVar is one environment variable.
type EnvVar struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value of the variable.
	// +optional
	Value string `json:"value"`
}

// ImageRef names a container image.
type ImageRef struct {
	// Registry and repository, without a tag.
	Repository string `json:"repository"`
	// Tag, or a digest as sha256:HEX, which is rendered as repository@sha256:HEX.
	Tag string `json:"tag"`
}

// String renders the reference as a container runtime reads it. A tag that is
// a digest is joined with an at sign (design section 3).
func (r ImageRef) String() string {
	if len(r.Tag) > len("sha256:") && r.Tag[:len("sha256:")] == "sha256:" {
		return r.Repository + "@" + r.Tag
	}
	return r.Repository + ":" + r.Tag
}

// CommandSpec replaces the image's own program.
type CommandSpec struct {
	// Program to run. Default: the image's entrypoint.
	// +optional
	// +listType=atomic
	Entrypoint []string `json:"entrypoint,omitempty"`
	// Arguments. Kubernetes expands $(NAME) in them.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`
}

// Workspace is the agent's own writable folder.
type Workspace struct {
	// Absolute path of the folder.
	MountPath string `json:"mountPath"`
	// PersistentVolumeClaim that keeps it. Default: an empty folder per pod.
	// +optional
	ClaimName *string `json:"claimName,omitempty"`
}

// ConfigFile is one file given to the agent.
type ConfigFile struct {
	// File name, without folders.
	Name string `json:"name"`
	// Text of the file.
	Content string `json:"content"`
}

// ConfinementProfileKind is the source of a seccomp or AppArmor profile.
//
// +kubebuilder:validation:Enum=RuntimeDefault;Localhost;Unconfined
type ConfinementProfileKind string

// Where a confinement profile comes from.
const (
	ProfileRuntimeDefault ConfinementProfileKind = "RuntimeDefault"
	ProfileLocalhost      ConfinementProfileKind = "Localhost"
	ProfileUnconfined     ConfinementProfileKind = "Unconfined"
)

// ConfinementProfile is a seccomp or AppArmor profile.
//
// +kubebuilder:validation:XValidation:rule="has(self.localhostProfile) == (self.type == 'Localhost')",message="localhostProfile is needed with type Localhost and not allowed with any other type"
type ConfinementProfile struct {
	// Where the profile comes from.
	Type ConfinementProfileKind `json:"type"`
	// Name of the profile on the node, with type Localhost.
	// +optional
	// +kubebuilder:validation:MinLength=1
	LocalhostProfile *string `json:"localhostProfile,omitempty"`
}

// Boundary lists the upstreams that the agent may reach.
type Boundary struct {
	// The model upstream.
	// +optional
	Model *BoundaryUpstream `json:"model,omitempty"`
	// The connectors upstream.
	// +optional
	Connectors *ConnectorsBoundary `json:"connectors,omitempty"`
	// The git upstream.
	// +optional
	Git *GitBoundary `json:"git,omitempty"`
}

// BoundaryUpstream is an upstream and the audience of its token.
type BoundaryUpstream struct {
	// URL of the upstream.
	Upstream string `json:"upstream"`
	// Audience of the token that the upstream accepts.
	Audience string `json:"audience"`
}

// ConnectorsBoundary is the connectors upstream with the operations allowed.
type ConnectorsBoundary struct {
	// URL of the upstream.
	Upstream string `json:"upstream"`
	// Audience of the token that the upstream accepts.
	Audience string `json:"audience"`
	// Operations that the agent may call.
	// +listType=atomic
	Operations []string `json:"operations"`
}

// GitBoundary is the git upstream with the repositories allowed.
type GitBoundary struct {
	// URL of the upstream.
	Upstream string `json:"upstream"`
	// Audience of the token that the upstream accepts.
	Audience string `json:"audience"`
	// Repositories that the agent may use.
	// +listType=atomic
	Repositories []string `json:"repositories"`
}
