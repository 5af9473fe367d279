package processors

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// TestWatchOfBufferedChanges: a watch that begins while a change is in the write buffer is woken
// when the store gets the change: with the buffer alone, or with a transaction of another key. The
// changes of a partition with a watch are not buffered.
func TestWatchOfBufferedChanges(t *testing.T) {
	for name, write := range map[string]func(w *worker, commit func(key string)) error{
		"alone":            func(w *worker, _ func(string)) error { w.backlogged = false; return w.flushBuffered() },
		"with another key": func(_ *worker, commit func(string)) error { commit("other"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := memoryStore(t)
			nop := zerolog.Nop()
			proc := &stream.Processor{App: "a", Inputs: []string{"in"}}
			w := newWorker(0, &Config{Log: &nop, CommitBytes: 1 << 20, Workers: 1, Metrics: NewMetrics(prometheus.NewRegistry())}, proc, s)
			p := &task{p: 3, meta: store.NewMeta(s.App), timers: newTimers(3, s.DB), buffer: &store.WriteBuffer{}}
			p.inbox = newInbox(w, p)
			w.backlogged, w.tasks = true, map[int32]*task{3: p}
			inboxes := make(directory, 4)
			inboxes.enter(p.inbox)
			r := &Runtime{proc: *proc, parts: 4}
			r.inboxes.Store(&inboxes)
			commit := func(key string) {
				t.Helper()
				p.changes.Put(1, []byte(key), []byte("v"))
				if err := w.apply([]*taskCommit{{task: p, marker: &changelogpb.Marker{Sequence: 7}, markerAt: 9}}); err != nil {
					t.Fatal(err)
				}
			}
			stored := func(key string) bool {
				v, err := store.Get(s.DB, store.Key(3, 1, []byte(key)))
				return v != nil && err == nil
			}
			commit("key")
			if stored("key") {
				t.Fatal("the change was not buffered")
			}
			changed, _, err := r.Watch(3, 1, []byte("ke"))
			if err != nil {
				t.Fatal(err)
			}
			if err := write(w, commit); err != nil {
				t.Fatal(err)
			}
			if !stored("key") || len(changed) != 1 {
				t.Fatalf("stored %v, %d reports", stored("key"), len(changed))
			}
			<-changed
			w.backlogged = true
			if commit("third"); len(changed) != 0 || !stored("third") {
				t.Errorf("%d reports of another key; stored %v", len(changed), stored("third"))
			}
			if commit("key2"); len(changed) != 1 || !stored("key2") {
				t.Errorf("%d reports of the key; stored %v", len(changed), stored("key2"))
			}
		})
	}
}
