package events

import (
	"testing"

	"pgregory.net/rapid"
)

// TestLayoutsShareNothing: two generations have no topic in common, nor have two prefixes, and all
// topics have as many partitions as the layout has.
func TestLayoutsShareNothing(t *testing.T) {
	dc := rapid.StringMatching(`[a-z]([a-z0-9-]{0,30}[a-z0-9])?`)
	layout := rapid.Custom(func(t *rapid.T) Layout {
		return Layout{
			Shards: rapid.Int32Range(0, MaxShards).Draw(t, "shards"), Generation: rapid.IntRange(0, 20).Draw(t, "generation"),
			Prefix: rapid.SampledFrom([]string{"", "bench.1.", "bench.2."}).Draw(t, "prefix"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := layout.Draw(t, "a"), layout.Draw(t, "b")
		of, from := dc.Draw(t, "dc"), dc.Draw(t, "from")
		if a.Shards != 0 && a.Partitions() != a.Shards || a.Shards == 0 && a.Partitions() != DefaultShards {
			t.Fatalf("%+v has %d partitions", a, a.Partitions())
		}
		same := max(a.Generation, 1) == max(b.Generation, 1) && a.Prefix == b.Prefix
		seen := map[string]bool{}
		for _, topic := range append(Catalog(of, a), CopiedTopics(from, a)...) {
			if seen[topic.Name] = true; topic.Partitions != a.Partitions() {
				t.Fatalf("%s has %d partitions, want %d", topic.Name, topic.Partitions, a.Partitions())
			}
		}
		for _, topic := range append(Catalog(of, b), CopiedTopics(from, b)...) {
			if seen[topic.Name] != same {
				t.Fatalf("%+v and %+v: %s is in both: %v", a, b, topic.Name, seen[topic.Name])
			}
		}
	})
	if got := (Layout{Generation: 2}).Name(EventsTopic); got != "ads.events.g2" {
		t.Errorf("generation 2: the topic of events is %s", got)
	}
	if got := (Layout{Generation: 2, Prefix: "bench."}).Name(EventsTopic); got != "bench.ads.events.g2" {
		t.Errorf("generation 2 with a prefix: the topic of events is %s", got)
	}
	if got := (Layout{Generation: 1}).Name(EventsTopic); got != EventsTopic {
		t.Errorf("generation 1: the topic of events is %s", got)
	}
}
