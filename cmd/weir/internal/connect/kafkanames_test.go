package connect

import (
	"testing"

	"github.com/weirhq/weir/internal/config"
)

// TestKafkaNames: each topic that a group needs has the setting of its partitions; a topic of
// another generation has the one of the first group.
func TestKafkaNames(t *testing.T) {
	c, err := config.Load(config.Options{
		Environ:  []string{"WEIR_DATA_DIR=" + t.TempDir(), "WEIR_LEASES_REGIONS=eu,us"},
		Hostname: func() (string, error) { return "host", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	n := KafkaNames(c, []string{"spend", "leases"})
	for group, want := range map[string]string{"spend": "spend.partitions", "leases": "leases.partitions"} {
		topics := RequiredTopics(c, []string{group})
		if len(topics) < 3 {
			t.Fatalf("%s: %d topics", group, len(topics))
		}
		for _, topic := range topics {
			if got := n.Partitions(topic.Name); got != want {
				t.Errorf("%s: %s, want %s", topic.Name, got, want)
			}
		}
	}
	if got := n.Partitions("ads.events.g9"); got != "spend.partitions" {
		t.Errorf("another generation: %s", got)
	}
	if n.Apply != "run `weir topics apply --for spend,leases`" {
		t.Errorf("apply: %s", n.Apply)
	}
}
