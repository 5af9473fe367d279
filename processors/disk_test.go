//go:build synctests

package processors_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/processorstest"
)

// diskRuns is the number of seeds of TestDiskFull. With -short there are fewer.
const diskRuns = 60

// TestDiskFull fills the disk at a random moment of a random load, with and without ballast, while
// the process starts, folds, flushes or compacts. The process ends with ErrDiskFull and leaves no
// goroutine, which the bubble checks. A start with more room is exact and rebuilds nothing.
func TestDiskFull(t *testing.T) {
	all, mu, runs := map[string]int{}, sync.Mutex{}, uint64(diskRuns)
	if testing.Short() {
		runs = 2
	}
	t.Run("seeds", func(t *testing.T) {
		for seed := range runs {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				counts := runDiskFull(t, seed)
				mu.Lock()
				defer mu.Unlock()
				all["runs"]++
				for k, n := range counts {
					all[k] += n
				}
			})
		}
	})
	t.Logf("%v", all)
	for _, must := range []string{"full at the start", "full at work", "ballast freed", "without ballast", "disk removed", "flushed late", "compaction refused"} {
		if all["runs"] == diskRuns && all[must] == 0 {
			t.Errorf("this never happened: %s", must)
		}
	}
}

func runDiskFull(t *testing.T, seed uint64) map[string]int {
	rng := rand.New(rand.NewPCG(seed, 7))
	o := crashOptions(seed, rng)
	o.DeliverAfterKill = false
	var log strings.Builder
	logger := zerolog.New(zerolog.SyncWriter(&log))
	o.Config.Log = &logger
	r := &crashRun{rng: rng, counts: map[string]int{}}
	verdict := processorstest.CheckRun(t, o, func(t *testing.T, h *processorstest.Harness) {
		r.Harness, r.t = h, t
		small := &smallDisk{FS: h.Disk("a"), err: syscall.ENOSPC, room: int64(r.pick(300_000))}
		if r.pick(4) == 0 {
			small.err = syscall.EIO
		}
		cfg := o.Config
		cfg.FS, cfg.BallastBytes, cfg.MemtableBytes = small, int64(r.pick(3)*20_000-1), 192<<10
		last := r.fillDisk(h.StartWith("a", cfg, o.Processor), small)
		r.checkDiskErrors(log.String(), last)
		small.shrink(-1 << 40)
		p := h.StartWith("a", cfg, o.Processor)
		r.procs = []*processorstest.Process{p}
		r.settle(3 * time.Minute)
		r.check(true)
		p.Stop()
		if strings.Contains(log.String(), "store_damaged") || strings.Contains(log.String(), "store_rebuilt") {
			t.Errorf("the store was rebuilt:\n%s", log.String())
		}
	})
	if err := errors.Join(append(r.errs, verdict)...); err != nil {
		t.Errorf("seed %d (%v): %v", seed, r.counts, err)
	}
	return r.counts
}

