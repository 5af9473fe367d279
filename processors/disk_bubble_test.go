//go:build synctests

package processors

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/internal/store"
)

// smallDisk has room for so many bytes; more make it fail as a disk that is full, or as one that is pulled out. It has to
// be asked for no write once it failed for good: what follows a refusal would be after the crash.
type smallDisk struct {
	vfs.FS
	why error

	mu      sync.Mutex
	room    int64 // below 0: as much as one likes
	used    int64
	refused int
}

func (d *smallDisk) take(n int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room >= 0 && d.used+int64(n) > d.room {
		n = int(max(0, d.room-d.used))
		d.used += int64(n)
		d.refused++
		return n, &os.PathError{Op: "write", Path: "small disk", Err: d.why}
	}
	d.used += int64(n)
	return n, nil
}

func (d *smallDisk) free(name string) {
	if st, err := d.FS.Stat(name); err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.used -= st.Size() + inode
	}
}

func (d *smallDisk) shrink(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = max(0, d.room-n)
}

// inode is what a file takes beside its bytes.
const inode = 64

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	d.free(name)
	if n, err := d.take(inode); err != nil {
		d.mu.Lock()
		d.used -= int64(n)
		d.mu.Unlock()
		return nil, err
	}
	f, err := d.FS.Create(name, c)
	return &smallFile{f, d}, err
}

func (d *smallDisk) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.Remove(oldname); err != nil {
		return nil, err
	}
	return d.Create(newname, c)
}

func (d *smallDisk) Remove(name string) error {
	d.free(name)
	return d.FS.Remove(name)
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room < 0 {
		return vfs.DiskUsage{AvailBytes: 1 << 40}, nil
	}
	return vfs.DiskUsage{AvailBytes: uint64(max(0, d.room-d.used))}, nil
}

type smallFile struct {
	vfs.File
	d *smallDisk
}

func (f *smallFile) Write(p []byte) (int, error) {
	n, full := f.d.take(len(p))
	m, err := f.File.Write(p[:n])
	if err == nil {
		err = full
	}
	return m, err
}

// diskRuns is how many seeds TestDiskFull takes; with -short fewer.
const diskRuns = 60

// TestDiskFull fills the disk at a random point of a random load, with and without ballast, while it starts, folds, flushes
// or compacts. The process says so, leaves, and leaves nothing running (the bubble sees to that); a start with room is exact
// and needs no rebuild.
func TestDiskFull(t *testing.T) {
	all, mu, runs := map[string]int{}, sync.Mutex{}, uint64(diskRuns)
	if testing.Short() {
		runs = 2
	}
	t.Run("seeds", func(t *testing.T) {
		for seed := range runs {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				hits := diskFull(t, seed)
				mu.Lock()
				defer mu.Unlock()
				all["runs"]++
				for k, n := range hits {
					all[k] += n
				}
			})
		}
	})
	t.Logf("%v", all)
	for _, must := range []string{"full at the start", "full at work", "ballast freed", "without ballast", "pulled out", "flushed late", "compaction refused"} {
		if all["runs"] == diskRuns && all[must] == 0 {
			t.Errorf("never happened: %s", must)
		}
	}
}

func diskFull(t *testing.T, seed uint64) (hits map[string]int) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		w := &crashRun{t: t, rng: rand.New(rand.NewPCG(seed, 7)), hits: map[string]int{}, mut: mutation{core: newTimedLedger}}
		w.log = zerolog.New(zerolog.SyncWriter(&said))
		c, err := simkafka.New(parts, "in", "in2", "log", "out", "fired", app+".dlq")
		if err != nil {
			t.Fatal(err)
		}
		w.c = c
		defer c.Close()
		w.workers = 1 + w.pick(3)
		mem := vfs.NewCrashableMem()
		small := &smallDisk{FS: mem, why: syscall.ENOSPC, room: int64(w.pick(300_000))}
		if w.pick(4) == 0 {
			small.why = syscall.EIO
		}
		w.disk, w.ballast = small, int64(w.pick(3)*20_000-1)
		p := w.start("a", mem)
		produced := make(chan struct{})
		go w.produce(produced)
		var last *store.Store
		flushed := make(chan struct{})
		go func() {
			defer close(flushed)
			last = w.flushOften(p)
		}()
		select {
		case <-p.done:
			w.hit("full at the start")
		case <-produced:
			w.hit("full at work")
			for !w.over(p) { // others fill the disk too
				w.put("in", int32(w.pick(parts)), "1", "2", "3")
				small.shrink(5_000)
			}
		}
		<-produced
		<-p.done
		<-flushed
		want := ErrDiskFull
		if small.why == syscall.EIO {
			want = ErrDisk
			w.hit("pulled out")
		}
		if !errors.Is(p.err, want) {
			t.Errorf("it ended with %v", p.err)
		}
		w.judgeRefusals(said.String(), last)
		small.room = -1 // somebody made room
		p = w.start("a", mem)
		procs := []*process{p}
		w.settleDown(procs)
		p.cancel()
		if <-p.done; p.err != nil {
			t.Errorf("the next start ended with %v", p.err)
		}
		if strings.Contains(said.String(), "store_damaged") || strings.Contains(said.String(), "store_rebuilt") {
			t.Errorf("the store was rebuilt:\n%s", said.String())
		}
		w.collect(procs)
		if err := errors.Join(append(w.errs, w.judgeTimers(), judge(&w.h))...); err != nil {
			t.Errorf("seed %d (%v): %v", seed, w.hits, err)
		}
		hits = w.hits
	})
	return hits
}

