package scorecard

import (
	_ "embed"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubejson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
)

// examplesAccepted wants each example to be one that runs.
func examplesAccepted(s subject) (found []finding) {
	if len(s.examples) == 0 {
		return []finding{fault("There is no example.")}
	}
	for _, example := range s.examples {
		if err := verdict(s, example); err != nil {
			found = append(found, fault("The example %s is refused: %v", example.GetName(), err))
		}
	}
	return found
}

// verdict is what the API server and then the check say about a document; nil
// when both accept it.
func verdict(s subject, document unstructured.Unstructured) error {
	schema := schemaOf(s, document)
	if schema == nil {
		return errors.New("no CustomResourceDefinition describes it")
	}
	refused, err := schemaErrors(schema, document.Object)
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		return refused.ToAggregate()
	}
	agent, err := decode(document)
	if err != nil {
		return err
	}
	if report := check.Run(check.Input{Agent: agent, DefaultImage: s.CSV.Annotations["containerImage"]}); report.ExitCode() != 0 {
		return errors.New(report.Message())
	}
	return nil
}

// decode reads a document as strictly as the API server does.
func decode(document unstructured.Unstructured) (*v1alpha1.LoomAgent, error) {
	text, err := json.Marshal(document.Object)
	if err != nil {
		return nil, err
	}
	agent := &v1alpha1.LoomAgent{}
	problems, err := kubejson.UnmarshalStrict(text, agent)
	return agent, errors.Join(append(problems, err)...)
}

//go:embed refused.yaml
var refusedText []byte

// refusal is a document that must be refused, and a part of the message.
type refusal struct {
	// Spec is that of the document.
	Spec map[string]any `json:"spec"`
	// Message is a part of what the user is told.
	Message string `json:"message"`
	// Admitted says that the API server takes it and the check refuses it.
	Admitted bool `json:"admitted"`
}

// refusals are the documents of refused.yaml by what is wrong with them.
func refusals() (map[string]refusal, error) {
	listed := map[string]refusal{}
	return listed, yaml.UnmarshalStrict(refusedText, &listed)
}

func (r refusal) document(name string) unstructured.Unstructured {
	document := unstructured.Unstructured{Object: map[string]any{"spec": r.Spec}}
	document.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	document.SetName(name)
	return document
}

// invalidRefused wants what can never be right to be refused, with the message
// that users were promised.
func invalidRefused(s subject) (found []finding) {
	listed, err := refusals()
	if err != nil {
		return []finding{fault("The documents that must be refused cannot be read: %v.", err)}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		switch err := verdict(s, listed[name].document("refused")); {
		case err == nil:
			found = append(found, fault("A document with %s is accepted.", name))
		case !strings.Contains(err.Error(), listed[name].Message):
			found = append(found, fault("A document with %s is refused without saying %q: %v", name, listed[name].Message, err))
		}
	}
	return found
}
