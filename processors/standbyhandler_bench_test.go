package processors

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// inMemory has all rows of a table in memory.
type inMemory struct{ rows map[uint64]uint64 }

func newInMemory(t stream.Task) (stream.Handler, error) {
	h := &inMemory{rows: map[uint64]uint64{}}
	return h, t.Scan(1, nil, func(k, v []byte) error {
		h.rows[binary.BigEndian.Uint64(k)] = binary.BigEndian.Uint64(v)
		return nil
	})
}

func (h *inMemory) Fold(*stream.Batch) error                   { return nil }
func (h *inMemory) Flush(stream.Commit, *stream.Changes) error { return nil }
func (h *inMemory) TakeOver(stream.Task) error                 { return nil }
func (h *inMemory) MemoryBytes() int64                         { return 64 * int64(len(h.rows)) }

func (h *inMemory) Follow(changes []stream.Change) error {
	for _, c := range changes {
		h.rows[binary.BigEndian.Uint64(c.Key)] = binary.BigEndian.Uint64(c.Value)
	}
	return nil
}

// BenchmarkTakeoverOfHandler makes a handler that has ten million rows (100,000 with -short) in
// memory: from the store, and from the handler of a standby that lacks 100,000 changes in ten
// transactions.
func BenchmarkTakeoverOfHandler(b *testing.B) {
	n := 10_000_000
	if testing.Short() {
		n = 100_000
	}
	cfg := Config{Dir: b.TempDir(), FS: vfs.Default}
	cfg.SetDefaults()
	s, err := store.Open(cfg.database(), "rows")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	bulk := store.NewBulkLoader(s, 0)
	for i := range n {
		if err := bulk.Put(binary.BigEndian.AppendUint64([]byte{1}, uint64(i)), binary.BigEndian.AppendUint64(nil, uint64(i))); err != nil {
			b.Fatal(err)
		}
	}
	if err := bulk.Finish(); err != nil {
		b.Fatal(err)
	}
	proc := stream.Processor{App: "rows", New: newInMemory}
	builder := func() *handler.Builder { return &handler.Builder{Proc: &proc, DB: s.DB} }
	b.Run("from the store", func(b *testing.B) {
		for b.Loop() {
			if _, err := builder().Build(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
	warm, err := handler.BuildWarm(context.Background(), builder(), &changelogpb.TaskMeta{Marker: &changelogpb.Marker{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("from a standby", func(b *testing.B) {
		for b.Loop() {
			for i := range 100_000 {
				k := binary.BigEndian.AppendUint64([]byte{1}, uint64(i)*7919%uint64(n))
				warm.Change(&kgo.Record{Key: k, Value: k[1:]})
				if i%10_000 == 9_999 {
					warm.Commit(&changelogpb.Marker{}, 1)
				}
			}
			if _, _, err := warm.TakeOver(stream.Task{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
