package processors

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// TestLaterReadsLikeTheStore: whatever waits and whatever is written, a handler reads what it would read had every transaction
// gone to the store at once.
func TestLaterReadsLikeTheStore(t *testing.T) {
	s := memStore(t, vfs.NewMem())
	defer func() { _ = s.close() }()
	rapid.Check(t, func(rt *rapid.T) {
		const p = 3
		if err := s.clear(p); err != nil {
			rt.Fatal(err)
		}
		var l later
		want := map[string]string{}
		for range rapid.IntRange(1, 20).Draw(rt, "transactions") {
			var ch stream.Changes
			for range rapid.IntRange(0, 6).Draw(rt, "changes") {
				k := rapid.StringMatching(`[ab]{0,3}`).Draw(rt, "key")
				if rapid.IntRange(0, 3).Draw(rt, "delete") == 0 {
					ch.Delete(1, []byte(k))
					delete(want, k)
				} else {
					v := rapid.StringN(0, 5, 5).Draw(rt, "value")
					ch.Put(1, []byte(k), []byte(v))
					want[k] = v
				}
				ch.Emit(0, p, []byte("x"), []byte("y"))
			}
			if l.add(p, ch.List); rapid.IntRange(0, 3).Draw(rt, "write") == 0 {
				b := s.db.NewBatch()
				if err := l.into(b); err != nil {
					rt.Fatal(err)
				}
				if err := b.Commit(pebble.NoSync); err != nil {
					rt.Fatal(err)
				}
				if l.bytes != 0 || len(l.keys) != 0 {
					rt.Fatalf("%d keys of %d bytes wait after they were written", len(l.keys), l.bytes)
				}
			}
			for _, prefix := range []string{"", "a", "ab"} {
				if got, want := scanned(rt, s, &l, p, prefix), sorted(want, prefix); got != want {
					rt.Fatalf("prefix %q: got %s, want %s", prefix, got, want)
				}
			}
			for _, k := range []string{"", "a", "ba"} {
				got, known := l.get(storeKey(p, 1, []byte(k)))
				if !known {
					var err error
					if got, err = get(s.db, storeKey(p, 1, []byte(k))); err != nil {
						rt.Fatal(err)
					}
				}
				if v, ok := want[k]; string(got) != v || ok != (got != nil) {
					rt.Fatalf("get %q: %q, want %q, %v", k, got, v, ok)
				}
			}
		}
	})
}

// TestLaterPositions: a transaction that moved past control records only changes no key, and its positions reach the store
// none the less.
func TestLaterPositions(t *testing.T) {
	s := memoryStore(t)
	nop := zerolog.Nop()
	w := newWorker(0, &Config{Log: &nop, CommitBytes: 1 << 20, Workers: 1, Metrics: NewMetrics(prometheus.NewRegistry())}, &stream.Processor{App: "a", Inputs: []string{"in"}}, s)
	w.behind, w.tasks = true, map[int32]*task{3: {p: 3, meta: newMeta(s.app), timers: newTimers(3, s.db), later: &later{}}}
	marker := &changelogpb.Marker{Sequence: 7, Inputs: []*changelogpb.Position{{Topic: "in", Next: 58}}}
	if err := w.apply([]*pending{{t: w.tasks[3], marker: marker, markerAt: 9}}); err != nil {
		t.Fatal(err)
	}
	if m, err := s.meta(s.db, 3); err != nil || m.ChangelogNext != 0 {
		t.Fatalf("it did not wait: %v, %v", m, err)
	}
	w.behind = false
	if err := w.settleLater(); err != nil {
		t.Fatal(err)
	}
	if m, err := s.meta(s.db, 3); err != nil || m.ChangelogNext != 10 || m.Marker.Inputs[0].Next != 58 {
		t.Errorf("the store has %v, %v", m, err)
	}
	if w.tasks[3].later.waits() {
		t.Error("it still waits")
	}
}

func scanned(t *rapid.T, s *store, l *later, p int32, prefix string) string {
	var list []string
	if err := l.scan(s.db, storeKey(p, 1, []byte(prefix)), func(k, v []byte) error {
		list = append(list, fmt.Sprintf("%s=%s", k, v))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(list)
}

func sorted(m map[string]string, prefix string) string {
	var keys, list []string
	for k := range m {
		if len(k) >= len(prefix) && k[:len(prefix)] == prefix {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		list = append(list, fmt.Sprintf("%s=%s", k, m[k]))
	}
	return fmt.Sprint(list)
}
