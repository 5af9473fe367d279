package spendaudit

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weirhq/weir/events/eventspb"
)

// Audit collects the audit records of several counters. Its zero value is empty. A record takes
// about 100 bytes.
type Audit struct {
	records map[series]map[string][]minute // by counter
}

// series is the events of one origin in one shard.
type series struct {
	origin string
	shard  int32
}

// minute is a record without the names.
type minute struct {
	ms, first, next              int64 // begin; offsets
	events, micros, digest       uint64
	lost, rejected               uint64
	incarnation, epoch, sequence uint64
	begins                       bool
}

// Add adds a record, and does not keep r. The order of the calls does not matter.
func (a *Audit) Add(r *eventspb.SpendAudit) {
	if a.records == nil {
		a.records = map[series]map[string][]minute{}
	}
	at := series{r.GetOrigin(), r.GetShard()}
	if a.records[at] == nil {
		a.records[at] = map[string][]minute{}
	}
	dc := r.GetWriterDc()
	a.records[at][dc] = append(a.records[at][dc], minute{
		ms: r.GetMinuteMs(), first: r.GetFirstOffset(), next: r.GetNextOffset(),
		events: r.GetEvents(), micros: r.GetMicros(), digest: r.GetDigest(), lost: r.GetLost(), rejected: r.GetRejected(),
		incarnation: r.GetIncarnation(), epoch: r.GetOwnerEpoch(), sequence: r.GetSequence(), begins: r.GetBegins(),
	})
}

// Coverage is how much of an origin's events was compared in the records of one counter.
type Coverage struct {
	DC, Origin string
	Shards     int    // with records
	Missing    int    // shards of which other counters have records, and this one has none
	Minutes    int    // compared, the sum over the shards
	Events     uint64 // in these minutes, with duplicates
	Lost       uint64 // records of which no copy arrived, in all minutes
	Rejected   uint64 // copies, in all minutes
	FromMs     int64  // begin of the first minute of a shard
	ThroughMs  int64  // end of the last minute of the shard that ends first
	BehindMs   int64  // greatest time by which a shard ends before that of another counter
	Differs    int    // number of Differences in which the counter is not like the origin's own
}

// Side is what one counter has of the minutes of a Difference.
type Side struct {
	DC       string
	Events   uint64
	Micros   uint64 // modulo 2^64
	Digest   uint64
	Lost     uint64 // records of which no copy arrived, up to the minute behind the range: the next record shows a loss
	Rejected uint64
}

// Same reports whether two counters have read the same events.
func (s *Side) Same(o *Side) bool {
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

// Report compares all records. counters are those that should have records; others may have some.
func (a *Audit) Report(counters ...string) *Report {
	r := &Report{}
	coverage := map[[2]string]*Coverage{}
	list := slices.SortedFunc(maps.Keys(a.records), func(x, y series) int {
		return cmp.Or(cmp.Compare(x.origin, y.origin), cmp.Compare(x.shard, y.shard))
	})
	for _, at := range list {
		c := newComparison(at, a.records[at])
		for _, dc := range counters {
			if _, ok := a.records[at][dc]; !ok {
				of(coverage, dc, at.origin).Missing++
			}
		}
		for _, w := range c.counters {
			of(coverage, w.dc, at.origin).add(w, c.last)
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

func of(coverage map[[2]string]*Coverage, dc, origin string) *Coverage {
	v := coverage[[2]string{origin, dc}]
	if v == nil {
		v = &Coverage{DC: dc, Origin: origin}
		coverage[[2]string{origin, dc}] = v
	}
	return v
}

// add adds a shard. newest is the last minute that any counter has of it.
func (v *Coverage) add(w *counter, newest int64) {
	first, last := w.list[0].ms, w.list[len(w.list)-1].ms
	if v.Shards == 0 {
		v.FromMs, v.ThroughMs = first, last+minuteMs
	}
	v.Shards++
	v.FromMs, v.ThroughMs = min(v.FromMs, first), min(v.ThroughMs, last+minuteMs)
	v.BehindMs = max(v.BehindMs, newest-last)
	for i := range w.list {
		v.Lost, v.Rejected = v.Lost+w.list[i].lost, v.Rejected+w.list[i].rejected
	}
}
