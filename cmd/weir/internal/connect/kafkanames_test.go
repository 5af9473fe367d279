package connect

import (
	"slices"
	"testing"

	"github.com/weirhq/weir/events"
)

// TestKafkaNames: each topic of the catalogues has the setting of its partitions.
func TestKafkaNames(t *testing.T) {
	n := KafkaNames([]string{"spend", "leases"})
	spend := events.Catalog("local", events.Layout{Generation: 2})
	for _, topic := range slices.Concat(spend, events.LeaseCatalog([]string{"eu"}, 0)) {
		want := "leases.partitions"
		if slices.ContainsFunc(spend, func(x events.Topic) bool { return x.Name == topic.Name }) {
			want = "spend.partitions"
		}
		if got := n.Partitions(topic.Name); got != want {
			t.Errorf("%s: %s, want %s", topic.Name, got, want)
		}
	}
	if n.Apply != "run `weir topics apply --for spend,leases`" {
		t.Errorf("apply: %s", n.Apply)
	}
}
