package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// counterBroker starts a broker with the topics of ad spend of a configuration, after change. It
// ends with the test. The second result is environ with the address of the broker.
func counterBroker(t *testing.T, environ []string, change ...func(*stream.Topic)) (kafka.Cluster, []string) {
	t.Helper()
	cfg, err := config.Load(config.Options{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	topics := node.Topics(cfg, node.InGroups("spend"))
	for i := range topics {
		for _, f := range change {
			f(&topics[i])
		}
	}
	broker, err := devbroker.Start(devbroker.Config{Topics: topics})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Close() })
	return broker.Kafka(), append(slices.Clone(environ), "WEIR_KAFKA_BROKERS="+strings.Join(broker.Addrs(), ","))
}
