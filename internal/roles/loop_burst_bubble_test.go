//go:build synctests

package roles_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// In one region of three many times the keys come all at once, and what is free there lasts for seconds. How long until the first
// resource of another region is leased there, and what that time is made of. BURSTS says how often, as the balancer looks each 2 s.
func TestBurst(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds and more")
	}
	runs := uint64(1)
	if s := os.Getenv("BURSTS"); s != "" {
		var err error
		if runs, err = strconv.ParseUint(s, 10, 32); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		times float64 // as many keys as before
	}{{"tenfold", 10}, {"fortyfold", 40}} {
		t.Run(c.name, func(t *testing.T) {
			var list []burst
			for seed := range runs {
				b := measureBurst(t, c.times*calmRate, seed)
				list = append(list, b)
				t.Logf("burst %d: %+v", seed, b)
				// From low water on it takes more than the 5 s that the whole should: the wait alone is 3 s. From the first refusal on it
				// does not.
				if b.Decide > decideMost || b.Execute > time.Second || b.Wait != transferWait || b.Take > takeMost {
					t.Errorf("longer than its parts should take: %+v", b)
				}
				if c.times == 10 && 100*b.Refused > 5*b.Asked || b.AfterRefusal > 5*time.Second {
					t.Errorf("%d of %d were refused, and the first resource came %v after the first of them", b.Refused, b.Asked, b.AfterRefusal)
				}
			}
			median := func(f func(b *burst) time.Duration) time.Duration {
				var all []time.Duration
				for i := range list {
					all = append(all, f(&list[i]))
				}
				return percentile(all, 0.5).Round(time.Millisecond)
			}
			t.Logf("median: %v until it is noticed and decided, %v until it is carried out, %v of waiting, %v until it is leased; %v in all, %v after the first refusal",
				median(func(b *burst) time.Duration { return b.Decide }), median(func(b *burst) time.Duration { return b.Execute }), median(func(b *burst) time.Duration { return b.Wait }),
				median(func(b *burst) time.Duration { return b.Take }), median(func(b *burst) time.Duration { return b.All }), median(func(b *burst) time.Duration { return b.AfterRefusal }))
		})
	}
}

// burst is how long a resource took to come, by its parts, from low water: from when what is free lasts, at the burst's rate, for no
// longer than the balancer's low water.
type burst struct {
	Decide, Execute, Wait, Take, All time.Duration
	AfterRefusal                     time.Duration // from the first refusal
	Low                              time.Duration // when low water was, from the burst's beginning
	Refused, Asked, Moved, Free      int           // Free: in the region when it began
}

const (
	calmRate     = 0.5
	decideMost   = 12 * time.Second
	takeMost     = 3 * time.Second
	transferWait = 3 * time.Second // 4 times the skew of clocks, and a request
)

// measureBurst lets keys come at a rate, a second, in one region after minutes of calmRate in all.
func measureBurst(t *testing.T, rate float64, seed uint64) (b burst) {
	t.Helper()
	span := func(d time.Duration) dynamotest.Span { return dynamotest.Span{Min: d, Max: d} }
	profile := dynamotest.Profile{
		StreamLag: span(200 * time.Millisecond), ReplicationLag: span(300 * time.Millisecond),
		IndexLag: dynamotest.Span{Max: 50 * time.Millisecond}, Shards: 1,
	}
	s := loopSetup{
		profile: profile, seed: seed, stock: map[string]int{"ap": 900, "eu": 150, "us": 900},
		poll: 200 * time.Millisecond, heartbeat: 2 * time.Second, partitions: 1, brokers: 1, watch: 5 * time.Second,
	}
	inLoop(t, s, func(l *loop) {
		l.start("a")
		l.caughtUp()
		begins := time.Now().Add(3*time.Minute + time.Duration(seed)*400*time.Millisecond)
		u := l.users(func(region string, _ time.Duration) float64 {
			if region == "eu" && time.Now().After(begins) {
				return rate
			}
			return calmRate
		}, 2*time.Minute, 3*time.Minute)
		ctx, cancel := context.WithCancel(l.t.Context())
		u.run(ctx)
		wait(ctx, time.Until(begins)+time.Minute)
		cancel()
		u.leave()
		u.close()
		b = l.burst(u, begins, rate)
	})
	return b
}

// burst looks for the first resource that was leased in eu after it came there.
func (l *loop) burst(u *users, begins time.Time, rate float64) (b burst) {
	l.t.Helper()
	slices.SortFunc(u.uses, func(x, y use) int { return x.from.Compare(y.from) })
	low, free := l.lowWater(u, begins, rate)
	b.Low, b.Free = low.Sub(begins), free
	done := map[string]*eventspb.LeaseResult{}
	for _, r := range readAll[eventspb.LeaseResult](l, events.LeaseResultsTopic) {
		if r.Kind == "transfer" && r.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE && r.DecidedMs >= low.UnixMilli() {
			done[r.Resource] = r
		}
	}
	available := map[string]int64{}
	for _, c := range readAll[eventspb.LeaseChange](l, events.LeaseChangesTopic) {
		if r := c.GetResource(); r != nil && done[r.Resource] != nil && r.Version == done[r.Resource].Version && r.Owner == "eu" {
			available[r.Resource] = r.AvailableMs
		}
	}
	b.Moved = len(available)
	b.Asked = u.asked
	b.Refused = len(u.refused)
	for _, x := range u.uses {
		if from := available[x.resource]; x.region == "eu" && from > 0 && x.from.UnixMilli() >= from {
			r := done[x.resource]
			b.Decide, b.Execute = time.UnixMilli(r.DecidedMs).Sub(low), time.Duration(r.DoneMs-r.DecidedMs)*time.Millisecond
			b.Wait, b.Take, b.All = time.Duration(from-r.DoneMs)*time.Millisecond, x.from.Sub(time.UnixMilli(from)), x.from.Sub(low)
			if len(u.refused) > 0 {
				b.AfterRefusal = x.from.Sub(u.refused[0])
			}
			return b
		}
	}
	l.t.Errorf("no resource came to eu and was leased there: %d were moved", b.Moved)
	return b
}

// lowWater is when the free resources of eu came below low water, which is a twentieth of how far the balancer plans, 5 s to 30 s. free
// is how many there were when the burst began.
func (l *loop) lowWater(u *users, begins time.Time, rate float64) (low time.Time, free int) {
	l.t.Helper()
	least := 0
	for _, h := range readAll[eventspb.LeaseHeadroom](l, events.LeaseHeadroomTopic) {
		if h.Region == "eu" && h.AsOfMs <= begins.UnixMilli() {
			free, least = int(h.Free), int(rate*min(30, max(5, float64(h.HorizonMs)/20_000)))
		}
	}
	left := free
	low = begins
	for _, x := range u.uses {
		if left > least && x.region == "eu" && x.from.After(begins) {
			low, left = x.from, left-1
		}
	}
	return low, free
}
