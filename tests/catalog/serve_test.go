package catalog_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/cache"
	"github.com/operator-framework/operator-registry/pkg/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// The catalog is served by opm's own server, and read as the catalog operator
// of OLM reads it: health, packages, channels and their heads, every bundle.
func TestOLMReadsTheCatalog(t *testing.T) {
	connection := serve(t, next(t))
	health, err := grpc_health_v1.NewHealthClient(connection).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, health.Status)
	registry := api.NewRegistryClient(connection)

	names, err := registry.ListPackages(t.Context(), &api.ListPackageRequest{})
	require.NoError(t, err)
	name, err := names.Recv()
	require.NoError(t, err)
	assert.Equal(t, "loom-operator", name.Name)
	_, err = names.Recv()
	require.ErrorIs(t, err, io.EOF)

	found, err := registry.GetPackage(t.Context(), &api.GetPackageRequest{Name: "loom-operator"})
	require.NoError(t, err)
	assert.Equal(t, "stable-v0", found.DefaultChannelName)
	heads := map[string]string{}
	for _, channel := range found.Channels {
		heads[channel.Name] = channel.CsvName
	}
	assert.Equal(t, map[string]string{"candidate-v0": "loom-operator.v0.2.0", "stable-v0": "loom-operator.v0.1.1"}, heads)

	head, err := registry.GetBundle(t.Context(), &api.GetBundleRequest{PkgName: "loom-operator", ChannelName: "candidate-v0", CsvName: heads["candidate-v0"]})
	require.NoError(t, err)
	assert.Equal(t, images+"0.2.0", head.BundlePath, "OLM unpacks this image")
	assert.Equal(t, []*api.GroupVersionKind{{Group: "loom.beyond10x.dev", Version: "v1alpha1", Kind: "LoomAgent"}}, plain(head.ProvidedApis))
	assert.Empty(t, head.RequiredApis)

	pinned, err := registry.GetBundle(t.Context(), &api.GetBundleRequest{PkgName: "loom-operator", ChannelName: "stable-v0", CsvName: "loom-operator.v0.1.0"})
	require.NoError(t, err)
	assert.Equal(t, images+"0.1.0", pinned.BundlePath, "a Subscription may start with an earlier version")
}

// OLM's resolver works on this list: an installed version is upgraded along
// replaces, skips or a range that it is in.
func TestOLMFindsTheUpgrades(t *testing.T) {
	registry := api.NewRegistryClient(serve(t, next(t)))
	all, err := registry.ListBundles(t.Context(), &api.ListBundlesRequest{})
	require.NoError(t, err)
	type edge struct{ replaces, skipRange string }
	found := map[string]edge{}
	for {
		bundle, err := all.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		found[bundle.ChannelName+" "+bundle.Version] = edge{bundle.Replaces, bundle.SkipRange}
	}
	assert.Equal(t, map[string]edge{
		"stable-v0 0.1.0":    {},
		"stable-v0 0.1.1":    {skipRange: ">=0.1.0 <0.1.1"},
		"candidate-v0 0.1.0": {},
		"candidate-v0 0.1.1": {skipRange: ">=0.1.0 <0.1.1"},
		"candidate-v0 0.2.0": {replaces: "loom-operator.v0.1.1", skipRange: ">=0.1.0 <0.2.0"},
	}, found)

	replacement, err := registry.GetBundleThatReplaces(t.Context(), &api.GetReplacementRequest{PkgName: "loom-operator", ChannelName: "candidate-v0", CsvName: "loom-operator.v0.1.1"})
	require.NoError(t, err)
	assert.Equal(t, "loom-operator.v0.2.0", replacement.CsvName)
}

// serve serves a catalog as `opm serve` does, from the files of the catalog.
func serve(t *testing.T, rendered *declcfg.DeclarativeConfig) *grpc.ClientConn {
	t.Helper()
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, "catalog.yaml"))
	require.NoError(t, err)
	require.NoError(t, declcfg.WriteYAML(*rendered, file))
	require.NoError(t, file.Close())

	store, err := cache.New(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	require.NoError(t, cache.LoadOrRebuild(t.Context(), store, os.DirFS(folder)))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := grpc.NewServer()
	api.RegisterRegistryServer(s, server.NewRegistryServer(store))
	grpc_health_v1.RegisterHealthServer(s, server.NewHealthServer())
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop()
		assert.NoError(t, <-done)
	})
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, connection.Close()) })
	return connection
}

// plain leaves out what gRPC keeps in its messages.
func plain(kinds []*api.GroupVersionKind) []*api.GroupVersionKind {
	copies := make([]*api.GroupVersionKind, len(kinds))
	for i, kind := range kinds {
		copies[i] = &api.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Plural: kind.Plural}
	}
	return copies
}
