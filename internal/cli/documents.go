package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// document is one LoomAgent out of a file.
type document struct {
	// source is the file and, out of a list, the place in it.
	source string
	agent  *v1alpha1.LoomAgent
	// written is the agent with what the file gives, and no more: the schema
	// tells an empty field from a missing one.
	written map[string]any
}

// documentFlags are the flags of the commands that read documents.
type documentFlags struct {
	files []string
	image string
}

func (f *documentFlags) add(cmd *cobra.Command, version string) {
	cmd.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "File with LoomAgents, - for standard input; can be repeated")
	image := cmp.Or(os.Getenv(agentImageVariable), agentImage(version))
	cmd.Flags().StringVar(&f.image, "agent-image", image, "Image of agents that name none (environment "+agentImageVariable+")")
}

// read reads every LoomAgent of every file. Extra arguments count as files, so
// that a shell's pattern works after -f.
func (f *documentFlags) read(cmd *cobra.Command, args []string) ([]document, error) {
	files := append(f.files, args...)
	if len(files) == 0 {
		return nil, errors.New("name at least one file with -f")
	}
	var documents []document
	for _, file := range files {
		found, err := readFile(cmd.InOrStdin(), file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no LoomAgent in it", file)
		}
		documents = append(documents, found...)
	}
	return documents, nil
}

func readFile(stdin io.Reader, file string) ([]document, error) {
	in := stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		in = opened
	}
	var documents []document
	reader, decoder := utilyaml.NewYAMLReader(bufio.NewReader(in)), strict()
	for n := 1; ; n++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		found, err := parse(decoder, file, text, metav1.TypeMeta{})
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		documents = append(documents, found...)
	}
}

// strict returns a decoder that reads documents as the API server does with
// strict field validation: names are case-sensitive, and an unknown or a
// repeated field is an error.
func strict() runtime.Decoder {
	scheme := newScheme()
	return kubejson.NewSerializerWithOptions(kubejson.DefaultMetaFactory, scheme, scheme, kubejson.SerializerOptions{Yaml: true, Strict: true})
}

// parse reads the LoomAgents of one YAML document: the document itself, or the
// items of a list; none when it is empty or of another kind. The kind counts
// where the text names none. A field that the API does not know is an error,
// since the API server would drop it (case A51).
func parse(decoder runtime.Decoder, source string, text []byte, kind metav1.TypeMeta) ([]document, error) {
	object, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("it is not valid YAML: %w", err)
	}
	if json.Unmarshal(object, &kind) != nil {
		return nil, errors.New("it is not an object with the texts apiVersion and kind")
	}
	switch kind.Kind {
	case "List":
		return parseItems(decoder, source, text, metav1.TypeMeta{})
	case v1alpha1.Kind + "List":
		return parseItems(decoder, source, text, metav1.TypeMeta{APIVersion: kind.APIVersion, Kind: v1alpha1.Kind})
	case v1alpha1.Kind:
	default:
		return nil, nil
	}
	if kind.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("apiVersion is %q, this operator knows %q", kind.APIVersion, v1alpha1.GroupVersion)
	}
	agent := &v1alpha1.LoomAgent{}
	if _, _, err := decoder.Decode(text, nil, agent); err != nil {
		return nil, err
	}
	agent.TypeMeta = kind
	var written map[string]any
	if err := utiljson.Unmarshal(object, &written); err != nil {
		return nil, err
	}
	return []document{{source: source, agent: agent, written: written}}, nil
}

// parseItems reads the LoomAgents of a list, as kubectl get prints it.
func parseItems(decoder runtime.Decoder, source string, text []byte, kind metav1.TypeMeta) ([]document, error) {
	// The items no longer show that a field is given twice.
	object, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("it is not valid YAML: %w", err)
	}
	var list metav1.List
	if err := json.Unmarshal(object, &list); err != nil {
		return nil, fmt.Errorf("it is not a list: %w", err)
	}
	var documents []document
	for i, item := range list.Items {
		place := fmt.Sprintf("items[%d]", i)
		found, err := parse(decoder, source+": "+place, item.Raw, kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		documents = append(documents, found...)
	}
	return documents, nil
}
