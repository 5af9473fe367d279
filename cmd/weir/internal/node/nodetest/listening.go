package nodetest

import (
	"context"
	"testing"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
)

// Listening starts the listeners of a node with the default roles. It has no broker.
func Listening(t *testing.T, environ []string) *node.Node {
	t.Helper()
	cfg, err := config.Load(config.Options{Environ: environ, Hostname: func() (string, error) { return "host", nil }})
	if err != nil {
		t.Fatal(err)
	}
	roles, err := node.Select(node.DefaultRoles())
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(cfg, node.Config{Kafka: kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}, Log: zerolog.Nop(), Roles: roles})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- n.Server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-n.Server.Ready()
	return n
}
