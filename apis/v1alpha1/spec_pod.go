package v1alpha1

import corev1 "k8s.io/api/core/v1"

// PodSettings are the settings of the agent's pod, the same for every variant.
type PodSettings struct {
	// Compute resources of the agent container.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
	// Labels a node must carry.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Taints the pod tolerates.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Node and pod affinity, as in a pod.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// Spreading over nodes and zones, as in a pod.
	// +optional
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// Priority class of the pod.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// Runtime class of the pod.
	// +optional
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// Service account of the pod. When it is named, its own setting automountServiceAccountToken decides whether its token
	// is mounted; otherwise none is.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Secrets for pulling the image.
	// +optional
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// When the image is pulled. Default: IfNotPresent.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// Seconds the program has between SIGTERM and SIGKILL. Default: 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
	// Labels added to the pod.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations added to the pod.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ServeSettings are the settings of a serving agent.
type ServeSettings struct {
	// Number of pods. Default: left to whatever scales the Deployment, 1 at first.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Replicas *int32 `json:"replicas,omitempty"`
	// Port the agent listens on. Default: 8080.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// Probes of the agent container.
	// +optional
	Probes *Probes `json:"probes,omitempty"`
}

// Probes replace the operator's default HTTP probes one by one.
//
// The rules keep out ports that an int32 cannot hold: the API server would
// store them, and no client could list the agents any more (case A05).
type Probes struct {
	// Startup probe.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.httpGet) || type(self.httpGet.port) == string || (int(self.httpGet.port) >= 1 && int(self.httpGet.port) <= 65535)",message="httpGet.port must be a name or 1 to 65535"
	// +kubebuilder:validation:XValidation:rule="!has(self.tcpSocket) || type(self.tcpSocket.port) == string || (int(self.tcpSocket.port) >= 1 && int(self.tcpSocket.port) <= 65535)",message="tcpSocket.port must be a name or 1 to 65535"
	Startup *corev1.Probe `json:"startup,omitempty"`
	// Readiness probe.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.httpGet) || type(self.httpGet.port) == string || (int(self.httpGet.port) >= 1 && int(self.httpGet.port) <= 65535)",message="httpGet.port must be a name or 1 to 65535"
	// +kubebuilder:validation:XValidation:rule="!has(self.tcpSocket) || type(self.tcpSocket.port) == string || (int(self.tcpSocket.port) >= 1 && int(self.tcpSocket.port) <= 65535)",message="tcpSocket.port must be a name or 1 to 65535"
	Readiness *corev1.Probe `json:"readiness,omitempty"`
	// Liveness probe.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.httpGet) || type(self.httpGet.port) == string || (int(self.httpGet.port) >= 1 && int(self.httpGet.port) <= 65535)",message="httpGet.port must be a name or 1 to 65535"
	// +kubebuilder:validation:XValidation:rule="!has(self.tcpSocket) || type(self.tcpSocket.port) == string || (int(self.tcpSocket.port) >= 1 && int(self.tcpSocket.port) <= 65535)",message="tcpSocket.port must be a name or 1 to 65535"
	Liveness *corev1.Probe `json:"liveness,omitempty"`
}

// RunSettings are the settings of a run.
type RunSettings struct {
	// Times a failed program is started again. Default: 0, since a run costs
	// money and changes things.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// Seconds after which a run that has not ended is stopped and failed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// Seconds after its recorded end when the Job is removed. Default: kept.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}
