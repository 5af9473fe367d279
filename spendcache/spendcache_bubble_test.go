//go:build synctests

package spendcache

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/healthage"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// all are the counters that write.
func all() []string { return ring() }

// TestDeadCounter: a dataset whose counter has stopped is left within 9 s and chosen again when its
// counter works, within 35 s. Rows are always those of the chosen dataset.
func TestDeadCounter(t *testing.T) {
	inCluster(t, func(x *fixture) {
		x.pass(3, all()...)
		x.ready()
		x.pass(5, all()...)
		x.expect(selection.Normal, "eu")
		x.pass(9, "us", "ap")
		x.expect(selection.Normal, "us")
		if got := x.choice(0).Reason; !strings.HasPrefix(got, "eu lags by ") || !strings.HasSuffix(got, " s in the events of eu") {
			x.Errorf("reason %q", got)
		}
		x.pass(35, all()...)
		x.expect(selection.Normal, "eu")
		if n := x.log.count("spendcache_chosen"); n != 3 {
			x.Errorf("%d lines about choices, want one for each switch", n)
		}
	})
}

// TestLagAndLoss: a dataset that lags in the events of one origin is left, and so is one that lacks
// a quarter of the events.
func TestLagAndLoss(t *testing.T) {
	inCluster(t, func(x *fixture) {
		x.pass(3, all()...)
		x.ready()
		x.counters["eu"].lag["ap"] = 10 * time.Second
		x.pass(4, all()...)
		x.expect(selection.Normal, "us")
		x.counters["us"].missing = 0.25
		x.pass(4, all()...)
		x.expect(selection.Normal, "ap")
	})
}

// TestOldRowsAtStart: a cache that starts uses no dataset whose counter stopped minutes ago.
func TestOldRowsAtStart(t *testing.T) {
	inCluster(t, func(x *fixture) {
		x.pass(3, all()...)
		time.Sleep(5 * time.Minute)
		x.ready()
		x.expect(selection.Degraded, "")
		if age := x.choice(0).Age(time.Now()); age < 5*time.Minute || age > 6*time.Minute {
			x.Errorf("age %v", age)
		}
		time.Sleep(5 * time.Minute)
		x.expect(selection.FailSafe, "")
		x.pass(3, all()...)
		x.expect(selection.Normal, "eu")
	})
}

// wrongClocks: the clock of us is an hour behind, and that of ap an hour ahead. Both datasets are
// used from the second health row on, for as long as their counters live. When a clock is set back,
// the rows seem to be late until the delays from before are forgotten.
func wrongClocks(x *fixture) {
	us, ap := x.counters["us"], x.counters["ap"]
	us.skew, ap.skew = -time.Hour, time.Hour
	x.pass(3, all()...)
	x.ready()
	x.pass(11, "us")
	x.expect(selection.Normal, "us")
	x.pass(9, "ap")
	x.expect(selection.Normal, "ap")
	time.Sleep(40 * time.Second)
	x.expect(selection.Degraded, "")
	us.skew = 0
	x.pass(3, "us")
	x.expect(selection.Normal, "us")
	us.skew = -time.Hour
	time.Sleep(40 * time.Second)
	x.pass(3, "us")
	x.expect(selection.Degraded, "")
	for range 65 {
		us.write()
		time.Sleep(time.Minute)
	}
	x.pass(3, "us")
	x.expect(selection.Normal, "us")
}

func TestWrongClocks(t *testing.T) { inCluster(t, wrongClocks) }

// brokersAway: without brokers the cache answers from what it has, ever older. What it reads
// afterwards is as old as it is.
func brokersAway(x *fixture) {
	x.pass(3, all()...)
	x.ready()
	x.pass(3, all()...)
	x.expect(selection.Normal, "eu")
	x.link.Cut()
	x.pass(2, all()...) // eu writes for the last time
	x.pass(20, "us", "ap")
	if c := x.choice(0); c.Mode != selection.Normal || c.DC != "eu" { // the cache does not know
		x.Errorf("%s after 22 s without brokers", c.Text())
	}
	time.Sleep(10 * time.Second)
	if c := x.choice(0); c.Mode != selection.Degraded {
		x.Errorf("%s after 32 s without brokers", c.Text())
	}
	time.Sleep(10 * time.Minute)
	if c := x.choice(0); c.Mode != selection.FailSafe {
		x.Errorf("%s after ten minutes without brokers", c.Text())
	}
	x.link.Heal()
	for n := range 20 {
		time.Sleep(time.Second)
		for shard := range int32(shards) {
			if c := x.choice(shard); c.Mode == selection.Normal {
				x.Fatalf("%d s after the brokers are back: %s, and all counters stopped ten minutes ago", n, c.Text())
			}
		}
	}
	x.pass(3, "ap")
	x.expect(selection.Normal, "ap")
}

func TestBrokersAway(t *testing.T) { inCluster(t, brokersAway) }

