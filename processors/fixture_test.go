//go:build synctests

package processors_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/processorstest"
)

// ledgerOptions are the options of a harness for the ledger with input "in". A topic "in2" exists,
// too.
func ledgerOptions(partitions int32) processorstest.Options {
	return processorstest.Options{Processor: ledger.Processor("in"), Partitions: partitions, Topics: []string{"in2"}}
}

// runLedger runs f on a harness for the ledger, with all checks.
func runLedger(t *testing.T, partitions int32, f func(t *testing.T, h *processorstest.Harness)) {
	t.Helper()
	processorstest.Run(t, ledgerOptions(partitions), f)
}

// foldThree writes 1, 2 and 3 to in[0], lets process "a" fold them, and stops it. Its store is left
// on its disk.
func foldThree(h *processorstest.Harness) {
	h.Produce("in", 0, "k", "1", "2", "3")
	p := h.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
	h.WaitFor("the records are folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 3 })
	p.Stop()
}

// openStore opens the store of the ledger on a disk that no process uses.
func openStore(t *testing.T, fs vfs.FS) *store.Store {
	t.Helper()
	nop := zerolog.Nop()
	s, err := store.Open(&store.Options{FS: fs, Dir: processorstest.StateDir, Instance: "test", Log: &nop, CacheBytes: 1 << 20, MemtableBytes: 1 << 20, BallastBytes: -1}, ledger.App)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sumInStore returns the sum of a key in the store of a process.
func sumInStore(t *testing.T, p *processorstest.Process, partition int32, key string) int64 {
	t.Helper()
	snap, err := p.Runtime().Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	v, err := snap.Get(partition, ledger.Table, []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	if err := snap.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := ledger.Decode(string(v))
	if err != nil {
		t.Errorf("partition %d, key %s: %v", partition, key, err)
	}
	return n
}
