package v1alpha1

// Labels and annotations of this API. Keys follow the Kubernetes convention
// of a prefix that the API group owns.
const (
	// AgentLabel carries the (possibly shortened) name of the agent on every
	// object that the operator makes for it.
	AgentLabel = Group + "/agent"
	// PausedAnnotation set to "true" leaves the children as they are.
	PausedAnnotation = Group + "/paused"
	// CreatePendingAnnotation marks a create of a Job that was started and
	// whose outcome is not recorded yet (seed create-outcome-unknown).
	CreatePendingAnnotation = Group + "/create-pending"
	// RunAnnotation tells which Job of a command may have been started. It
	// takes the place of CreatePendingAnnotation.
	RunAnnotation = Group + "/run"
	// ResumedAnnotation marks a Job of a command that the operator has resumed.
	ResumedAnnotation = Group + "/resumed"
	// QueueLabel on an agent names the queue that starts the Job of its command
	// (Kueue's label). It is the only label that reaches a child.
	QueueLabel = "kueue.x-k8s.io/queue-name"
	// GenerationAnnotation carries the generation of the agent that a Job, or
	// a Job of a schedule, belongs to.
	GenerationAnnotation = Group + "/generation"
	// AppliedAnnotation carries the digest of what the operator applied.
	AppliedAnnotation = Group + "/applied"
	// FieldOwner is the field manager of everything that the operator writes.
	FieldOwner = "loom-operator"
	// AgentContainer is the name of the container whose end is the run's end.
	AgentContainer = "agent"
)
