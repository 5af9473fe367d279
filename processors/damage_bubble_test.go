//go:build synctests

package processors

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/store/storetest"
)

// TestDamagedStore flips a byte of a store that is not in use, at 40 places. Whatever it hits, the sums are right afterwards.
func TestDamagedStore(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, 4, func(t *testing.T, w *crashRun) {
				fs := vfs.NewCrashableMem()
				w.foldThree(fs)
				where := storetest.FlipByte(t, fs, "/state/"+app+"/db", rand.New(rand.NewPCG(seed, 9)))
				w.put("in", 0, "4", "5", "6")
				rt, end := w.begin("a", Config{Workers: 1, FS: fs}, ledgers("in"))
				w.until("the rest is folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 6 })
				w.sumOfSix(rt, where)
				if err := end(); err != nil {
					t.Errorf("%s: %v", where, err)
				}
			})
		})
	}
}

func (w *crashRun) sumOfSix(rt *Runtime, where string) {
	w.t.Helper()
	snap, err := rt.Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	sum, err := snap.Get(0, 1, []byte("k"))
	if err != nil || len(sum) != 8 || sum[7] != 21 {
		w.t.Errorf("%s: the sum of 1 to 6 is %x, %v", where, sum, err)
	}
	if err := snap.Close(); err != nil {
		w.t.Error(err)
	}
	if n := len(w.read("out")); n != 6 {
		w.t.Errorf("%s: %d outputs of 6 inputs", where, n)
	}
}

// TestDamageWhileRunning: the process sets its store aside, rebuilds it, and goes on. After a few times it blames the disk.
func TestDamageWhileRunning(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		fs := vfs.NewCrashableMem()
		w.put("in", 0, "1", "2", "3")
		rt, end := w.begin("a", Config{Workers: 2, FS: fs}, ledgers("in"))
		w.until("it is folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 3 })
		damage := func() {
			rt.mu.RLock()
			defer rt.mu.RUnlock()
			rt.store.ReportDamage(errors.New("a block's checksum does not match"))
		}
		damage()
		w.put("in", 0, "4", "5", "6")
		w.until("the rest is folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 6 })
		w.sumOfSix(rt, "while running")
		if _, err := fs.Stat("/state/" + app + "/db.damaged"); err != nil {
			t.Errorf("the damaged store is not kept: %v", err)
		}
		for range maxDamages - 1 {
			w.until("it runs again", time.Minute, func() bool { return w.status(rt, 0).State == "running" })
			damage()
			time.Sleep(time.Second)
		}
		if err := end(); !store.IsDamage(err) || !errors.Is(err, ErrDisk) {
			t.Errorf("damaged %d times, it ended with %v", maxDamages, err)
		}
	})
}
