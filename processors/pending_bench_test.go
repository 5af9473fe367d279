package processors

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// BenchmarkPendingTimers measures a takeover with ten million pending timers (100,000 with -short):
// the disk space of the timers, the time to find the next ones, and the memory.
func BenchmarkPendingTimers(b *testing.B) {
	n := 10_000_000
	if testing.Short() {
		n = 100_000
	}
	cfg := Config{Dir: b.TempDir(), FS: vfs.Default}
	cfg.SetDefaults()
	s, err := store.Open(cfg.database(), "timers")
	if err != nil {
		b.Fatal(err)
	}
	bulk := store.NewBulkLoader(s, 0)
	for i := range n {
		key := binary.BigEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15)
		k := append([]byte{stream.TimerTable, byte(stream.EventTime)}, timerKey(int64(1+i%1_000_000_007), key)...)
		if err := bulk.Put(k, []byte{}); err != nil {
			b.Fatal(err)
		}
	}
	if err := bulk.Finish(); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	var heap int64
	for b.Loop() {
		if s, err = store.Open(cfg.database(), "timers"); err != nil {
			b.Fatal(err)
		}
		before := inUse()
		began := time.Now()
		list := newTimers(0, s.DB)
		due, err := list.due(stream.EventTime, 1, fireBatch)
		if err != nil || len(due) != 1 {
			b.Fatalf("%d timers are due, %v; want 1", len(due), err)
		}
		b.ReportMetric(float64(time.Since(began).Microseconds()), "µs/takeover")
		heap = inUse() - before
		disk := s.DB.Metrics().DiskSpaceUsage()
		runtime.KeepAlive(list)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(disk)/(1<<20), "MiB-disk")
	}
	b.ReportMetric(float64(max(0, heap))/(1<<20), "MiB-memory")
	b.ReportMetric(float64(n), "pending")
}

// inUse returns the bytes on the heap after a collection.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
