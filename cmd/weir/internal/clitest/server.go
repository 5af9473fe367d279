package clitest

import (
	"context"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
)

// cluster answers GetCluster.
type cluster struct{ *weirpb.GetClusterResponse }

// Cluster implements api.ClusterSource.
func (c cluster) Cluster(context.Context) (*weirpb.GetClusterResponse, error) {
	return c.GetClusterResponse, nil
}

// Server serves settings and nothing else until the test ends. It returns its address.
func Server(t *testing.T, settings *weirpb.GetClusterResponse) string {
	t.Helper()
	return Serve(t, api.Config{Cluster: cluster{settings}}).Addr()
}

// Serve serves an API at free ports until the test ends.
func Serve(t *testing.T, cfg api.Config) *api.Server {
	t.Helper()
	cfg.Listen, cfg.OpsListen = "127.0.0.1:0", "127.0.0.1:0"
	server, err := api.New(cfg)
	if err == nil {
		err = server.Listen(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server
}
