package events

import (
	"slices"
	"testing"

	"github.com/weirhq/weir/stream"
)

func TestLeaseShard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client, pool string
		want         int32
	}{{"acme", "numbers", 2}, {"acmen", "umbers", 11}, {"", "", 0}} {
		if got := LeaseShard(c.client, c.pool, 12); got != c.want || got < 0 || got >= 12 {
			t.Errorf("LeaseShard(%q, %q) = %d, want %d", c.client, c.pool, got, c.want)
		}
	}
}

func TestLeaseCatalog(t *testing.T) {
	t.Parallel()
	var names []string
	for _, topic := range LeaseCatalog([]string{"us-east-1", "eu-west-1"}, 0) {
		if slices.Contains(names, topic.Name) {
			t.Errorf("%s is in the catalog twice", topic.Name)
		}
		names = append(names, topic.Name)
		if topic.Partitions < 1 || topic.Doc == "" || topic.Cleanup == stream.CleanupDelete && topic.Retention == 0 {
			t.Errorf("%+v", topic)
		}
	}
	for _, want := range []string{"lease.commands.eu-west-1", "lease.commands.us-east-1", "lease.changes", "lease-balancer.state", "lease-bridge.dlq"} {
		if !slices.Contains(names, want) {
			t.Errorf("the catalog lacks %s", want)
		}
	}
}