// over waits a moment for the end.
func (w *crashRun) over(p *process) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(100 * time.Millisecond):
		return false
	}
}

// flushOften makes the store write tables and compact them. It returns the last store.
func (w *crashRun) flushOften(p *process) (last *store.Store) {
	for !w.over(p) {
		for range w.pick(10) {
			time.Sleep(100 * time.Millisecond)
		}
		p.rt.mu.RLock()
		if s := p.rt.store; s != nil {
			last = s
			_, _ = s.DB.AsyncFlush()
		}
		p.rt.mu.RUnlock()
	}
	return last
}

func (w *crashRun) judgeRefusals(said string, last *store.Store) {
	freed, refusals := strings.Count(said, `"ballast_freed":true`), strings.Count(said, "disk_write_failed")
	switch {
	case freed > 0:
		w.hit("ballast freed")
	case refusals > 0:
		w.hit("without ballast")
	}
	if refusals > freed {
		w.hit("gone")
	}
	if strings.Contains(said, "the disk was given up") {
		w.hit("compaction refused")
	}
	if last != nil && strings.Contains(fmt.Sprint(last.LateFiles("/state/"+app+"/db")), ".sst") {
		w.hit("flushed late")
	}
	if freed > 1 || refusals > freed+1 {
		w.t.Errorf("refused %d times, ballast freed %d times", refusals, freed)
	}
}

// TestDiskFullWhileRebuilding: the tables of a rebuild are written past the log and the memtables.
func TestDiskFullWhileRebuilding(t *testing.T) {
	for _, room := range []int64{2_000, 10_000, 30_000, 80_000} {
		bubble(t, 1, func(t *testing.T, w *crashRun) {
			const n = changelog.BulkMinRecords + 2000
			list := make([]*kgo.Record, n)
			for i := range list {
				list[i] = &kgo.Record{Topic: "in", Key: fmt.Appendf(nil, "key %d", i), Value: []byte("1")}
			}
			cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
			defer cl.Close()
			if err := cl.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			rt, end := w.begin("a", Config{Workers: 1}, ledgers("in"))
			w.until("it is folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == n })
			if err := end(); err != nil {
				t.Fatal(err)
			}
			small := &smallDisk{FS: vfs.NewMem(), why: syscall.ENOSPC, room: room}
			_, end = w.begin("a", Config{Workers: 1, FS: small, BallastBytes: 1000}, ledgers("in"))
			time.Sleep(time.Minute)
			if err := end(); !errors.Is(err, ErrDiskFull) {
				t.Errorf("room for %d bytes: it ended with %v", room, err)
			}
			small.shrink(-1 << 30)
			rt, end = w.begin("a", Config{Workers: 1, FS: small}, ledgers("in"))
			w.until("it is rebuilt", time.Minute, func() bool { return w.status(rt, 0).State == "running" })
			snap, err := rt.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			keys := 0
			if err = errors.Join(snap.Scan(0, 1, nil, func(_, _ []byte) error { keys++; return nil }), snap.Close(), end()); err != nil || keys != n {
				t.Errorf("room for %d bytes: then it has %d of %d keys, %v", room, keys, n, err)
			}
		})
	}
}
