package check

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

const (
	// reservedEnvPrefix begins the variables that the operator itself sets
	// (docs/runtime-contract.md).
	reservedEnvPrefix = "LOOM_"
	// Linux starts no program with a longer string: MAX_ARG_STRLEN is 128 KiB
	// with the closing zero byte, see execve(2) (A42).
	maxArgumentBytes = 128<<10 - 1
	// Linux allows a quarter of the stack, mostly 2 MiB, for all of them. The
	// other half is left to the Secret's variables and to the image's own.
	maxArgumentTotalBytes = 1 << 20
)

// The strict rule for names is used: it holds in every Kubernetes that the
// operator supports, the relaxed one only since 1.34.
func envName(in Input) []Finding {
	var found []Finding
	for i, env := range in.Agent.Spec.Env {
		if len(validation.IsEnvVarName(env.Name)) > 0 {
			found = append(found, broken(envField(i), "%s is not a valid name of an environment variable. Use letters, digits, '_', '-' and '.', and do not begin with a digit or two dots.", quote(env.Name)))
		}
	}
	return found
}

// The operator's own variables are the runtime's contract, so they are refused
// rather than overridden (A12).
func envReserved(in Input) []Finding {
	var found []Finding
	for i, env := range in.Agent.Spec.Env {
		if strings.HasPrefix(env.Name, reservedEnvPrefix) {
			found = append(found, broken(envField(i), "%s begins with %s, which is reserved for the operator. Choose another name.", quote(env.Name), reservedEnvPrefix))
		}
	}
	return found
}

func envUnique(in Input) []Finding {
	var found []Finding
	first := map[string]int{}
	for i, env := range in.Agent.Spec.Env {
		if j, ok := first[env.Name]; ok {
			found = append(found, broken(envField(i), "%s is already set by spec.env[%d]. Keep one of them.", quote(env.Name), j))
			continue
		}
		first[env.Name] = i
	}
	return found
}

func envField(i int) string { return fmt.Sprintf("spec.env[%d].name", i) }

func entrypoint(in Input) []Finding {
	command := in.Agent.Spec.Command
	if command == nil || len(command.Entrypoint) == 0 || command.Entrypoint[0] != "" {
		return nil
	}
	return []Finding{broken("spec.command.entrypoint[0]", "The program is empty. Name one, or leave out entrypoint to run the image's own.")}
}

func nulByte(in Input) []Finding {
	var found []Finding
	for _, argument := range arguments(&in.Agent.Spec) {
		if strings.ContainsRune(argument.text, 0) {
			found = append(found, broken(argument.field, "The text has a zero byte, with which Linux starts no program. Remove it."))
		}
	}
	return found
}

func argumentSize(in Input) []Finding {
	var found []Finding
	for _, argument := range arguments(&in.Agent.Spec) {
		if len(argument.text) > maxArgumentBytes {
			found = append(found, broken(argument.field, "The text has %d bytes and Linux starts no program with more than %d in one. Use spec.configFiles instead.", len(argument.text), maxArgumentBytes))
		}
	}
	return found
}

func argumentTotal(in Input) []Finding {
	total := 0
	for _, argument := range arguments(&in.Agent.Spec) {
		total += len(argument.text)
	}
	if total <= maxArgumentTotalBytes {
		return nil
	}
	return []Finding{broken("spec", "Environment, entrypoint and arguments have %d bytes in total and at most %d are allowed. Move some of them to spec.configFiles.", total, maxArgumentTotalBytes)}
}

// argument is one string that the kernel is given to start the program.
type argument struct {
	field string
	text  string
}

func arguments(spec *v1alpha1.LoomAgentSpec) []argument {
	var all []argument
	for i, env := range spec.Env {
		all = append(all, argument{fmt.Sprintf("spec.env[%d]", i), env.Name + "=" + env.Value})
	}
	if spec.Command == nil {
		return all
	}
	for i, text := range spec.Command.Entrypoint {
		all = append(all, argument{fmt.Sprintf("spec.command.entrypoint[%d]", i), text})
	}
	for i, text := range spec.Command.Args {
		all = append(all, argument{fmt.Sprintf("spec.command.args[%d]", i), text})
	}
	return all
}
