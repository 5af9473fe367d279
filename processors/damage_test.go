//go:build synctests

package processors_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/store/storetest"
	"github.com/weirhq/weir/processors/processorstest"
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
