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
	server, err := api.New(api.Config{Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", Cluster: cluster{settings}})
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
	return server.Addr()
}
