//go:build synctests

package processors_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/store/storetest"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// TestDamagedStore flips one byte of a store that no process uses, in 40 places. Wherever it is,
// the sums are right afterwards.
func TestDamagedStore(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
				foldThree(h)
				where := storetest.FlipByte(t, h.Disk("a"), processorstest.StateDir+"/"+ledger.App+"/db", rand.New(rand.NewPCG(seed, 9)))
				h.Produce("in", 0, "k", "4", "5", "6")
				p := h.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
				h.WaitFor("the rest is folded: "+where, time.Minute, func() bool { return p.Status(0).Next["in"] == 6 })
				checkSumOfSix(t, h, p, where)
			})
		})
	}
}

func checkSumOfSix(t *testing.T, h *processorstest.Harness, p *processorstest.Process, where string) {
	t.Helper()
	if sum := sumInStore(t, p, 0, "k"); sum != 21 {
		t.Errorf("%s: the sum of 1 to 6 is %d", where, sum)
	}
	if n := len(h.Records("out")); n != 6 {
		t.Errorf("%s: %d outputs of 6 inputs", where, n)
	}
}

// TestDamageWhileRunning: the process sets its damaged store aside, rebuilds it, and continues.
// After MaxDamages it ends, because the disk is to blame.
func TestDamageWhileRunning(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		h.Produce("in", 0, "k", "1", "2", "3")
		p := h.StartWith("a", processors.Config{Workers: 2}, ledger.Processor("in"))
		h.WaitFor("the records are folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 3 })
		damage := func() {
			p.Runtime().WithStore(func(s *store.Store) { s.ReportDamage(errors.New("a block's checksum does not match")) })
		}
		damage()
		h.Produce("in", 0, "k", "4", "5", "6")
		h.WaitFor("the rest is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 6 })
		checkSumOfSix(t, h, p, "while running")
		if _, err := h.Disk("a").Stat(processorstest.StateDir + "/" + ledger.App + "/db.damaged"); err != nil {
			t.Errorf("the damaged store is not kept: %v", err)
		}
		for range processors.MaxDamages - 1 {
			h.WaitFor("the process runs again", time.Minute, func() bool { return p.Status(0).State == "running" })
			damage()
			time.Sleep(time.Second)
		}
		if err := p.Await(); !store.IsDamage(err) || !errors.Is(err, processors.ErrDisk) {
			t.Errorf("after %d damages the process ended with %v", processors.MaxDamages, err)
		}
	})
}

// rowKeeper keeps a row of 1 MiB for each key in a local table. It reads all rows when it is made,
// or one row when a record of its key is folded.
type rowKeeper struct {
	task    stream.Task
	scans   bool
	pending []string
	read    *atomic.Int64 // rows
}

// largeRow returns the row of a key. It cannot be compressed.
func largeRow(key string) []byte {
	b := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(key))).Read(b)
	return b
}

func (k *rowKeeper) take(key string, row []byte) error {
	k.read.Add(1)
	if !bytes.Equal(row, largeRow(key)) {
		return fmt.Errorf("the row of %s is wrong", key)
	}
	return nil
}

func newRowKeeper(k *rowKeeper) (stream.Handler, error) {
	if !k.scans {
		return k, nil
	}
	return k, k.task.Scan(seenTable, nil, func(key, row []byte) error { return k.take(string(key), row) })
}

func (k *rowKeeper) RebuildFrom() map[string]int64 {
	return map[string]int64{"in": k.task.LocalNext["in"]}
}

func (k *rowKeeper) Rebuild(b *stream.Batch) error { return k.Fold(b) }

func (k *rowKeeper) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		row, err := k.task.Get(seenTable, r.Key)
		if err != nil {
			return err
		}
		if row == nil {
			k.pending = append(k.pending, string(r.Key))
		} else if err := k.take(string(r.Key), row); err != nil {
			return err
		}
	}
	return nil
}

func (k *rowKeeper) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, key := range k.pending {
		ch.Put(seenTable, []byte(key), largeRow(key))
	}
	k.pending = nil
	return nil
}

// countingFS counts the reads of one byte of a file.
type countingFS struct {
	vfs.FS
	name  string
	at    int64
	reads atomic.Int64
}

func (c *countingFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.FS.Open(name, opts...)
	if err == nil && path.Base(name) == c.name {
		f = &countingFile{f, c}
	}
	return f, err
}

type countingFile struct {
	vfs.File
	fs *countingFS
}

func (f *countingFile) ReadAt(b []byte, off int64) (int, error) {
	if off <= f.fs.at && f.fs.at < off+int64(len(b)) {
		f.fs.reads.Add(1)
	}
	return f.File.ReadAt(b, off)
}

// TestDamagedLargeRow: a flipped byte in a row of 1 MiB of a local table is found when the row is
// read, and the damaged block is read at most twice before the store is set aside. That bounds the
// time: each such read is followed by a search of Pebble for the flipped bit, of eight checksums of
// the whole block for each of its first 40,960 bytes. For a row of 1 MiB they read 343 GB. Here the
// byte is one of the first, so that the search is short.
func TestDamagedLargeRow(t *testing.T) {
	const fold, scan, compaction = "a fold", "a takeover", "a compaction"
	for _, reader := range []string{fold, scan, compaction} {
		t.Run(reader, func(t *testing.T) {
			var read atomic.Int64
			o := unchecked(1)
			o.Processor.New = func(task stream.Task) (stream.Handler, error) {
				return newRowKeeper(&rowKeeper{task: task, scans: reader == scan, read: &read})
			}
			processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
				for _, key := range []string{"a", "b", "c"} {
					h.Produce("in", 0, key, "1")
				}
				p := h.Start("a")
				h.WaitFor("the rows are written", time.Minute, func() bool { return p.Status(0).Next["in"] == 3 })
				p.Stop()
				dir := processorstest.StateDir + "/" + ledger.App
				disk := &countingFS{FS: h.Disk("a")}
				disk.name, disk.at = storetest.FlipByteOf(t, h.Disk("a"), dir+"/db", largeRow("b")[:64])
				cfg := o.Config
				cfg.FS = disk
				p = h.StartWith("a", cfg, o.Processor)
				key := "b"
				if reader == compaction {
					key = "bb" // a row that a compaction merges with the others
				}
				h.Produce("in", 0, key, "1")
				h.WaitFor("the record is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 4 })
				compacted := make(chan error, 1)
				if reader == compaction {
					p.Runtime().WithStore(func(s *store.Store) {
						go func() {
							compacted <- s.DB.Compact(context.Background(), store.Key(0, 0, nil), store.Key(1, 0, nil), false)
						}()
					})
				}
				h.WaitFor("the damaged store is set aside", time.Minute, func() bool {
					_, err := h.Disk("a").Stat(dir + "/db.damaged")
					return err == nil
				})
				if reader == compaction && <-compacted == nil {
					t.Error("the compaction did not read the block")
				}
				for next := int64(5); next <= 6; next++ { // the first may write the row, the second reads it
					h.Produce("in", 0, "b", "1")
					h.WaitFor("the process continues", time.Minute, func() bool { return p.Status(0).Next["in"] == next })
				}
				if read.Load() == 0 {
					t.Error("the row was not read")
				}
				if n := disk.reads.Load(); n < 1 || n > 2 {
					t.Errorf("the damaged block was read %d times", n)
				}
			})
		})
	}
}
