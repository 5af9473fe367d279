//go:build synctests

package leaseloop_test

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

// TestBurst multiplies the rate of new keys in one region of three. It measures the time, and its
// parts, from low water to the first resource from another region. Low water is when the free
// resources last five more seconds, or the beginning if they never last as long. The goal is five
// seconds, so that no key is refused where that is possible. WEIR_TEST_BURSTS is the number of
// bursts: the balancer plans once a second.
func TestBurst(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds or more")
	}
	runs := uint64(1)
	if s := os.Getenv("WEIR_TEST_BURSTS"); s != "" {
		var err error
		if runs, err = strconv.ParseUint(s, 10, 32); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		times float64 // factor of the rate
	}{{"tenfold", 10}, {"fortyfold", 40}} {
		t.Run(c.name, func(t *testing.T) {
			var list []burst
			for seed := range runs {
				b := measureBurst(t, c.times*calmRate, seed)
				list = append(list, b)
				t.Logf("burst %d: %+v", seed, b)
				if b.Decide > decideMost || b.Execute > time.Second || b.Wait != transferWait || b.late() > takeMost {
					t.Errorf("a part takes too long: %+v", b)
				}
				if b.Refused > 0 && c.times == 10 || 100*b.Refused > 5*b.Asked {
					t.Errorf("%d of %d keys were refused", b.Refused, b.Asked)
				}
			}
			median := func(f func(b *burst) time.Duration) time.Duration {
				var all []time.Duration
				for i := range list {
					all = append(all, f(&list[i]))
				}
				return percentile(all, 0.5).Round(time.Millisecond)
			}
			arrives := median(func(b *burst) time.Duration { return b.Arrive })
			t.Logf("median: decided after %v, carried out after another %v, %v of waiting: available after %v, leased %v later",
				median(func(b *burst) time.Duration { return b.Decide }), median(func(b *burst) time.Duration { return b.Execute }), median(func(b *burst) time.Duration { return b.Wait }),
				arrives, median(func(b *burst) time.Duration { return b.Take }))
			if len(list) >= 5 && arrives > 5*time.Second {
				t.Errorf("median of %d bursts: the first resource arrives after %v", len(list), arrives)
			}
		})
	}
}

// burst holds the time until a resource arrives, with its parts, from low water on: the time when
// the free resources last lowFor seconds at the burst's rate.
type burst struct {
	Decide, Execute, Wait, Arrive time.Duration // Arrive is the sum of the others; negative: before low water
	Take                          time.Duration // from its arrival to the first lease of a transferred resource
	Low                           time.Duration // time of low water from the beginning of the burst
	Refused, Asked, Moved, Free   int           // Free: in the region at the beginning
}

// late returns how long a transferred resource remained free although the agents needed it. A
// resource that arrives before low water competes with the region's older ones, from which the
// agents choose at random: it is needed when they are gone, at most lowFor seconds after low water.
func (b *burst) late() time.Duration {
	if b.Arrive < 0 {
		return b.Take + b.Arrive - lowFor*time.Second
	}
	return b.Take
}

const (
	calmRate     = 0.5
	lowFor       = 5               // s
	decideMost   = 4 * time.Second // of each burst: one plan later than the median
	takeMost     = 3 * time.Second
	transferWait = 3 * time.Second // 4 times the clock skew, and a request
)

// measureBurst requests keys at rate per second in one region, after minutes with calmRate in all
// regions.
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

// burst returns the times of the first resource that was leased in eu after its transfer.
func (l *loop) burst(u *users, begins time.Time, rate float64) (b burst) {
	l.t.Helper()
	slices.SortFunc(u.uses, func(x, y use) int { return x.from.Compare(y.from) })
	low, free := l.lowWater(u, begins, rate)
	b.Low, b.Free = low.Sub(begins), free
	done := map[string]*eventspb.LeaseResult{}
	for _, r := range readAll[eventspb.LeaseResult](l, events.LeaseResultsTopic) {
		if r.Kind == "transfer" && r.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE && r.DecidedMs >= begins.UnixMilli() {
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
	first := ""
	for resource, at := range available {
		if first == "" || at < available[first] {
			first = resource
		}
	}
	r, at := done[first], time.UnixMilli(available[first])
	b.Decide, b.Execute, b.Wait = time.UnixMilli(r.GetDecidedMs()).Sub(low), time.Duration(r.GetDoneMs()-r.GetDecidedMs())*time.Millisecond, at.Sub(time.UnixMilli(r.GetDoneMs()))
	b.Arrive = b.Decide + b.Execute + b.Wait
	for _, x := range u.uses {
		if from := available[x.resource]; x.region == "eu" && from > 0 && x.from.UnixMilli() >= from {
			b.Take = x.from.Sub(at)
			return b
		}
	}
	l.t.Errorf("no transferred resource was leased in eu: %d were transferred", b.Moved)
	return b
}

// lowWater returns the time at which the free resources of eu were at most those that the burst
// takes in lowFor seconds, and the number of free resources at the beginning.
func (l *loop) lowWater(u *users, begins time.Time, rate float64) (low time.Time, free int) {
	l.t.Helper()
	for _, h := range readAll[eventspb.LeaseHeadroom](l, events.LeaseHeadroomTopic) {
		if h.Region == "eu" && h.AsOfMs <= begins.UnixMilli() {
			free = int(h.Free)
		}
	}
	left := free
	low = begins
	for _, x := range u.uses {
		if left > int(lowFor*rate) && x.region == "eu" && x.from.After(begins) {
			low, left = x.from, left-1
		}
	}
	return low, free
}
