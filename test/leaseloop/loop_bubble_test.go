//go:build synctests

package leaseloop_test

import (
	"context"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/processors/processorstest"
)

// TestLoopHours runs the whole loop for hours of virtual time: two nodes are killed and restarted,
// links are cut, the table lags, throttles and rolls its shards over, and demand moves from region
// to region. WEIR_TEST_LOOP_HOURS is the number of hours.
func TestLoopHours(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds or more")
	}
	span := time.Minute
	if s := os.Getenv("WEIR_TEST_LOOP_HOURS"); s != "" {
		var err error
		if span, err = time.ParseDuration(s + "h"); err != nil {
			t.Fatal(err)
		}
	}
	profile := dynamotest.Hostile()
	profile.Rollover, profile.MaxShards = 30*time.Second, 2
	s := loopSetup{
		profile: profile, seed: 1, stock: map[string]int{"ap": 40, "eu": 40, "us": 40},
		poll: time.Second, heartbeat: 4 * time.Second, watch: 10 * time.Second,
	}
	wall := time.Now()
	inLoop(t, s, func(l *loop) {
		h := &hours{loop: l, rng: rand.New(rand.NewPCG(s.seed, 99))}
		h.run(span)
	})
	t.Logf("%v of virtual time took %v of real time, %v of CPU in all", span, time.Since(wall).Round(time.Millisecond), cpu())
}

// cpu returns the CPU time of this process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Round(time.Millisecond)
}

// hours is a long run.
type hours struct {
	*loop
	rng       *rand.Rand
	users     *users
	disturbed []period // kills with the time of recovery
	begun     time.Time
	cuts      int
}

type period struct{ from, to time.Time }

// recovery is the time after a restart within which the loop recovers: twice the session timeout of
// the groups, a rebalance, and the restore.
const recovery = 30 * time.Second

func (h *hours) run(span time.Duration) {
	h.start("a")
	h.start("b")
	h.caughtUp()
	h.begun = time.Now()
	h.users = h.loop.users(wave(0.12, 40*time.Minute), time.Minute, 5*time.Minute)
	ctx, cancel := context.WithCancel(context.Background())
	h.users.run(ctx)
	for time.Since(h.begun) < span {
		h.twins()
		wait(ctx, 90*time.Second) // a quiet time
		h.kill()
		wait(ctx, recovery)
	}
	cancel()
	if err := h.cloud.SetFaults(); err != nil {
		h.t.Error(err)
	}
	h.twins() // their leases last a minute or more
	wait(context.Background(), 20*time.Second)
	h.single() // while there are leases
	h.users.close()
	wait(context.Background(), time.Minute)
	h.caughtUp()
	h.check(span)
}

// twins cuts a link for a time, during which both its ends lease the same keys.
func (h *hours) twins() {
	regions := h.rng.Perm(len(loopRegions()))
	a, b := loopRegions()[regions[0]], loopRegions()[regions[1]]
	cut := func(on bool) {
		for _, way := range [][2]string{{a, b}, {b, a}} {
			if err := h.cloud.Cut(way[0], way[1], on); err != nil {
				h.t.Error(err)
			}
		}
	}
	h.cuts++
	cut(true)
	for range 3 {
		h.users.twin(a, b, h.rng)
		wait(context.Background(), 3*time.Second)
	}
	cut(false)
}

// kill kills a node or a part of it, and restarts it.
func (h *hours) kill() {
	n := h.nodes[[]string{"a", "b"}[h.rng.IntN(2)]]
	from := time.Now()
	switch what := h.rng.IntN(4); what {
	case 0:
		n.kill()
	case 1:
		n.executors.end(true)
		h.kills++
	default:
		p := n.parts[h.rng.IntN(len(n.parts))]
		p.KillAt(processorstest.Failpoints()[h.rng.IntN(len(processorstest.Failpoints()))])
		wait(context.Background(), 2*time.Second) // a process that commits crashes there
		p.Kill()
		h.kills++
	}
	wait(context.Background(), time.Duration(1+h.rng.IntN(10))*time.Second)
	n.restart()
	h.disturbed = append(h.disturbed, period{from, time.Now().Add(recovery)})
}

// quiet reports whether nothing was killed or recovering between two times.
func (h *hours) quiet(from, to time.Time) bool {
	for _, d := range h.disturbed {
		if from.Before(d.to) && to.After(d.from) {
			return false
		}
	}
	return true
}
