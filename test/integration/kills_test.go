package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
)

// seeded returns random numbers that WEIR_TEST_SEED=n repeats.
func seeded(t *testing.T) (*rand.Rand, uint64) {
	t.Helper()
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	if text := os.Getenv("WEIR_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("WEIR_TEST_SEED: %v", err)
		}
	}
	t.Logf("WEIR_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0)), seed
}

// death is one kill -9.
type death struct {
	instance string
	at       time.Time
	owned    map[int32]bool // partitions that the process owned
	stopped  bool           // the restarted process was stopped later
}

// TestKills kills a process at twelve random moments during a fast load and restarts it at once.
// For a third of the time two processes share the group; then either of them is killed, or both. In
// a soak, twenty moments in two million events.
func TestKills(t *testing.T) {
	c := alone(t)
	rng, seed := seeded(t)
	kills := soak(12, 20)
	f := follow(c)
	a, b := newInstance(c, "a", longSession), newInstance(c, "b", longSession)
	lives := []*process{a.start()}
	lives[0].ready()
	l := startLoad(c, seed, soak[int64](10_000, 45_000), soak[int64](200_000, 1_300_000))
	var deaths []death
	for n := 0; n < kills; {
		switch {
		case n >= kills/3 && b.processes == 0:
			lives = append(lives, b.start())
		case n >= kills*2/3 && len(lives) == 2:
			lives[1].ready() // before it is ready, a signal ends it
			lives[1].signal(syscall.SIGTERM)
			for i := range deaths {
				deaths[i].stopped = deaths[i].stopped || deaths[i].instance == b.name
			}
			if code := lives[1].exit(); code != 0 {
				t.Fatalf("%s: exit code %d\n%s", b.name, code, lives[1].output())
			}
			lives = lives[:1]
		}
		gap := time.Duration(50+rng.IntN(450)) * time.Millisecond // often before the last restart has finished
		if rng.IntN(10) < 7 {
			gap = time.Duration(500+rng.IntN(3500)) * time.Millisecond
		}
		pass(t, gap)
		victims := []int{rng.IntN(len(lives))}
		if len(lives) == 2 && rng.IntN(4) == 0 {
			victims = []int{0, 1}
		}
		for _, v := range victims {
			deaths = append(deaths, death{instance: lives[v].name, at: time.Now(), owned: f.owned(lives[v].name)})
			lives[v].kill()
			n++
			t.Logf("kill %d after %s: %s with %d partitions", n, gap, lives[v].name, len(deaths[len(deaths)-1].owned))
		}
		for _, v := range victims {
			lives[v] = lives[v].instance.start()
		}
	}
	ledger := l.finish()
	t.Logf("caught up %s after the end of the load", f.caughtUp(c))
	f.check(c, ledger, 0)
	checkRecovery(t, f, deaths)

	addr, _ := lives[0].ready()
	lives[0].folds(addr, 24)
	places := ledger.places()
	for range 10 {
		at := places[rng.IntN(len(places))]
		want := ledger.campaign(at.campaign, at.account)
		var s spend
		answer(t, &s, "spend", "show", "--campaign", at.campaign, "--account", at.account, "--wait", "--server", addr)
		got := account{micros: s.Charged, duplicates: s.Duplicates, byType: map[eventspb.EventType]uint64{}}
		if s.Impressions > 0 {
			got.byType[eventspb.EventType_EVENT_TYPE_IMPRESSION] = s.Impressions
		}
		if s.Clicks > 0 {
			got.byType[eventspb.EventType_EVENT_TYPE_CLICK] = s.Clicks
		}
		if got.String() != want.String() || s.Events != s.Impressions+s.Clicks || s.Refunded != 0 {
			t.Errorf("weir spend show of %v: %+v, want %v", at, s, &want)
		}
	}
}

// checkRecovery logs the time from kill -9 until the restarted process has folded and published a
// new record. The follower reads it from the changelog, so it includes the way through the broker.
// With static membership it includes no session timeout, which is longer than the test.
func checkRecovery(t *testing.T, f *follower, deaths []death) {
	t.Helper()
	var first, whole []time.Duration
	var text []string
	for i, d := range deaths {
		if again := slices.IndexFunc(deaths[i+1:], func(e death) bool { return e.instance == d.instance }); again >= 0 {
			if list := f.takeovers(d.instance, d.at); len(list) == 0 || list[0].appliedAt.After(deaths[i+1+again].at) {
				text = append(text, "killed again")
				continue
			}
		}
		list := f.takeovers(d.instance, d.at)
		if len(list) == 0 && d.stopped { // it was stopped as soon as it was ready
			text = append(text, "stopped")
			continue
		}
		if len(list) == 0 {
			t.Errorf("%s folded nothing new after it was killed at %s", d.instance, d.at.Format(time.StampMilli))
			continue
		}
		first = append(first, list[0].appliedAt.Sub(d.at))
		text = append(text, first[len(first)-1].Round(time.Millisecond).String())
		if all, ok := f.recovered(d); ok {
			whole = append(whole, all)
		}
	}
	slices.Sort(first)
	slices.Sort(whole)
	if len(first) == 0 || len(whole) == 0 {
		t.Fatal("no recovery was measured")
	}
	t.Logf("kill -9 to the first new record: median %s, max %s; to new records of all its partitions: median %s, max %s\n%s",
		first[len(first)/2], first[len(first)-1], whole[len(whole)/2], whole[len(whole)-1], strings.Join(text, ", "))
}

// recovered returns the time until every partition that d owned had a new record, from any owner.
func (f *follower) recovered(d death) (time.Duration, bool) {
	missing := map[int32]bool{}
	for p := range d.owned {
		missing[p] = true
	}
	for _, k := range f.takeovers("", d.at) {
		if delete(missing, k.partition); len(missing) == 0 {
			return k.appliedAt.Sub(d.at), true
		}
	}
	return 0, false
}

// servedBy waits until instance alone has folded new records in each of the partitions since that
// time. It returns the time of the last one.
func (f *follower) servedBy(instance string, partitions map[int32]bool, since time.Time) (last time.Time) {
	f.t.Helper()
	testlimit.Within(f.t, instance+" takes over", func(context.Context) error {
		missing := map[int32]bool{}
		for p := range partitions {
			missing[p] = true
		}
		last = since
		for _, k := range f.takeovers(instance, since) {
			if delete(missing, k.partition); partitions[k.partition] && k.appliedAt.After(last) {
				last = k.appliedAt
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("no new record in %d of %d partitions", len(missing), len(partitions))
		}
		return nil
	})
	return last
}
