//go:build synctests

package processors_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/processorstest"
)

// TestTroubles runs a tenth of WEIR_TEST_CRASH_RUNS (200 by default) with random faults of
// processorstest. Unlike in TestCrashes, killed processes are cut off at once, and processes freeze
// and lose their connections.
func TestTroubles(t *testing.T) {
	runs := 200
	if s := os.Getenv("WEIR_TEST_CRASH_RUNS"); s != "" {
		runs, _ = strconv.Atoi(s)
	}
	runs = max(1, runs/10)
	for i := range runs {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			o := summing()
			o.Seed, o.Config.Workers, o.Config.Standbys = uint64(i), 1+i%3, i%2
			processorstest.Run(t, o, func(t *testing.T, w *processorstest.Harness) {
				injectFaults(w, rand.New(rand.NewPCG(uint64(i), 3))).exact(t)
			})
		})
	}
}

// injectFaults injects a dozen random faults into two processes, while records flow.
func injectFaults(w *processorstest.Harness, rng *rand.Rand) *feed {
	f := &feed{w: w}
	procs := map[string]*processorstest.Process{"a": w.Start("a"), "b": w.Start("b")}
	for range 12 {
		name := []string{"a", "b"}[rng.IntN(2)]
		p, failpoint := procs[name], processorstest.Failpoints()[rng.IntN(len(processorstest.Failpoints()))]
		f.give(1 + rng.IntN(5))
		long := time.Duration(rng.IntN(20_000)) * time.Millisecond
		switch rng.IntN(9) {
		case 0, 1:
			p.KillAt(failpoint)
			time.Sleep(300 * time.Millisecond)
			p.Kill()
		case 2:
			p.FreezeAt(failpoint)
			time.Sleep(long)
			p.Thaw()
		case 3:
			p.Freeze()
			time.Sleep(long)
			p.Thaw()
		case 4:
			p.Cut()
			f.give(2)
			time.Sleep(long)
			p.Heal()
		case 5:
			w.LoseAnswers([]kmsg.Key{kmsg.EndTxn, kmsg.TxnOffsetCommit, kmsg.Produce, kmsg.JoinGroup, kmsg.InitProducerID}[rng.IntN(5)], 1+rng.IntN(3))
		case 6:
			w.MoveLeaders()
			w.MoveCoordinators()
		case 7:
			w.FailRequests([]kmsg.Key{kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.Heartbeat, kmsg.InitProducerID, kmsg.OffsetFetch, kmsg.SyncGroup}[rng.IntN(6)],
				[]*kerr.Error{kerr.UnknownServerError, kerr.NotCoordinator, kerr.RequestTimedOut, kerr.RebalanceInProgress, kerr.UnknownMemberID}[rng.IntN(5)], 1+rng.IntN(3))
		case 8:
			p.Stop()
		}
		f.give(rng.IntN(3))
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
		if p.Ended() {
			procs[name] = w.Start(name)
		}
	}
	return f
}
