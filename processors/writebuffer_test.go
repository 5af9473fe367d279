package processors

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// TestWriteBufferPositions: a transaction that only passed control records changes no key. Its
// positions reach the store, too.
func TestWriteBufferPositions(t *testing.T) {
	s := memoryStore(t)
	nop := zerolog.Nop()
	w := newWorker(0, &Config{Log: &nop, CommitBytes: 1 << 20, Workers: 1, Metrics: NewMetrics(prometheus.NewRegistry())}, &stream.Processor{App: "a", Inputs: []string{"in"}}, s)
	w.backlogged, w.tasks = true, map[int32]*task{3: {p: 3, meta: store.NewMeta(s.App), timers: newTimers(3, s.DB), buffer: &store.WriteBuffer{}}}
	marker := &changelogpb.Marker{Sequence: 7, Inputs: []*changelogpb.Position{{Topic: "in", Next: 58}}}
	if err := w.apply([]*taskCommit{{task: w.tasks[3], marker: marker, markerAt: 9}}); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Meta(s.DB, 3); err != nil || m.ChangelogNext != 0 {
		t.Fatalf("the transaction was not buffered: %v, %v", m, err)
	}
	w.backlogged = false
	if err := w.flushBuffered(); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Meta(s.DB, 3); err != nil || m.ChangelogNext != 10 || m.Marker.Inputs[0].Next != 58 {
		t.Errorf("the store has %v, %v", m, err)
	}
	if w.tasks[3].buffer.Pending() {
		t.Error("the transaction is still buffered")
	}
}
