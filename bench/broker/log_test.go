package broker

import (
	"testing"

	"github.com/weirhq/weir/events"
)

// TestCopiesOfALog: the events of peers have the origins of a log without gaps, and the own ones
// have none.
func TestCopiesOfALog(t *testing.T) {
	for _, c := range []struct{ part, parts int }{{0, 1}, {0, 4}, {3, 4}} {
		src, err := Log{Events: 8, Campaigns: 1000}.source(c.part, c.parts)
		if err != nil {
			t.Fatal(err)
		}
		next := map[int32]int64{}
		for range 1000 {
			r := src()
			if c.part == 0 {
				if r.Origin != nil {
					t.Fatalf("part %d of %d has copies", c.part, c.parts)
				}
				continue
			}
			o, ok := events.ParseOrigin(r.Origin)
			want := events.Origin{Partition: r.Partition, Offset: next[r.Partition], Previous: next[r.Partition] - 1}
			if !ok || o != want {
				t.Fatalf("part %d of %d: origin %+v (%t), want %+v", c.part, c.parts, o, ok, want)
			}
			next[r.Partition]++
		}
	}
}
