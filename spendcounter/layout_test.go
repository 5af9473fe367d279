package spendcounter

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
)

// TestOtherLayoutsAreRefused: the state of another version is not read as if it were empty, by a
// counter or by the promotion of an account.
func TestOtherLayoutsAreRefused(t *testing.T) {
	for layout, words := range map[uint32]string{0: "delete its group and changelog", stateLayout + 1: "run the newer version"} {
		s := newStore()
		c := mustNew(t, Config{}, s)
		if err := c.Fold(&stream.Batch{Topic: "ads.events", Partition: 3, Records: []stream.Record{{Value: marshal(t, goodEvent()), TimeMs: epochMs}}}); err != nil {
			t.Fatal(err)
		}
		s.next["ads.events"] = 1
		s.flush(t, c, epochMs)
		mustNew(t, Config{}, s)
		state := s.taskState(t)
		state.Layout = layout
		s.tables[TableTask][TaskKey] = marshal(t, state)
		if _, err := New(Config{Shard: anyShard}, s.task()); !errors.Is(err, ErrLayout) || !strings.Contains(err.Error(), words) {
			t.Errorf("layout %d: %v", layout, err)
		}
		if _, err := (ProcessorConfig{}).Promotion(goodEvent().Account, s.task().Get, stream.Commit{}); !errors.Is(err, ErrLayout) {
			t.Errorf("layout %d, promotion of an account: %v", layout, err)
		}
	}
	if _, err := ParseTask([]byte{0xff}); err == nil || !strings.Contains(err.Error(), "corrupt") {
		t.Errorf("a broken task record: %v", err)
	}
}
