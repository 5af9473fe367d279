package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
)

// maxAway is the number of shards that are listed because they do not use the own dataset.
const maxAway = 50

// modeNormal is the mode of a shard with a chosen dataset.
const modeNormal = "normal"

// Datacentres are the datasets of the datacentres, and what is copied between them.
type Datacentres struct {
	o *Overview
	// DC is the datacentre of the process.
	DC string
}

// Datacentres returns the section; nil if there is one datacentre only, or the cluster is unknown.
func (o *Overview) Datacentres() *Datacentres {
	if len(o.Cluster.GetDcs()) < 2 {
		return nil
	}
	return &Datacentres{o, o.Cluster.GetDc()}
}

// ring returns the names of all datacentres, in order.
func (d *Datacentres) ring() (names []string) {
	for _, text := range d.o.Cluster.GetDcs() {
		name, _, _ := strings.Cut(text, "=")
		names = append(names, name)
	}
	return names
}

// HasCache reports whether the process has a spend cache.
func (d *Datacentres) HasCache() bool { return d.o.HasCache }

// Err is why the datasets could not be read.
func (d *Datacentres) Err() string { return d.o.Errors.Datasets }

// PartitionsErr is why the partitions could not be read, which have the state of the copies.
func (d *Datacentres) PartitionsErr() string { return d.o.Errors.Partitions }

// Unevaluated returns the number of shards whose datasets the cache has not evaluated yet, empty if
// it has evaluated all of them.
func (d *Datacentres) Unevaluated() string {
	if n := int(d.o.Cluster.GetPartitions()) - len(d.o.Datasets); n > 0 {
		return count(n)
	}
	return ""
}

// ChoiceLine is which dataset is used for some shards, and the newest reason.
type ChoiceLine struct {
	Dataset string // empty: none is chosen
	Mode    string
	For     string // which shards
	Since   string // time of the last choice
	Reason  string
	last    int64 // Unix ms of Since
	shards  int
}

// Choices returns a line for each mode and dataset in use: shards without a chosen dataset first,
// then the datasets in the order of the ring.
func (d *Datacentres) Choices() (lines []ChoiceLine) {
	ring := d.ring()
	for _, s := range d.o.Datasets {
		c := s.GetChoice()
		i := slices.IndexFunc(lines, func(l ChoiceLine) bool { return l.Dataset == c.GetDc() && l.Mode == c.GetMode() })
		if i < 0 {
			i = len(lines)
			lines = append(lines, ChoiceLine{Dataset: c.GetDc(), Mode: c.GetMode()})
		}
		l := &lines[i]
		if l.shards++; l.shards == 1 || c.GetSinceMs() > l.last {
			l.last, l.Reason = c.GetSinceMs(), c.GetReason()
		}
	}
	for i := range lines {
		l := &lines[i]
		l.For, l.Since = of(l.shards, len(d.o.Datasets))+" shards", clock(time.UnixMilli(l.last), d.o.Now)
	}
	slices.SortStableFunc(lines, func(a, b ChoiceLine) int {
		return cmp.Compare(slices.Index(ring, a.Dataset), slices.Index(ring, b.Dataset)) // none has index -1
	})
	return lines
}

// Chosen reports whether the line has a dataset.
func (l ChoiceLine) Chosen() bool { return l.Mode == modeNormal }

// ModeText returns what a mode without a chosen dataset means.
func (l ChoiceLine) ModeText() string { return modeText(l.Mode) }

func modeText(mode string) string {
	switch mode {
	case "degraded":
		return "each figure is the greatest one of all datasets"
	case "fail_safe":
		return "campaigns with a budget are to stop"
	}
	return ""
}

// DatasetTable are the datasets of the datacentre.
type DatasetTable struct {
	Rows  []DatasetLine
	Lacks bool // a dataset lacks events
	Lags  bool // a dataset is behind another one
	// Returning: the own dataset is healthy, and yet not chosen for all shards.
	Returning bool
}

