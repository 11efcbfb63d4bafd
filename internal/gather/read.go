package gather

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Found is what the references of one agent turned out to be.
type Found struct {
	// Missing tells, a sentence each, what does not exist.
	Missing []string
	// Digest changes with the data of the Secrets and ConfigMaps, and when one
	// of them is deleted and made anew. Nothing else changes it. It is empty
	// when the agent refers to none or one is missing.
	Digest string
}

// Read reads every reference of the agent from the API server. No value of a
// Secret leaves this function, nor is one kept (case A39).
//
// The digest is keyed with the UIDs of the objects, which only those know who
// may read the objects: whoever sees the digest in a pod template cannot try
// out values against it.
func Read(ctx context.Context, reader client.Reader, agent *v1alpha1.LoomAgent) (Found, error) {
	found := Found{}
	digest := hmac.New(sha256.New, []byte(agent.UID))
	digested := false
	for _, reference := range References(agent.Spec) {
		data, err := read(ctx, reader, agent.Namespace, reference)
		if apierrors.IsNotFound(err) {
			found.Missing = append(found.Missing, fmt.Sprintf("%s, named by %s, was not found in namespace %q", reference, reference.Field, agent.Namespace))
			continue
		}
		if err != nil {
			return Found{}, fmt.Errorf("read %s: %w", reference, err)
		}
		if reference.Key != "" {
			value, ok := data.values[reference.Key]
			if !ok {
				found.Missing = append(found.Missing, fmt.Sprintf("%s, named by %s, was not found: the %s exists in namespace %q and has no such key", reference, reference.Field, reference.Kind, agent.Namespace))
				continue
			}
			data.values = map[string][]byte{reference.Key: value}
		}
		if data.values != nil {
			data.digest(digest)
			digested = true
		}
	}
	if digested && len(found.Missing) == 0 {
		found.Digest = hex.EncodeToString(digest.Sum(nil)[:16])
	}
	return found, nil
}

// Message joins what is missing into the sentences of a condition.
func (f Found) Message() string {
	return strings.Join(f.Missing, ". ") + ". Create it; the agent goes on without an edit."
}

type object struct {
	uid    types.UID
	values map[string][]byte
}

func read(ctx context.Context, reader client.Reader, namespace string, reference Reference) (object, error) {
	key := client.ObjectKey{Namespace: namespace, Name: reference.Name}
	switch reference.Kind {
	case Secret:
		secret := &corev1.Secret{}
		if err := reader.Get(ctx, key, secret); err != nil {
			return object{}, err
		}
		return object{uid: secret.UID, values: nonNil(secret.Data)}, nil
	case ConfigMap:
		configMap := &corev1.ConfigMap{}
		if err := reader.Get(ctx, key, configMap); err != nil {
			return object{}, err
		}
		values := nonNil(maps.Clone(configMap.BinaryData))
		for name, text := range configMap.Data {
			values[name] = []byte(text)
		}
		return object{uid: configMap.UID, values: values}, nil
	default:
		claim := &corev1.PersistentVolumeClaim{}
		return object{}, reader.Get(ctx, key, claim)
	}
}

func nonNil(values map[string][]byte) map[string][]byte {
	if values == nil {
		return map[string][]byte{}
	}
	return values
}

// digest adds the object's values to the digest under a key of its own. Every
// part has a length of its own, so that no two contents look alike.
func (o object) digest(into hash.Hash) {
	own := hmac.New(sha256.New, []byte(o.uid))
	for _, name := range slices.Sorted(maps.Keys(o.values)) {
		fmt.Fprintf(own, "%d:%s%d:", len(name), name, len(o.values[name]))
		own.Write(o.values[name])
	}
	into.Write(own.Sum(nil))
}
