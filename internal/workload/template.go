package workload

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// defaultServiceAccount is named also when the document names none. The API
// server copies the name into the deprecated field serviceAccount, which no
// apply would clear, so a name that is merely left out would keep the former
// one (kubernetes/kubernetes#108208).
const defaultServiceAccount = "default"

// podTemplate is the only builder of pods. Those of a Deployment, a Job and a
// CronJob differ in how they start: restart policy, arguments, mode, port and
// probes, and the label that tells the component.
func podTemplate(in Input, component string) corev1.PodTemplateSpec {
	agent := in.Agent.DeepCopy()
	pod := podSettings(agent)
	volumes, mounts := storage(agent)

	spec := corev1.PodSpec{
		Containers:                    []corev1.Container{container(in, agent, component, mounts)},
		Volumes:                       volumes,
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(valueOr(pod.TerminationGracePeriodSeconds, DefaultGraceSeconds)),
		ServiceAccountName:            orDefault(pod.ServiceAccountName, defaultServiceAccount),
		SecurityContext:               podSecurity(agent),
		// Else every Service of the namespace shows in the environment.
		EnableServiceLinks:        new(false),
		NodeSelector:              pod.NodeSelector,
		Tolerations:               pod.Tolerations,
		Affinity:                  pod.Affinity,
		TopologySpreadConstraints: pod.TopologySpreadConstraints,
		PriorityClassName:         pod.PriorityClassName,
		RuntimeClassName:          pod.RuntimeClassName,
		ImagePullSecrets:          pod.ImagePullSecrets,
	}
	if component == ComponentServe {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	// A service account that the user names decides about its token itself.
	if pod.ServiceAccountName == "" {
		spec.AutomountServiceAccountToken = new(false)
	}

	template := corev1.PodTemplateSpec{Spec: spec}
	template.Labels = map[string]string{}
	maps.Copy(template.Labels, pod.Labels)
	maps.Copy(template.Labels, Labels(agent, component))
	template.Annotations = pod.Annotations
	return template
}

// container returns the agent's container.
func container(in Input, agent *v1alpha1.LoomAgent, component string, mounts []corev1.VolumeMount) corev1.Container {
	pod := podSettings(agent)
	c := corev1.Container{
		Name:            v1alpha1.AgentContainer,
		Image:           Image(in),
		ImagePullPolicy: orDefault(pod.ImagePullPolicy, corev1.PullIfNotPresent),
		Env:             environment(agent, component),
		Resources:       resources(pod.Resources),
		SecurityContext: containerSecurity(),
		VolumeMounts:    mounts,
	}
	c.Command, c.Args = program(agent, component)
	if agent.Spec.SecretRef != nil {
		c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: agent.Spec.SecretRef.Name},
		}}}
	}
	if agent.Spec.Workspace != nil {
		c.WorkingDir = agent.Spec.Workspace.MountPath
	}
	if component == ComponentServe {
		addServing(&c, agent)
	}
	return c
}

// mode returns how the program is to behave: ModeServe or ModeRun.
func mode(component string) string {
	if component == ComponentServe {
		return ModeServe
	}
	return ModeRun
}

// program returns the container's command and arguments. What the document
// gives stays as it is written, with Kubernetes' rules for $(NAME) and $$.
func program(agent *v1alpha1.LoomAgent, component string) (command, args []string) {
	if c := agent.Spec.Command; c != nil && len(c.Entrypoint)+len(c.Args) > 0 {
		return c.Entrypoint, c.Args
	}
	return nil, []string{mode(component)}
}

// environment returns the operator's variables and then the document's, which
// may refer to them. Each name is there once and the operator's win: two of one
// name make a server-side apply fail (case A12).
func environment(agent *v1alpha1.LoomAgent, component string) []corev1.EnvVar {
	var all []corev1.EnvVar
	seen := map[string]bool{}
	add := func(name, value string) {
		if !seen[name] {
			seen[name] = true
			all = append(all, corev1.EnvVar{Name: name, Value: value})
		}
	}
	add(EnvName, agent.Name)
	add(EnvNamespace, agent.Namespace)
	add(EnvMode, mode(component))
	add(EnvConfigDir, ConfigDir)
	if component == ComponentServe {
		add(EnvPort, strconv.Itoa(int(servePort(agent))))
	}
	if !slices.ContainsFunc(agent.Spec.Env, func(v v1alpha1.EnvVar) bool { return v.Name == EnvHome }) {
		add(EnvHome, ScratchDir)
	}
	for _, v := range agent.Spec.Env {
		add(v.Name, v.Value)
	}
	return all
}

// resources returns the container's resources.
func resources(given *v1alpha1.Resources) corev1.ResourceRequirements {
	if given == nil {
		return corev1.ResourceRequirements{}
	}
	return corev1.ResourceRequirements{Limits: quantities(given.Limits), Requests: quantities(given.Requests)}
}

// quantities rounds amounts up to a thousandth, as the API server stores them,
// and leaves out those that the check refuses.
func quantities(amounts map[corev1.ResourceName]v1alpha1.Amount) corev1.ResourceList {
	var list corev1.ResourceList
	for name, amount := range amounts {
		quantity, err := amount.Quantity()
		if err != nil {
			continue
		}
		quantity.RoundUp(resource.Milli)
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[name] = quantity
	}
	return list
}

// podSettings returns the settings of the pod, the zero value when there are none.
func podSettings(agent *v1alpha1.LoomAgent) v1alpha1.PodSettings {
	if agent.Spec.Pod == nil {
		return v1alpha1.PodSettings{}
	}
	return *agent.Spec.Pod
}

// orDefault returns the value, or the standard one when it is the zero value.
func orDefault[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

// valueOr returns what the pointer holds, or the standard value when it is nil.
func valueOr[T any](pointer *T, standard T) T {
	if pointer == nil {
		return standard
	}
	return *pointer
}
