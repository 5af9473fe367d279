package processors

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/internal/store"
)

// TestRange compares ranges with a sorted list, at the bounds of tables and partitions.
func TestRange(t *testing.T) {
	s := memoryStore(t)
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		var b strings.Builder
		for range rng.IntN(4) {
			b.WriteByte([]byte{0, 1, 'a', 0xfe, 0xff}[rng.IntN(5)])
		}
		return b.String()
	}
	type place struct {
		p     int32
		table byte
	}
	content := map[place][]string{}
	for _, at := range []place{{0, 1}, {0, 255}, {1, 1}, {1, 2}, {1, 255}, {255, 255}, {256, 1}} {
		for range 100 {
			k := word()
			content[at] = append(content[at], k)
			if err := s.DB.Set(store.Key(at.p, at.table, []byte(k)), []byte("v"+k), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(content[at])
		content[at] = slices.Compact(content[at])
	}
	snap := &Snapshot{done: s.Retain(), snap: s.DB.NewSnapshot(), store: s}
	defer func() {
		if err := snap.Close(); err != nil {
			t.Error(err)
		}
	}()
	for at, keys := range content {
		for i := range 200 {
			from, to := word(), []byte(word())
			if i%3 == 0 {
				to = nil
			}
			var want, got []string
			for _, k := range keys {
				if k >= from && (to == nil || k < string(to)) {
					want = append(want, k)
				}
			}
			err := snap.Range(KeyRange{at.p, at.table, []byte(from), to}, func(k, v []byte) error {
				if string(v) != "v"+string(k) {
					t.Errorf("key %q has value %q", k, v)
				}
				got = append(got, string(k))
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%v from %q to %q: %q, %v; want %q", at, from, to, got, err, want)
			}
		}
	}
	enough := errors.New("enough")
	if err := snap.Range(KeyRange{Partition: 1, Table: 1}, func(_, _ []byte) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("the callback's error came as %v", err)
	}
}

// TestSnapshotDuringMove: a snapshot does not show a partition that the process released while it
// was taken, nor one that came.
func TestSnapshotDuringMove(t *testing.T) {
	d := make(directory, 5)
	at := func(p int32) *inbox { return newInbox(nil, &task{p: p}) }
	leaves, replaced := at(1), at(2)
	d.enter(at(0))
	d.enter(leaves)
	d.enter(replaced)
	got := d.runningWhile(func() {
		d.leave(leaves)
		d.leave(replaced)
		d.enter(at(2))
		d.enter(at(3))
	})
	if want := []bool{true, false, false, false, false}; !slices.Equal(got, want) {
		t.Errorf("the partitions that run: %v, want %v", got, want)
	}
}