// DatasetLine is a dataset, over all shards.
type DatasetLine struct {
	Dataset                                 string
	Own                                     bool
	Chosen, Health, Age, Lag, Lacks, Last60 string
	Lost, Unhealthy, Problem                string
	Used, Healthy, HasLost                  bool
}

// Datasets returns the table of datasets, the own one first.
func (d *Datacentres) Datasets() (t DatasetTable) {
	for i, r := range render.DatasetRows(d.o.Datasets) {
		stale, lagless, ageless := 0, 0, 0 // shards whose health is too old, whose lag is not known, or the age
		lagMs := int64(0)                  // greatest that is known
		for _, s := range d.o.Datasets {
			one := s.GetDatasets()[i]
			if one.GetStale() {
				stale++
			}
			if one.GetStale() || one.GetNever() {
				lagless++
			} else {
				lagMs = max(lagMs, one.GetLagMs())
			}
			if one.GetAgeMs() < 0 {
				ageless++
			}
		}
		l := DatasetLine{
			Dataset: r.Dataset, Own: r.Dataset == d.DC, Chosen: "no shard", Used: r.Chosen > 0, Healthy: r.Healthy == r.Shards,
			Health: "healthy", Lag: bound(duration(float64(lagMs)/1000), lagless, r.Shards),
			Lacks: bound(fmt.Sprintf("%.1f %%", r.Lacks), stale, r.Shards), Last60: count(r.Last60s),
			Lost: count(r.Lost), HasLost: r.Lost > 0,
		}
		if r.AgeSeconds != nil {
			l.Age = duration(*r.AgeSeconds)
		}
		l.Age = bound(l.Age, ageless, r.Shards)
		if l.Used {
			l.Chosen = of(r.Chosen, r.Shards)
		}
		if !l.Healthy {
			l.Health, l.Unhealthy, l.Problem = of(r.Healthy, r.Shards)+" healthy", of(r.Shards-r.Healthy, r.Shards), r.Reason
		}
		t.Lacks, t.Lags = t.Lacks || r.Lacks > 0, t.Lags || r.Lag.Seconds > 0
		t.Returning = t.Returning || l.Own && l.Healthy && r.Chosen < r.Shards
		t.Rows = append(t.Rows, l)
	}
	return t
}

// Absent returns the datacentres whose datasets are not in this one, because they do not push into
// it.
func (d *Datacentres) Absent() (names []string) {
	if len(d.o.Datasets) == 0 {
		return nil
	}
	for _, name := range d.ring() {
		if !slices.ContainsFunc(d.o.Datasets[0].GetDatasets(), func(has *weirpb.Dataset) bool { return has.GetDc() == name }) {
			names = append(names, name)
		}
	}
	return names
}

// AwayList are the shards that do not use the own dataset.
type AwayList struct {
	Rows  []AwayRow
	Count string
	Many  bool
	More  string // number of rows that are left out
}

// AwayRow is a shard that does not use the own dataset.
type AwayRow struct{ Shard, Uses, Since, Reason string }

// Away returns the shards that do not use the own dataset; nil if all do.
func (d *Datacentres) Away() *AwayList {
	l, n := &AwayList{}, 0
	for _, s := range d.o.Datasets {
		c := s.GetChoice()
		if c.GetMode() == modeNormal && c.GetDc() == d.DC {
			continue
		}
		if n++; n > maxAway {
			continue
		}
		uses := c.GetDc()
		if c.GetMode() != modeNormal {
			uses = "none: " + c.GetMode()
		}
		l.Rows = append(l.Rows, AwayRow{fmt.Sprint(c.GetShard()), uses, clock(time.UnixMilli(c.GetSinceMs()), d.o.Now), c.GetReason()})
	}
	if n == 0 {
		return nil
	}
	l.Count, l.Many = count(n), n > 1
	if n > maxAway {
		l.More = count(n - maxAway)
	}
	return l
}

// of returns a number of all of something.
func of(n, all int) string { return count(n) + " of " + count(all) }

// duration formats a duration in seconds: below a minute with one decimal place.
func duration(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", max(0, seconds))
	}
	return span(time.Duration(seconds * float64(time.Second)))
}
