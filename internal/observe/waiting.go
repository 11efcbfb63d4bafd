package observe

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// waiting tells why the kubelet does not start a container; zero when it is
// merely starting. The kubelet alternates between an error and a back-off of
// another name: both give the same cause.
func waiting(pod *corev1.Pod, status *corev1.ContainerStatus) Cause {
	state := status.State.Waiting
	if state == nil {
		return Cause{}
	}
	who := fmt.Sprintf("Container %s of pod %s", status.Name, pod.Name)
	switch state.Reason {
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed", "ImageInspectError":
		image := imageOf(pod, status)
		why := classify(strings.ReplaceAll(state.Message, image, ""), pullErrors, "Check its name, its tag and the pull Secrets.")
		return Cause{v1alpha1.ReasonImagePullFailed, fmt.Sprintf("%s cannot start: image %s cannot be pulled. %s", who, image, why)}
	case "ErrImageNeverPull":
		return Cause{v1alpha1.ReasonImagePullFailed, fmt.Sprintf("%s cannot start: image %s is not on the node and pod.imagePullPolicy is Never. Load it there, or change the policy.", who, imageOf(pod, status))}
	case "InvalidImageName":
		return Cause{v1alpha1.ReasonInvalidImageName, fmt.Sprintf("%s cannot start: %q is not the name of an image. Correct spec.image.", who, imageOf(pod, status))}
	case "CreateContainerConfigError", "CreateContainerError", "PreCreateHookError":
		if aboutAppArmor.MatchString(state.Message) {
			return appArmorCause(pod)
		}
		return Cause{v1alpha1.ReasonContainerConfigError, fmt.Sprintf("%s cannot be made: %s", who, configError(pod, state.Message))}
	case "RunContainerError", "PreStartHookError", "PostStartHookError":
		return cannotStart(pod, status, state.Message)
	default:
		return Cause{}
	}
}

var aboutAppArmor = regexp.MustCompile(`(?i)apparmor`)

// cannotStart tells why a container that was made does not run its program.
func cannotStart(pod *corev1.Pod, status *corev1.ContainerStatus, text string) Cause {
	if aboutAppArmor.MatchString(text) {
		return appArmorCause(pod)
	}
	who := fmt.Sprintf("Container %s of pod %s", status.Name, pod.Name)
	program := "its program"
	if spec := containerSpec(pod, status.Name); spec != nil && len(spec.Command) > 0 {
		program = fmt.Sprintf("program %q", cut(spec.Command[0]))
	}
	why := classify(text, startErrors, "Check command.entrypoint and the image.")
	return Cause{v1alpha1.ReasonContainerCannotRun, fmt.Sprintf("%s cannot start %s. %s", who, program, why)}
}

func imageOf(pod *corev1.Pod, status *corev1.ContainerStatus) string {
	if spec := containerSpec(pod, status.Name); spec != nil && spec.Image != "" {
		return spec.Image
	}
	if status.Image != "" {
		return status.Image
	}
	return "(no image)"
}

// class is what a text that holds one of the words means.
type class struct {
	words []string
	means string
}

// classify gives the meaning of the first class that the text belongs to.
func classify(text string, classes []class, otherwise string) string {
	text = strings.ToLower(text)
	for _, class := range classes {
		for _, word := range class.words {
			if strings.Contains(text, word) {
				return class.means
			}
		}
	}
	return otherwise
}

// pullErrors are ordered: registries that hide what they have say that access
// is denied or that the image is not found, both in one text.
var pullErrors = []class{
	{[]string{"toomanyrequests", "429 too many", "rate limit"}, "The registry limits the number of pulls: wait, or log in with a pull Secret."},
	{[]string{"unauthorized", "authentication required", "access denied", "authorization failed", "insufficient_scope", "forbidden", "no basic auth"}, "The registry refuses access: check the name and pod.imagePullSecrets."},
	{[]string{"x509", "certificate", "server gave http response to https"}, "The node does not trust the registry: check its certificate."},
	{[]string{"no such host", "server misbehaving", "connection refused", "i/o timeout", "deadline exceeded", "no route to host", "network is unreachable", "connection reset"}, "The registry cannot be reached: check its host name and the network of the node."},
	{[]string{"no match for platform", "no matching manifest", "exec format"}, "The image has no variant for the platform of the node: build one, or choose other nodes."},
	{[]string{"signature"}, "The image's signature was not accepted: sign it, or correct the policy of the node."},
	{[]string{"no space left"}, "The node has no space left for it: free some, or choose other nodes."},
	{[]string{"not found", "manifest unknown", "does not exist", "name unknown"}, "The image was not found in the registry: check its name and its tag."},
}

var startErrors = []class{
	{[]string{"executable file not found", "no such file or directory", "not found in $path"}, "The file does not exist in the image: correct command.entrypoint."},
	{[]string{"permission denied"}, "The file may not be executed: correct its mode in the image, or command.entrypoint."},
	{[]string{"exec format error"}, "The file is for another platform than the node's: build the image for it, or choose other nodes."},
	{[]string{"argument list too long"}, "Its arguments or environment are too long: hand long text over in a file."},
	{[]string{"is a directory"}, "It is a directory: correct command.entrypoint."},
}

var (
	missingObject = regexp.MustCompile(`(?i)\b(secret|configmap) "([^"]+)" not found`)
	missingKey    = regexp.MustCompile(`couldn't find key (\S+) in (Secret|ConfigMap) \S+/(\S+)`)
)

var configErrors = []class{
	{[]string{"runasnonroot and image will run as root", "runasuser breaks non-root policy"}, "it would run as root, which is not allowed. Use an image that sets a user with a number other than 0."},
	{[]string{"non-numeric user"}, "its image names its user by a word, so that nobody can tell that it is not root. Use an image that sets a user by number."},
	{[]string{"no command specified"}, "its image has no command. Set command.entrypoint."},
	{[]string{"executable file not found"}, "its program does not exist in the image. Correct command.entrypoint."},
	{[]string{"subpath"}, "a path inside a volume cannot be mounted. Check that it exists."},
	{[]string{"name is reserved", "is reserved for"}, "its node still holds a container of the same name. It is tried again; if that does not end, look at the node."},
}

// configError names the object that is missing, or what the node refuses. It
// is the end of a sentence, and what to do.
func configError(pod *corev1.Pod, text string) string {
	if match := missingObject.FindStringSubmatch(text); match != nil {
		kind := map[string]string{"secret": "Secret", "configmap": "ConfigMap"}[strings.ToLower(match[1])]
		return fmt.Sprintf("%s %q does not exist. Create it.", kind, match[2])
	}
	if match := missingKey.FindStringSubmatch(text); match != nil {
		return fmt.Sprintf("%s %q has no key %q. Add it.", match[2], match[3], match[1])
	}
	otherwise := fmt.Sprintf("the node refuses its settings. See \"kubectl -n %s describe pod %s\".", pod.Namespace, pod.Name)
	return classify(text, configErrors, otherwise)
}