// fillDisk lets a process work until its disk is full. It returns the last store of the process.
func (r *crashRun) fillDisk(p *processorstest.Process, small *smallDisk) (last *store.Store) {
	produced := make(chan struct{})
	go r.produce(produced)
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		last = r.flushOften(p)
	}()
	for done := false; !done && !p.Ended(); {
		select {
		case <-produced:
			done = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	if p.Ended() {
		r.count("full at the start")
	} else {
		r.count("full at work")
		for !endsSoon(p) { // other programs fill the disk, too
			r.Produce("in", int32(r.pick(parts)), "k", "1", "2", "3")
			small.shrink(5_000)
		}
	}
	<-produced
	<-flushed
	want := processors.ErrDiskFull
	if small.err == syscall.EIO {
		want = processors.ErrDisk
		r.count("disk removed")
	}
	if err := p.Await(); !errors.Is(err, want) {
		r.t.Errorf("the process ended with %v", err)
	}
	return last
}

// endsSoon waits a moment for the end of a process.
func endsSoon(p *processorstest.Process) bool {
	if !p.Ended() {
		time.Sleep(100 * time.Millisecond)
	}
	return p.Ended()
}

// flushOften makes the store write tables and compact them until the process ends. It returns the
// last store.
func (r *crashRun) flushOften(p *processorstest.Process) (last *store.Store) {
	for !endsSoon(p) {
		for range r.pick(10) {
			time.Sleep(100 * time.Millisecond)
		}
		p.Runtime().WithStore(func(s *store.Store) {
			last = s
			_, _ = s.DB.AsyncFlush()
		})
	}
	return last
}

// checkDiskErrors checks how often the disk failed: the ballast is freed once, and nothing is
// written after the next failure.
func (r *crashRun) checkDiskErrors(log string, last *store.Store) {
	freed, failures := strings.Count(log, `"ballast_freed":true`), strings.Count(log, "disk_write_failed")
	switch {
	case freed > 0:
		r.count("ballast freed")
	case failures > 0:
		r.count("without ballast")
	}
	if failures > freed {
		r.count("given up")
	}
	if strings.Contains(log, "the disk was given up") {
		r.count("compaction refused")
	}
	if last != nil && strings.Contains(fmt.Sprint(last.LateFiles(processorstest.StateDir+"/"+ledger.App+"/db")), ".sst") {
		r.count("flushed late")
	}
	if freed > 1 || failures > freed+1 {
		r.t.Errorf("the disk failed %d times, the ballast was freed %d times", failures, freed)
	}
}

// TestDiskFullWhileRebuilding: a rebuild writes its tables past the WAL and the memtables.
func TestDiskFullWhileRebuilding(t *testing.T) {
	for _, room := range []int64{2_000, 10_000, 30_000, 80_000} {
		runLedger(t, 1, func(t *testing.T, h *processorstest.Harness) {
			const n = changelog.BulkMinRecords + 2000
			list := make([]*kgo.Record, n)
			for i := range list {
				list[i] = &kgo.Record{Topic: "in", Key: fmt.Appendf(nil, "key %d", i), Value: []byte("1")}
			}
			h.Send(list...)
			cfg := processors.Config{Workers: 1}
			p := h.StartWith("a", cfg, ledger.Processor("in"))
			h.WaitFor("the records are folded", time.Minute, func() bool { return p.Status(0).Next["in"] == n })
			p.Stop()
			small := &smallDisk{FS: vfs.NewMem(), err: syscall.ENOSPC, room: room}
			cfg.FS, cfg.BallastBytes = small, 1000
			if err := h.StartWith("b", cfg, ledger.Processor("in")).Await(); !errors.Is(err, processors.ErrDiskFull) {
				t.Errorf("with room for %d bytes the process ended with %v", room, err)
			}
			small.shrink(-1 << 30)
			p = h.StartWith("b", cfg, ledger.Processor("in"))
			h.WaitFor("the store is rebuilt", time.Minute, func() bool { return p.Status(0).State == "running" })
			if keys := len(h.State(0, ledger.Table)); keys != n {
				t.Errorf("after the rebuild with room for %d bytes the store has %d of %d keys", room, keys, n)
			}
		})
	}
}

// TestDirectoryRemoved: the state directory of a living process is removed, with and without load.
// The process ends within seconds with an error that names the cause. A restart continues exactly.
func TestDirectoryRemoved(t *testing.T) {
	for name, load := range map[string]bool{"idle": false, "busy": true} {
		t.Run(name, func(t *testing.T) {
			o := summing()
			o.Config.MemtableBytes = 1 << 20
			processorstest.Run(t, o, func(t *testing.T, w *processorstest.Harness) {
				f := &feed{w: w}
				p := w.Start("a")
				f.give(20)
				f.exact(t)
				fs := w.Disk("a")
				if err := fs.RemoveAll(processorstest.StateDir); err != nil {
					t.Fatal(err)
				}
				removed := time.Now()
				if load {
					f.give(50)
				}
				if err := p.Await(); !errors.Is(err, processors.ErrDisk) || !strings.Contains(err.Error(), "was removed") {
					t.Errorf("the process ended with %v", err)
				}
				if took := time.Since(removed); took > 10*time.Second {
					t.Errorf("the process ended %s after the removal", took)
				}
				w.NewDisk("a")
				w.Start("a")
				f.give(1)
				f.exact(t)
			})
		})
	}
}
