package spendcache

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/healthage"
	"github.com/weirhq/weir/spendcache/selection"
)

// Choice is which dataset is used for a shard, and why.
type Choice struct {
	Shard  int32
	Mode   selection.Mode
	DC     string    // writer of the chosen dataset; empty unless Mode is Normal
	Reason string    // why, a sentence without a full stop
	Since  time.Time // when DC was chosen, or Mode begun

	// WrittenMs is when the newest health row was written, Unix ms by the clock of its writer: the
	// rows include everything that the writer had committed before. 0: there is none. It is that of
	// the chosen dataset, or of the newest one in the other modes.
	WrittenMs int64
	// Origins are the ingest times up to which that dataset has the events of each datacentre,
	// ordered by name.
	Origins []Origin

	first    bool                     // since the cache was made
	health   *eventspb.SpendHistogram // nil: there is none
	seen     time.Time                // when the cache first saw it
	seenAge  time.Duration            // its age at that time
	datasets []selection.Assessment

	incarnations []uint64 // of the states of all datasets, in the order of Cache.datasets; 0: not known
}

// Origin is the progress of a dataset in the events that one datacentre took.
type Origin struct {
	DC          string
	WatermarkMs int64 // greatest ingest time, Unix ms
}

// Age returns the time since the newest health row was written, see the package's section Age. It
// is negative if there is none.
func (c *Choice) Age(now time.Time) time.Duration {
	if c.health == nil || c.seenAge >= healthage.Unknown {
		return -1
	}
	return c.seenAge + now.Sub(c.seen)
}

// Closed returns the last budget day that the dataset no longer has by campaign, see
// spendcounter's section Closed days; 0: none.
func (c *Choice) Closed() events.Day { return events.Day(c.health.GetClosedDay()) }

// evaluate chooses a dataset for each shard.
func (c *Cache) evaluate(now time.Time) {
	if step := now.Round(0).Sub(c.evaluated.Round(0)) - now.Sub(c.evaluated); !c.evaluated.IsZero() && step.Abs() > healthage.ClockStep {
		for n := range c.datasets {
			c.datasets[n].forgetClocks()
		}
	}
	c.evaluated = now
	ends := map[partition]time.Time{}
	for _, s := range c.follower.Status() {
		ends[partition{s.Topic, s.Partition}] = s.AsOf
	}
	snap, err := c.follower.Snapshot() // behind Status: it has all rows that Status reports
	if err == nil {
		defer func() { _ = snap.Close() }() // a snapshot of an open database has no error
	}
	for n := range c.datasets {
		c.datasets[n].observe(now, snap, c.cfg.ageOf)
		c.datasets[n].observeEnds(ends)
	}
	c.observeLeaders(now, snap, ends)
	var switches []*Choice
	for n := range c.shards {
		if !c.known(int32(n)) {
			continue // the cache has just started
		}
		choice, switched := c.decide(now, int32(n))
		c.shards[n].choice.Store(choice)
		if switched {
			switches = append(switches, choice)
		}
	}
	c.report(switches)
}

// known reports whether there is something to choose from, or certainly nothing.
func (c *Cache) known(shard int32) bool {
	if c.shards[shard].choice.Load() != nil {
		return true
	}
	for i := range c.datasets {
		if c.datasets[i].health[shard].Present {
			return true
		}
	}
	select {
	case <-c.follower.CaughtUp():
		return true
	default:
		return false
	}
}

// decide chooses the dataset of a shard. It reports whether another one, or another mode, was
// chosen before.
func (c *Cache) decide(now time.Time, n int32) (choice *Choice, switched bool) {
	s := &c.shards[n]
	var list []selection.Dataset
	for i := range c.datasets {
		if d := selectable(&c.datasets[i].health[n], now); d.Health != nil {
			list = append(list, d)
		}
	}
	d := s.selector.Decide(now, list)
	before := s.choice.Load()
	if switched = before == nil || before.Mode != d.Mode || before.DC != d.DC; switched {
		s.since = now
	}
	choice = &Choice{Shard: n, Mode: d.Mode, DC: d.DC, Reason: d.Reason, Since: s.since, first: before == nil}
	choice.datasets = slices.DeleteFunc(d.Shard.Datasets, func(a selection.Assessment) bool {
		return !slices.ContainsFunc(c.datasets, func(has dataset) bool { return has.dc == a.DC })
	})
	for i := range c.datasets { // also of one that has no health row now
		choice.incarnations = append(choice.incarnations, c.datasets[i].health[n].Health.GetIncarnation())
	}
	if h := c.newest(now, n, d.DC); h != nil {
		choice.take(h)
	}
	return choice, switched
}

// newest returns the health row of a dataset, or the newest one of all datasets if dc is empty.
func (c *Cache) newest(now time.Time, shard int32, dc string) (newest *healthage.Row) {
	for i := range c.datasets {
		h := &c.datasets[i].health[shard]
		switch {
		case !h.Present, dc != "" && c.datasets[i].dc != dc:
		case newest == nil, h.Age(now) < newest.Age(now):
			newest = h
		}
	}
	return newest
}

// take sets what a health row states.
func (c *Choice) take(h *healthage.Row) {
	c.health, c.seen, c.seenAge, c.WrittenMs = h.Health, h.Seen, h.SeenAge, h.Health.GetWrittenAtMs()
	for _, o := range h.Health.GetOrigins() {
		c.Origins = append(c.Origins, Origin{o.GetDc(), o.GetWatermarkMs()})
	}
}

// report logs and counts the switches of one evaluation. Shards that switched alike share a line.
func (c *Cache) report(switches []*Choice) {
	type kind struct {
		mode selection.Mode
		dc   string
	}
	alike := map[kind]int{}
	for _, s := range switches {
		alike[kind{s.Mode, s.DC}]++
		c.switches.WithLabelValues(s.Mode.String(), s.DC).Inc()
	}
	for _, s := range switches {
		k := kind{s.Mode, s.DC}
		if alike[k] == 0 {
			continue // another shard stands for it
		}
		line := c.cfg.Log.Warn()
		if s.first || s.Mode == selection.Normal && s.DC == c.cfg.DC {
			line = c.cfg.Log.Info()
		}
		line.Str("mode", s.Mode.String()).Str("dataset", s.DC).Int("shards", alike[k]).Int32("shard", s.Shard).Str("why", s.Reason).
			Msg("spendcache_chosen")
		alike[k] = 0
	}
}

// Text returns the choice as a sentence without a full stop.
func (c *Choice) Text() string {
	if c.Mode == selection.Normal {
		return fmt.Sprintf("shard %d uses the dataset of %s: %s", c.Shard, c.DC, c.Reason)
	}
	return fmt.Sprintf("shard %d is %s: %s", c.Shard, c.Mode, c.Reason)
}