// lateCopy: the copy of a dataset arrives nine minutes after its counter wrote it, when nothing
// else is alive.
func lateCopy(x *fixture) {
	x.pass(3, all()...)
	x.ready()
	x.pass(3, all()...)
	time.Sleep(10 * time.Minute)
	x.counters["us"].late = 9 * time.Minute
	x.pass(1, "us")
	x.expect(selection.Degraded, "")
	if age := x.choice(0).Age(time.Now()); age < 9*time.Minute {
		x.Errorf("age %v", age)
	}
}

func TestLateCopy(t *testing.T) { inCluster(t, lateCopy) }

// clockAheadAtStart: a counter whose clock is an hour ahead stopped twenty minutes ago.
func clockAheadAtStart(x *fixture) {
	x.counters["us"].skew, x.counters["eu"].skew = time.Hour, time.Hour
	x.pass(3, all()...)
	time.Sleep(20 * time.Minute)
	x.ready()
	x.expect(selection.FailSafe, "")
	x.pass(2, "us")
	x.expect(selection.Normal, "us")
}

func TestClockAheadAtStart(t *testing.T) { inCluster(t, clockAheadAtStart) }

// TestRestart: a process that starts again has its rows, and does not take old health rows for new
// ones.
func TestRestart(t *testing.T) {
	inCluster(t, func(x *fixture) {
		x.pass(3, all()...)
		x.ready()
		x.pass(3, all()...)
		x.halt()
		x.pass(2, "eu")
		time.Sleep(time.Minute)
		x.ready()
		x.expect(selection.Degraded, "")
		x.pass(2, "us")
		x.expect(selection.Normal, "us")
	})
}

// TestAges: each of some wrong rules for the age is noticed by one of the tests above.
func TestAges(t *testing.T) {
	for name, m := range map[string]struct {
		age healthage.Rule
		run func(*fixture)
	}{
		"the clock of the writer": {func(_ *healthage.Row, now time.Time, writtenMs int64) time.Duration {
			return now.Sub(time.UnixMilli(writtenMs))
		}, wrongClocks},
		"since it arrived": {func(*healthage.Row, time.Time, int64) time.Duration { return 0 }, brokersAway},
		"since the copy arrived": {func(h *healthage.Row, now time.Time, writtenMs int64) time.Duration {
			own := *h
			own.Copied = false
			return own.AgeOf(now, writtenMs)
		}, lateCopy},
		"a clock that is ahead is right": {func(h *healthage.Row, now time.Time, writtenMs int64) time.Duration {
			return h.AgeOf(now, min(writtenMs, now.UnixMilli()))
		}, clockAheadAtStart},
	} {
		t.Run(name, func(t *testing.T) {
			if !fails(t, func(x *fixture) {
				x.adjust = func(c *Config) { c.ageOf = m.age }
				m.run(x)
			}) {
				t.Error("the test passes with the wrong rule")
			}
		})
	}
}

// TestMissingTopic: a copy that cannot be read does not keep the cache from serving.
func TestMissingTopic(t *testing.T) {
	inCluster(t, func(x *fixture) {
		x.adjust = func(c *Config) { c.Writers = append(c.Writers, "sa"); c.Ring = append(ring(), "sa") }
		x.kafka.Deny("spend.from.sa")
		x.start()
		time.Sleep(3 * time.Second)
		if ready, why := x.cache.Ready(); ready || !strings.Contains(why, ": spend.from.sa: ") {
			x.Errorf("ready without a dataset: %t %q %+v", ready, why, x.cache.Status())
		}
		x.pass(3, all()...)
		x.expect(selection.Normal, "eu")
		if ready, why := x.cache.Ready(); !ready {
			x.Error(why)
		}
	})
}

// TestReplacedDataset: rows of a state that was deleted are not shown, and a dataset that has just
// been replaced by an empty one is no answer.
func TestReplacedDataset(t *testing.T) {
	inCluster(t, func(x *fixture) {
		eu := x.counters["eu"]
		x.pass(3, all()...)
		x.ready()
		x.pass(2, all()...)
		eu.begun, eu.seq, eu.epoch = 2, 0, 1
		for shard := range int32(shards) {
			eu.commit(shard, eu.health(shard)) // the new state has no campaign yet
		}
		time.Sleep(2 * time.Second)
		for shard := range int32(shards) {
			if c, cents := x.account(shard); c.DC != "eu" || cents != 0 {
				x.Errorf("%s: %d cents of a state that was deleted", c.Text(), cents)
			}
		}
		x.kafka.Recreate(eu.topic(), shards)
		time.Sleep(1500 * time.Millisecond)
		for shard := range int32(shards) {
			_, err := x.cache.Account(x.Context(), AccountQuery{Account: accountOf(shard)}, func(Row) error { return nil })
			if c := x.cache.Datasets()[shard].Choice; c.DC == "eu" && !errors.Is(err, ErrNoRows) {
				x.Errorf("%s: %v, and the dataset of eu is empty", c.Text(), err)
			}
		}
	})
}

