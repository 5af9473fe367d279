//go:build synctests

package offline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// savepoints returns the savepoints of a processor on a disk.
func (w *fixture) savepoints(fs vfs.FS, proc stream.Processor) *Savepoints {
	s, err := NewSavepoints(w.config(fs), proc)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// TestSavepointWhileRecordsFlow: a savepoint holds each partition at one moment, however much is
// committed while it is taken: its sums are those of the inputs up to its own offsets.
func TestSavepointWhileRecordsFlow(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		fs := w.Disk("a")
		p := w.StartWith("a", processors.Config{Workers: 2, PollRecords: 7, CommitIntervalMax: 100 * time.Millisecond}, ledger.Processor("in"))
		produced := make(chan struct{})
		go func() {
			defer close(produced)
			for range 30 {
				w.fill(3, 60)
				time.Sleep(70 * time.Millisecond)
			}
		}()
		ctx := context.Background()
		w.WaitFor("all partitions have committed", time.Minute, func() bool {
			n := 0
			for _, s := range p.Runtime().Status() {
				if s.Next["in"] > 0 {
					n++
				}
			}
			return n == 3
		})
		var taken []*Savepoint
		for i := range 5 {
			sp, err := TakeSavepoint(ctx, p.Runtime(), fmt.Sprint("s", i))
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, sp)
			time.Sleep(200 * time.Millisecond)
		}
		<-produced
		w.WaitFor("all records are folded", time.Minute, folded(p, 1800))
		if _, err := TakeSavepoint(ctx, p.Runtime(), "s0"); !errors.Is(err, ErrSavepoint) {
			t.Errorf("a second savepoint of the same name: %v", err)
		}
		all := w.savepoints(fs, ledger.Processor("in"))
		if _, err := all.Create(ctx, "locked"); !errors.Is(err, processors.ErrLocked) {
			t.Errorf("a savepoint of a store in use: %v", err)
		}
		if _, err := all.Restore("s0"); !errors.Is(err, processors.ErrLocked) {
			t.Errorf("restored into a store in use: %v", err)
		}
		p.Stop()
		moments := map[int64]bool{}
		for _, sp := range taken {
			read, err := all.Get(sp.Name)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(read.Partitions, sp.Partitions) || len(sp.Partitions) != 3 {
				t.Errorf("%s was %+v and is read as %+v", sp.Name, sp.Partitions, read.Partitions)
			}
			db, err := store.OpenOffline(databaseOf(&all.cfg), ledger.App, path.Join(all.path(sp.Name), "db"))
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range sp.Partitions {
				want, got := map[string]int64{}, map[string]int64{}
				for i := int64(part.Partition); i < part.Next["in"]*3; i += 3 {
					want[fmt.Sprint("k", i%60%10)]++
				}
				if err := store.Scan(db.DB, store.Key(part.Partition, 1, nil), func(k, v []byte) error {
					n, err := ledger.Decode(string(v))
					got[string(k)] = n
					return err
				}); err != nil {
					t.Fatal(err)
				}
				if !maps.Equal(want, got) {
					t.Errorf("%s partition %d at %d: %v, want %v", sp.Name, part.Partition, part.Next["in"], got, want)
				}
				moments[part.Next["in"]] = true
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if len(moments) < 5 {
			t.Errorf("the savepoints are of %d moments, want 5", len(moments))
		}
	})
}

// TestSavepointRestored: Restore puts an older store in place, the next start reads the rest from
// the changelog, and the savepoint stays as it was.
func TestSavepointRestored(t *testing.T) {
	runLedger(t, 1, func(t *testing.T, w *fixture) {
		fs, ctx := w.Disk("a"), context.Background()
		w.foldThree()
		all := w.savepoints(fs, ledger.Processor("in"))
		was, err := all.Create(ctx, "three")
		if err != nil {
			t.Fatal(err)
		}
		p := w.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
		w.Produce("in", 0, "k", "4", "5")
		w.WaitFor("the records are folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 5 })
		p.Stop()
		for range 2 { // the second time replaces the store that the first one moved aside
			if _, err := all.Restore("three"); err != nil {
				t.Fatal(err)
			}
		}
		again, err := all.Create(ctx, "again")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(was.Partitions, again.Partitions) || was.Partitions[0].Next["in"] != 3 {
			t.Errorf("restored: %+v, was %+v", again.Partitions, was.Partitions)
		}
		p = w.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
		w.WaitFor("the changelog is read", time.Minute, func() bool { return p.Status(0).Next["in"] == 5 })
		w.Produce("in", 0, "k", "6")
		w.WaitFor("the processor continues", time.Minute, func() bool { return p.Status(0).Next["in"] == 6 })
		if sum := w.sum(p, 0, "k"); sum != 21 {
			t.Errorf("the sum is %d, want 21", sum)
		}
		p.Stop()
		list, err := all.List()
		if err != nil || len(list) != 2 || list[0].Name != "three" || !reflect.DeepEqual(list[0].Partitions, was.Partitions) {
			t.Errorf("list: %+v, %v", list, err)
		}
		if err := all.Drop("three"); err != nil {
			t.Fatal(err)
		}
		if _, err := all.Get("three"); !errors.Is(err, ErrSavepoint) {
			t.Errorf("after the drop: %v", err)
		}
		if err := all.Drop(".."); !errors.Is(err, ErrSavepoint) {
			t.Errorf("drop of the directory above: %v", err)
		}
	})
}

// TestMaxSavepoints: the number of savepoints is limited, and one that is dropped makes room.
func TestMaxSavepoints(t *testing.T) {
	runLedger(t, 1, func(t *testing.T, w *fixture) {
		fs, ctx := w.Disk("a"), context.Background()
		w.foldThree()
		all := w.savepoints(fs, ledger.Processor("in"))
		for i := range MaxSavepoints - 1 {
			if err := fs.MkdirAll(all.path(fmt.Sprint("s", i)), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := all.Create(ctx, "last"); err != nil {
			t.Fatal(err)
		}
		if _, err := all.Create(ctx, "more"); !errors.Is(err, ErrSavepoint) || !strings.Contains(err.Error(), "drop some") {
			t.Errorf("a savepoint beyond the limit: %v", err)
		}
		if err := all.Drop("last"); err != nil {
			t.Fatal(err)
		}
		if _, err := all.Create(ctx, "more"); err != nil {
			t.Error(err)
		}
	})
}
