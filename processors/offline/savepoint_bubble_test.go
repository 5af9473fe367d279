//go:build synctests

package offline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// fill produces n records of 1 for keys k0 to k9, over all partitions of in.
func (w *cluster) fill(partitions int32, n int) {
	cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, &kgo.Record{Topic: "in", Partition: int32(i) % partitions, Key: fmt.Appendf(nil, "k%d", i%10), Value: []byte("1")})
	}
	if err := cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// folded says whether all of in, n records, is applied by rt.
func (w *cluster) folded(rt *processors.Runtime, n int64) func() bool {
	return func() bool {
		var sum int64
		for _, s := range rt.Status() {
			sum += s.Next["in"]
		}
		return sum == n
	}
}

func (w *cluster) savepoints(fs vfs.FS, proc stream.Processor) *Savepoints {
	s, err := NewSavepoints(processors.Config{Dir: "/state", FS: fs, Log: &w.log, CacheBytes: 1 << 20}, proc)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// TestSavepointWhileRecordsFlow: each savepoint is one moment of each partition, however much is committed meanwhile: its
// content is what the inputs up to its own offsets give.
func TestSavepointWhileRecordsFlow(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *cluster) {
		fs := vfs.NewCrashableMem()
		rt, end := w.begin("a", processors.Config{Workers: 2, FS: fs, PollRecords: 7, CommitIntervalMax: 100 * time.Millisecond}, accounts("in"))
		flowed := make(chan struct{})
		go func() {
			defer close(flowed)
			for range 30 {
				w.fill(3, 60)
				time.Sleep(70 * time.Millisecond)
			}
		}()
		ctx := context.Background()
		w.until("all partitions have committed", time.Minute, func() bool {
			n := 0
			for _, s := range rt.Status() {
				if s.Next["in"] > 0 {
					n++
				}
			}
			return n == 3
		})
		var taken []*Savepoint
		for i := range 5 {
			sp, err := TakeSavepoint(ctx, rt, fmt.Sprint("s", i))
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, sp)
			time.Sleep(200 * time.Millisecond)
		}
		<-flowed
		w.until("everything is folded", time.Minute, w.folded(rt, 1800))
		if _, err := TakeSavepoint(ctx, rt, "s0"); !errors.Is(err, ErrSavepoint) {
			t.Errorf("a second one of the same name: %v", err)
		}
		all := w.savepoints(fs, accounts("in"))
		if _, err := all.Create(ctx, "locked"); !errors.Is(err, processors.ErrLocked) {
			t.Errorf("of a store in use: %v", err)
		}
		if _, err := all.Restore("s0"); !errors.Is(err, processors.ErrLocked) {
			t.Errorf("into a store in use: %v", err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		moments := map[int64]bool{}
		for _, sp := range taken {
			read, err := all.Get(sp.Name)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(read.Partitions, sp.Partitions) || len(sp.Partitions) != 3 {
				t.Errorf("%s was %+v, is read as %+v", sp.Name, sp.Partitions, read.Partitions)
			}
			pic, err := store.OpenOffline(databaseOf(&all.cfg), appID, path.Join(all.path(sp.Name), "db"))
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range sp.Partitions {
				want, got := map[string]int64{}, map[string]int64{}
				for i := int64(part.Partition); i < part.Next["in"]*3; i += 3 {
					want[fmt.Sprint("k", i%60%10)]++
				}
				if err := store.Scan(pic.DB, store.Key(part.Partition, 1, nil), func(k, v []byte) error {
					n, err := balanceOf(string(v))
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
			if err := pic.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if len(moments) < 5 {
			t.Errorf("the savepoints are of %d moments only", len(moments))
		}
	})
}

// TestSavepointRestored: an older store is in place again, the next start reads the rest from the log, and the savepoint is
// as it was.
func TestSavepointRestored(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *cluster) {
		fs, ctx := vfs.NewCrashableMem(), context.Background()
		w.foldThree(fs)
		all := w.savepoints(fs, accounts("in"))
		was, err := all.Create(ctx, "three")
		if err != nil {
			t.Fatal(err)
		}
		rt, end := w.begin("a", processors.Config{Workers: 1, FS: fs}, accounts("in"))
		w.put("in", 0, "4", "5")
		w.until("it is folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 5 })
		if err := end(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a second time the one set aside gives way
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
		rt, end = w.begin("a", processors.Config{Workers: 1, FS: fs}, accounts("in"))
		w.until("the log is read", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 5 })
		w.put("in", 0, "6")
		w.until("it goes on", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 6 })
		if sum := w.sum(rt, 0, "k"); sum != 21 {
			t.Errorf("the sum is %d, want 21", sum)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
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

// sum is a key's sum in a partition of a running account.
func (w *cluster) sum(rt *processors.Runtime, p int32, key string) int64 {
	w.t.Helper()
	snap, err := rt.Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = snap.Close() }()
	v, err := snap.Get(p, 1, []byte(key))
	if err != nil {
		w.t.Fatal(err)
	}
	if v == nil {
		return 0
	}
	n, _ := balanceOf(string(v))
	return n
}
