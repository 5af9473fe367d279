package selection

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// Dataset is what a reader knows of one datacentre's dataset of a shard.
type Dataset struct {
	// Health is the newest health record.
	Health *eventspb.SpendHistogram
	// Age is the time since it was written, as far as the reader knows: see package spendcache.
	Age time.Duration
}

// window is the length of the window of the counts.
const window = time.Minute

// Assessment compares a dataset with the other candidates.
type Assessment struct {
	DC    string
	Known bool // there is a health record
	Age   time.Duration
	Count uint64 // events of the last 60 s by ingest time
	Total uint64 // events of all time
	Lost  uint64 // records of which no copy has arrived, of all time

	Candidate bool          // the health record is not stale
	Lag       time.Duration // greatest over the origins, against the newest candidate
	Origin    string        // the origin with that lag
	Never     bool          // the dataset has no event of Origin, and another candidate has
	Late      float64       // missing part of 60 s by the lags, weighted by the events of each origin
	Deficit   float64       // missing part of the count, against the greatest of a candidate with a greater Total
	Fresh     bool
	Complete  bool
	Lossless  bool // no healthy candidate with as many events has lost fewer records
}

// Healthy reports whether the dataset is a candidate, fresh, complete and lossless.
func (a *Assessment) Healthy() bool { return a.Candidate && a.Fresh && a.Complete && a.Lossless }

// Misses returns which part of the events of the last 60 s the dataset misses, from 0 to 1: the
// greater of Deficit and Late.
func (a *Assessment) Misses() float64 { return max(a.Deficit, a.Late) }

// Shard is the comparison of a shard's datasets.
type Shard struct {
	// Datasets are in order of preference: the reader's own, then as they follow it in the ring.
	Datasets []Assessment
	// Few reports that no candidate has Config.MinEvents. Their deficits decide nothing.
	Few bool
	// Best is the index of the dataset to choose without a history; -1 without a candidate.
	Best int
}

// assess compares the datasets of a shard.
func (s *Selector) assess(datasets []Dataset) Shard {
	byDC := map[string]Dataset{}
	for _, d := range datasets {
		// Of two records of one datacentre the newer one counts, whatever their order. A record may
		// arrive twice, by the topics of two datacentres, and late by one of them.
		old, twice := byDC[d.Health.GetWriterDc()]
		if !twice || cmp.Or(events.CompareVersions(old.Health, d.Health), cmp.Compare(d.Age, old.Age)) < 0 {
			byDC[d.Health.GetWriterDc()] = d
		}
	}
	shard := Shard{Datasets: make([]Assessment, len(s.order)), Best: -1}
	newest := map[string]int64{}   // by origin: the greatest watermark of a candidate
	weight := map[string]float64{} // by origin: the greatest count of a candidate
	var most uint64
	for i, dc := range s.order {
		a, d := &shard.Datasets[i], byDC[dc]
		a.DC = dc
		if d.Health == nil {
			continue
		}
		a.Known, a.Age, a.Candidate = true, d.Age, d.Age < s.cfg.Stale
		for _, o := range d.Health.Origins {
			if !slices.Contains(s.order, o.GetDc()) {
				continue
			}
			a.Count += o.GetCount_60S()
			a.Total += o.GetCumulativeCount()
			a.Lost += o.GetLost()
			if a.Candidate {
				newest[o.GetDc()] = max(newest[o.GetDc()], o.GetWatermarkMs())
				weight[o.GetDc()] = max(weight[o.GetDc()], float64(o.GetCount_60S()))
			}
		}
		if a.Candidate {
			most = max(most, a.Count)
		}
	}
	if shard.Few = most < s.cfg.MinEvents; shard.Few {
		weight = nil // by chance, too
	}
	for i := range shard.Datasets {
		a := &shard.Datasets[i]
		if !a.Candidate {
			continue
		}
		s.measureLags(a, byDC[a.DC].Health, newest, weight)
		a.Fresh = a.Lag < s.cfg.Lag
		if !shard.Few {
			a.Deficit = deficit(a, shard.Datasets, most)
		}
		a.Complete = a.Deficit < s.cfg.Deficit
	}
	underWay := s.cfg.Deficit * float64(most) // events that one dataset may have before another
	for i := range shard.Datasets {
		a := &shard.Datasets[i]
		a.Lossless = !slices.ContainsFunc(shard.Datasets, func(b Assessment) bool {
			return b.Candidate && b.Fresh && b.Complete && b.Lost < a.Lost && float64(b.Total)+underWay >= float64(a.Total)
		})
	}
	for i := range shard.Datasets {
		if a := &shard.Datasets[i]; a.Candidate && (shard.Best < 0 || prefer(a, &shard.Datasets[shard.Best])) {
			shard.Best = i
		}
	}
	return shard
}

// deficit returns the missing part of the events of the last 60 s, against the candidate with the
// most of those that have more events of all time. most is the greatest count of all candidates. A
// dataset with as many events of all time as another one lacks nothing that the other one has: when
// traffic falls, the one that is behind has more events of the last 60 s, because its window
// begins earlier.
func deficit(a *Assessment, datasets []Assessment, most uint64) (part float64) {
	for i := range datasets {
		if b := &datasets[i]; b.Candidate && b.Count > a.Count && b.Total > a.Total {
			part = max(part, float64(b.Count-a.Count)/float64(most))
		}
	}
	return part
}

// measureLags sets Lag and Late. Origins are looked at in order, so that of two equal lags the same
// one is named each time. Without weights, Late is the part by the greatest lag.
func (s *Selector) measureLags(a *Assessment, h *eventspb.SpendHistogram, newest map[string]int64, weight map[string]float64) {
	total := 0.0
	for _, dc := range s.order {
		total += weight[dc]
	}
	for _, dc := range s.order {
		if newest[dc] <= 0 {
			continue // no candidate has an event of this origin
		}
		var has int64
		if i := slices.IndexFunc(h.Origins, func(o *eventspb.OriginHealth) bool { return o.GetDc() == dc }); i >= 0 {
			has = h.Origins[i].GetWatermarkMs()
		}
		lag, never := unheard, has <= 0
		if !never {
			lag = time.Duration(min(newest[dc]-has, unheard.Milliseconds())) * time.Millisecond
		}
		if lag > a.Lag {
			a.Lag, a.Origin, a.Never = lag, dc, never
		}
		late := min(1, lag.Seconds()/window.Seconds())
		if total > 0 {
			a.Late += late * (weight[dc] / total) // exact for one origin
		} else {
			a.Late = max(a.Late, late)
		}
	}
}

// unheard is the greatest lag, and that of a dataset without any event of an origin of which
// another has some. It is longer than the window: such a dataset misses all of it.
const unheard = 24 * time.Hour

// prefer reports whether a is to be chosen before b, which is before a in order of preference.
func prefer(a, b *Assessment) bool {
	if a.Healthy() || b.Healthy() {
		return !b.Healthy()
	}
	return cmp.Or(cmp.Compare(a.Misses(), b.Misses()), cmp.Compare(b.Count, a.Count)) < 0
}