// TestHealthIsBehindRows: no answer has a health row that describes more than its rows, while rows
// and health are written.
func TestHealthIsBehindRows(t *testing.T) {
	inCluster(t, func(x *fixture) {
		eu := x.counters["eu"]
		write := func(healthFirst bool) {
			eu.seq++
			var list []stream.Message
			for _, campaign := range []string{"a", "b", "c", "d", "e"} {
				list = append(list, eu.message(&eventspb.Spend{
					Account: accountOf(0), Campaign: campaign, BudgetDay: today, Currency: "USD", Incarnation: 1, OwnerEpoch: 1, Sequence: eu.seq,
				}))
			}
			if healthFirst { // in a transaction before
				eu.commit(0, eu.health(0))
				time.Sleep(2500 * time.Millisecond)
				eu.commit(0, list...)
				return
			}
			eu.commit(0, append(list, eu.health(0))...)
		}
		write(false)
		x.ready()
		behind := func() (n int) {
			var rows []uint64
			c, err := x.cache.Account(x.Context(), AccountQuery{Account: accountOf(0)}, func(r Row) error {
				rows = append(rows, r.Spend.GetSequence())
				return nil
			})
			if err != nil {
				x.Fatal(err)
			}
			for _, seq := range rows {
				if seq < c.health.GetSequence() {
					n++
				}
			}
			if len(rows) != 5 {
				x.Fatalf("%d rows", len(rows))
			}
			return n
		}
		for range 40 {
			write(false)
			for range 7 {
				time.Sleep(150 * time.Millisecond)
				if n := behind(); n > 0 {
					x.Fatalf("%d rows are behind the health row of the answer", n)
				}
			}
		}
		found := make(chan int, 1)
		go func() { time.Sleep(1500 * time.Millisecond); found <- behind() }()
		write(true)
		if <-found == 0 {
			x.Error("the check does not notice a health row that is before its rows")
		}
	})
}

// TestMerged: without a healthy dataset, a row has the greatest figures of those with the most
// corrections.
func TestMerged(t *testing.T) {
	inCluster(t, func(x *fixture) {
		put := func(dc, campaign string, corrections uint32, eu, us int64, parts ...*eventspb.PartSpend) {
			c := x.counters[dc]
			m := c.message(&eventspb.Spend{
				Account: accountOf(1), Campaign: campaign, BudgetDay: today, Currency: "USD", Corrections: corrections, ByDc: []*eventspb.SpendByDC{
					{ServingDc: "eu", ChargedMicros: eu}, {ServingDc: "us", ChargedMicros: us},
				},
			})
			c.commit(1, m)
			for _, p := range parts {
				key := append([]byte{spendcounter.TableParts}, m.Key[1:]...)
				key = append(append(append(key, p.GetLineItem()...), 0), p.GetArm()...)
				c.commit(1, stream.Message{Key: key, Value: c.marshal(&eventspb.SpendPart{Part: p})})
			}
		}
		part := func(name string, micros int64) *eventspb.PartSpend {
			return &eventspb.PartSpend{LineItem: name, Arm: "x", ChargedMicros: micros, Events: uint64(micros)}
		}
		put("eu", "a", 0, 5, 2, part("p", 3), part("q", 4))
		put("us", "a", 0, 3, 4, part("p", 2), part("q", 5), part("r", 1))
		put("eu", "b", 0, 90, 0, part("p", 90))
		put("ap", "b", 1, 10, 0, part("p", 10))
		put("ap", "c", 0, 1, 0)
		x.ready()
		got := map[string]int64{}
		parts := map[string]int64{}
		c, err := x.cache.Account(x.Context(), AccountQuery{Account: accountOf(1), Parts: true}, func(r Row) error {
			for _, by := range r.Spend.GetByDc() {
				got[r.Spend.GetCampaign()+by.GetServingDc()] = by.GetChargedMicros()
			}
			for _, p := range r.Parts {
				parts[r.Spend.GetCampaign()+p.GetLineItem()] = p.GetChargedMicros()
			}
			return nil
		})
		if err != nil || c.Mode != selection.FailSafe || c.Age(time.Now()) >= 0 {
			x.Fatalf("%s %v", c.Text(), err)
		}
		for key, want := range map[string]int64{"aeu": 5, "aus": 4, "beu": 10, "bus": 0, "ceu": 1, "cus": 0} {
			if got[key] != want {
				x.Errorf("%s: %d, want %d", key, got[key], want)
			}
		}
		for key, want := range map[string]int64{"ap": 3, "aq": 5, "ar": 1, "bp": 10} {
			if parts[key] != want {
				x.Errorf("part %s: %d, want %d", key, parts[key], want)
			}
		}
	})
}
