package spendsim

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/healthage"
	"github.com/weirhq/weir/spendcache/selection"
)

// unusable is the age from which on the mode is fail_safe. It is shorter than the default of 10
// minutes, so that runs reach it.
const unusable = 45 * time.Second

// copied is a dataset as a reader has it.
type copied struct {
	w      *simulation
	dc     int
	source *[]commit
	at     int // index of the next commit
	rows   map[string]*row
	spends map[string]*row // of rows, by campaign
	health *eventspb.SpendHistogram
	row    healthage.Row
}

func (d *copied) clear() { d.rows, d.spends, d.health = map[string]*row{}, map[string]*row{}, nil }

// apply applies a commit.
func (d *copied) apply(c *commit) {
	if c.cleared {
		d.clear()
	}
	for _, x := range c.changes {
		former := d.rows[x.key]
		switch {
		case x.row == nil:
			delete(d.rows, x.key)
			if former != nil && former.spend != nil {
				delete(d.spends, former.spend.Campaign)
			}
			continue
		case x.row.health != nil:
			d.health = x.row.health
		case x.row.spend != nil:
			d.spends[x.row.spend.Campaign] = x.row
		}
		d.rows[x.key] = x.row
	}
}

// reader is the cache of one datacentre. Its Selector and the ages of its health rows are real.
type reader struct {
	w        *simulation
	dc       int
	datasets []*copied // the own one first
	selector *selection.Selector
	answer   *answer // nil before the first evaluation
	down     int64   // until when it does not run
}

// configure begins a process that reads the datasets which the datacentre gets by its ring.
func (r *reader) configure(ring int) {
	for _, dc := range writers(r.dc, ring) {
		if slices.ContainsFunc(r.datasets, func(d *copied) bool { return d.dc == dc }) {
			continue
		}
		d := &copied{w: r.w, dc: dc, source: &r.w.dcs[dc].counter.dataset}
		if dc != r.dc {
			d.source = &r.w.push(dc, r.dc).copies
		}
		d.clear()
		r.datasets = append(r.datasets, d)
	}
	r.start(ring)
}

// start begins a process. The rows on its disk are there.
func (r *reader) start(ring int) {
	cfg := selection.Config{Local: names[r.dc], Ring: names[:ring], Unusable: unusable}
	if r.w.mutation == "reader never returns" {
		cfg.ReturnAfter = time.Hour
	}
	var err error
	if r.selector, err = selection.New(cfg); err != nil {
		r.w.fail("ERROR", "%v", err)
	}
	r.answer = nil
	for _, d := range r.datasets {
		d.row = healthage.Row{Copied: d.dc != r.dc}
	}
}

// follow applies the commits that have arrived.
func (r *reader) follow() {
	for _, d := range r.datasets {
		for d.at < len(*d.source) && (*d.source)[d.at].at < r.w.now {
			d.apply(&(*d.source)[d.at])
			d.at++
		}
	}
}

// clock is the clock of the reader.
func (r *reader) clock() time.Time { return time.UnixMilli(r.w.wall(r.dc)) }

// evaluate chooses a dataset and computes the answer. reads: the brokers answer.
func (r *reader) evaluate(reads bool) {
	now := r.clock()
	var list []selection.Dataset
	v := view{all: map[string][]*eventspb.Spend{}, adds: r.w.mutation == "merge adds"}
	newest := healthage.Unknown
	chosen := map[string]*copied{}
	for _, d := range r.datasets {
		if d.row.Observe(now, d.health, (*healthage.Row).AgeOf); reads {
			d.row.ReadTo(now)
		}
		if d.health == nil {
			continue
		}
		r.w.checkHealth(r, d)
		for campaign, x := range d.spends {
			v.all[campaign] = append(v.all[campaign], x.spend)
		}
		if d.dc == r.dc {
			v.ours = d.spends
		}
		chosen[names[d.dc]] = d
		list = append(list, r.seen(d, now))
		newest = min(newest, list[len(list)-1].Age)
	}
	d := r.selector.Decide(now, list)
	a := &answer{mode: d.Mode, dc: -1, at: r.w.now, age: newest}
	if c := chosen[d.DC]; c != nil {
		a.dc, v.chosen, a.age = c.dc, c.spends, c.row.Age(now)
	}
	v.mode = d.Mode
	for p := range policies {
		a.spent[p] = v.spent(p)
	}
	r.answer = a
	r.w.checkAnswer(r, &d)
}

// seen is what the Selector gets of a dataset.
func (r *reader) seen(d *copied, now time.Time) selection.Dataset {
	s := selection.Dataset{Health: d.health, Age: d.row.Age(now)}
	switch r.w.mutation {
	case "reader ignores ages":
		s.Age = 0
	case "reader ignores lost records", "selector ignores lags":
		s.Health = proto.CloneOf(d.health)
		for _, o := range s.Health.Origins {
			if r.w.mutation == "selector ignores lags" {
				o.WatermarkMs, o.Count_60S = epochMs, 0
			} else {
				o.Lost = 0
			}
		}
	}
	return s
}
