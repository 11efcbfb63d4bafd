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
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// document is one LoomAgent out of a file.
type document struct {
	source string
	agent  *v1alpha1.LoomAgent
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
		agent, err := parse(decoder, text)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if agent != nil {
			documents = append(documents, document{source: file, agent: agent})
		}
	}
}

// strict returns a decoder that reads documents as the API server does with
// strict field validation: names are case-sensitive, and an unknown or a
// repeated field is an error.
func strict() runtime.Decoder {
	scheme := newScheme()
	return kubejson.NewSerializerWithOptions(kubejson.DefaultMetaFactory, scheme, scheme, kubejson.SerializerOptions{Yaml: true, Strict: true})
}

// parse reads one YAML document; nil when it is empty or of another kind. A
// field that the API does not know is an error, since the API server would
// drop it (case A51).
func parse(decoder runtime.Decoder, text []byte) (*v1alpha1.LoomAgent, error) {
	object, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("it is not valid YAML: %w", err)
	}
	var kind metav1.TypeMeta
	if json.Unmarshal(object, &kind) != nil {
		return nil, errors.New("it is not an object with the texts apiVersion and kind")
	}
	if kind.Kind != v1alpha1.Kind {
		return nil, nil
	}
	if kind.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("apiVersion is %q, this operator knows %q", kind.APIVersion, v1alpha1.GroupVersion)
	}
	agent := &v1alpha1.LoomAgent{}
	if _, _, err := decoder.Decode(text, nil, agent); err != nil {
		return nil, err
	}
	return agent, nil
}
