package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// agentSchema is the only document schema that this version understands.
const agentSchema = "loom.agent/1"

// Every name that the API server takes for a LoomAgent is good: names of
// children are shortened where Kubernetes needs that (A11). A document that
// leaves its name to generateName is judged without one.
func agentName(in Input) []Finding {
	meta := in.Agent.ObjectMeta
	switch {
	case meta.Name == "" && meta.GenerateName == "":
		return []Finding{broken("metadata.name", "The agent has no name. Give it one.")}
	case meta.Name != "" && !isSubdomain(meta.Name):
		return []Finding{broken("metadata.name", "%s is not a valid name. %s", quote(meta.Name), subdomainRule)}
	}
	return nil
}

const subdomainRule = "Use lower-case letters, digits, '-' and '.', begin and end with a letter or digit, and use at most 253 characters."

func isSubdomain(name string) bool {
	return len(validation.IsDNS1123Subdomain(name)) == 0
}

func agentOrCommand(in Input) []Finding {
	if in.Agent.Spec.Agent != nil || in.Agent.Spec.Command != nil {
		return nil
	}
	return []Finding{broken("spec", "There is nothing to run. Give spec.agent, spec.command or both.")}
}

// The keys schema, model and instructions belong to the operator's contract.
// All other keys belong to the runtime and are not looked at (design section 3).
func agentDocument(in Input) []Finding {
	if in.Agent.Spec.Agent == nil {
		return nil
	}
	document, ok := jsonObject(in.Agent.Spec.Agent.JSON())
	if !ok {
		return []Finding{broken("spec.agent", "The document is not a JSON object. Give an object with the keys schema, model and instructions.")}
	}
	schema, found := documentText(document, "schema", "Set it to "+agentSchema+".")
	if len(found) == 0 && schema != agentSchema {
		found = append(found, broken("spec.agent.schema", "The schema %s is not known. Set it to %s.", quote(schema), agentSchema))
	}
	_, model := documentText(document, "model", "Set it to the name of a model route.")
	_, instructions := documentText(document, "instructions", "Say in it what the agent is to do.")
	return slices.Concat(found, model, instructions)
}

// Routes belong to the runtime. The one thing that the check knows of them is
// that an object which lists routes by name must have the one that is asked for.
func modelRoute(in Input) []Finding {
	spec := in.Agent.Spec
	if spec.Agent == nil || spec.Routes == nil {
		return nil
	}
	routes, _ := jsonObject(spec.Routes.Raw)
	document, _ := jsonObject(spec.Agent.JSON())
	model, found := documentText(document, "model", "")
	if len(routes) == 0 || len(found) > 0 {
		return nil
	}
	if _, ok := routes[model]; ok {
		return nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(routes)), ", ")
	return []Finding{broken("spec.agent.model", "The model %s is not a route of spec.routes, which has %s. Add the route or name one of those.", quote(model), quote(names))}
}

// jsonObject reads the keys of an object and leaves their values as they are.
// Of a key that is there twice the last one counts, as for the API server.
func jsonObject(text []byte) (map[string]json.RawMessage, bool) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, false
	}
	return object, object != nil
}

// documentText reads a key of the agent document that must be a text.
func documentText(document map[string]json.RawMessage, key, advice string) (string, []Finding) {
	field := "spec.agent." + key
	value, ok := document[key]
	if !ok {
		return "", []Finding{broken(field, "The key is missing. %s", advice)}
	}
	var text *string
	if err := json.Unmarshal(value, &text); err != nil || text == nil {
		return "", []Finding{broken(field, "The value is not a string. %s", advice)}
	}
	if strings.TrimSpace(*text) == "" {
		return "", []Finding{broken(field, "The value is empty. %s", advice)}
	}
	return *text, nil
}
