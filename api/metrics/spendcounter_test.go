package metrics

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// TestRestoredTotals: totals that a handler restores are not counted again, and what it adds to
// them is. Here 41 duplicates were counted by an earlier owner of the partition.
func TestRestoredTotals(t *testing.T) {
	registry := obs.NewRegistry("test")
	m := NewSpend(registry)
	task, err := proto.Marshal(&spendpb.TaskState{Duplicates: 41, EarlyRotations: 3})
	if err != nil {
		t.Fatal(err)
	}
	state := map[string][]byte{string(spendcounter.TableTask) + "task": task}
	c, err := spendcounter.New(spendcounter.Config{}, taskWith(state))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Stats().Duplicates; got != 41 {
		t.Fatalf("the handler restored %d duplicates, want 41", got)
	}
	h := m.observe(c, 0)
	for range 3 {
		if err := h.Flush(stream.Commit{}, &stream.Changes{}); err != nil {
			t.Fatal(err)
		}
	}
	all := series(t, registry)
	for _, name := range []string{"weir_spendcounter_duplicates_total{}", "weir_spendcounter_early_rotations_total{}"} {
		if got, ok := all[name]; !ok || got != 0 {
			t.Errorf("%s is %v (%t), want 0", name, got, ok)
		}
	}
	total := increase{m.duplicates, 41}
	for _, n := range []uint64{44, 44, 50} {
		total.to(n)
	}
	if got := series(t, registry)["weir_spendcounter_duplicates_total{}"]; got != 9 {
		t.Errorf("the counter is %v after the total grew from 41 to 50, want 9", got)
	}
}
