// Package controller shows one controller in the three shapes that package stages offers.
package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/beyond10x/loom-operator/examples/settings/v1"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// The conditions that the stages establish.
const (
	ConfigurationReady = "ConfigurationReady"
	ChecksumReady      = "ChecksumReady"
)

type pass = stages.Pass[*v1.Settings]

// Staged has two stages: write the ConfigMap, then report the checksum of what was written.
func Staged(options ...stages.Option) *stages.Builder[*v1.Settings] {
	b := start(options)
	b.Stage(ConfigurationReady).Do(func(ctx context.Context, p *pass) error {
		if isSuspended(p.Object(), p) {
			return suspended(ctx, p)
		}
		return configure(ctx, p)
	})
	b.Stage(ChecksumReady).After(ConfigurationReady).Do(checksum)
	return b
}

// Cased is Staged with named alternatives in the first stage.
func Cased(options ...stages.Option) *stages.Builder[*v1.Settings] {
	b := start(options)
	b.Stage(ConfigurationReady).
		Case("suspended", isSuspended, suspended).
		Case("missing message", isBlank, missingMessage, "suspended").
		Otherwise(configure)
	b.Stage(ChecksumReady).After(ConfigurationReady).Do(checksum)
	return b
}

// RootCases selects one alternative without stages; it reports through Ready alone.
func RootCases(options ...stages.Option) *stages.Builder[*v1.Settings] {
	b := start(options)
	b.Root().Case("suspended", isSuspended, suspended).Otherwise(configure)
	return b
}

// start names the conditions of the other shapes, so that a change of shape leaves none behind.
func start(options []stages.Option) *stages.Builder[*v1.Settings] {
	common := []stages.Option{stages.Owns(&corev1.ConfigMap{}), stages.Retire(ConfigurationReady, ChecksumReady)}
	return stages.For[*v1.Settings]("settings", append(common, options...)...)
}

func isSuspended(obj *v1.Settings, _ *pass) bool { return obj.Spec.Suspended }

func isBlank(obj *v1.Settings, _ *pass) bool { return strings.TrimSpace(obj.Spec.Message) == "" }

func suspended(context.Context, *pass) error {
	return stages.Wait("Suspended", "The settings are suspended. Set spec.suspended to false to go on.", 5*time.Minute)
}

func missingMessage(context.Context, *pass) error {
	return stages.Wait("InputMissing", "The message is blank. Set spec.message to some text.", 0)
}

func configure(ctx context.Context, p *pass) error {
	return p.Ensure(ctx, &corev1.ConfigMap{Data: map[string]string{"message": p.Object().Spec.Message}})
}

// checksum reads past the cache, which may not have seen yet what the first stage wrote.
func checksum(ctx context.Context, p *pass) error {
	config := &corev1.ConfigMap{}
	if err := p.Get(ctx, client.ObjectKeyFromObject(p.Object()), config); err != nil {
		return err
	}
	text, err := json.Marshal(config.Data)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	p.Object().Status.Checksum = hex.EncodeToString(sum[:])
	return nil
}
