package spendaudit

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// Audit collects the audit records of several counters. Its zero value is empty.
type Audit struct {
	records map[series][]*eventspb.SpendAudit
}

// series is the events of one origin in one shard.
type series struct {
	origin string
	shard  int32
}

// Add adds a record. It keeps r. The order of the calls does not matter.
func (a *Audit) Add(r *eventspb.SpendAudit) {
	if a.records == nil {
		a.records = map[series][]*eventspb.SpendAudit{}
	}
	at := series{r.GetOrigin(), r.GetShard()}
	a.records[at] = append(a.records[at], r)
}

// Coverage is how much of an origin's events was compared in the records of one counter.
type Coverage struct {
	DC, Origin string
	Shards     int    // with records
	Minutes    int    // compared, the sum over the shards
	Events     uint64 // in these minutes, with duplicates
	Lost       uint64 // records of which no copy arrived, in all minutes
	Rejected   uint64 // copies, in all minutes
	FromMs     int64  // begin of the first minute of a shard
	ThroughMs  int64  // end of the last minute of the shard that is farthest behind
	Differs    int    // number of Differences with this origin and counter
}

// Side is what one counter has of the minutes of a Difference.
type Side struct {
	DC       string
	Events   uint64
	Micros   uint64 // modulo 2^64
	Digest   uint64
	Lost     uint64
	Rejected uint64
}

// same reports whether two counters have read the same events.
func (s *Side) same(o *Side) bool {
	return s.Events == o.Events && s.Micros == o.Micros && s.Digest == o.Digest
}

// Difference is a range of minutes of an origin in which counters have read different events.
type Difference struct {
	Shard                   int32
	Origin                  string
	FromMs, ToMs            int64  // begin of the first minute, end of the last
	FirstOffset, NextOffset int64  // in the origin's topic of events: of all sides
	Sides                   []Side // the origin's own counter first, then by name
}

// Report is the result of a comparison.
type Report struct {
	Coverage    []Coverage   // by origin and counter
	Differences []Difference // by time, origin and shard
}

// Report compares all records.
func (a *Audit) Report() *Report {
	r := &Report{}
	coverage := map[[2]string]*Coverage{}
	list := slices.SortedFunc(maps.Keys(a.records), func(x, y series) int {
		return cmp.Or(cmp.Compare(x.origin, y.origin), cmp.Compare(x.shard, y.shard))
	})
	for _, at := range list {
		c := newComparison(at, a.records[at])
		for _, w := range c.counters {
			v := coverage[[2]string{at.origin, w.dc}]
			if v == nil {
				v = &Coverage{DC: w.dc, Origin: at.origin, FromMs: w.first, ThroughMs: w.last + minuteMs}
				coverage[[2]string{at.origin, w.dc}] = v
			}
			v.Shards++
			v.FromMs, v.ThroughMs = min(v.FromMs, w.first), min(v.ThroughMs, w.last+minuteMs)
			for _, m := range w.minutes {
				v.Lost, v.Rejected = v.Lost+m.GetLost(), v.Rejected+m.GetRejected()
			}
		}
		c.run(coverage)
		r.Differences = append(r.Differences, c.found...)
	}
	for _, v := range coverage {
		r.Coverage = append(r.Coverage, *v)
	}
	slices.SortFunc(r.Coverage, func(x, y Coverage) int { return cmp.Or(cmp.Compare(x.Origin, y.Origin), cmp.Compare(x.DC, y.DC)) })
	slices.SortStableFunc(r.Differences, func(x, y Difference) int { return cmp.Compare(x.FromMs, y.FromMs) })
	return r
}

// newest reports whether x is to be kept in place of y, a record of the same counter and minute.
func newest(x, y *eventspb.SpendAudit) bool { return events.CompareVersions(x, y) > 0 }
