package spendsim

import (
	"strings"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/spendcounter"
)

// policy is how the spend of a campaign is read.
type policy int

// The policies. The campaign of a policy has its name.
const (
	own policy = iota
	selected
	merged
	guarded
	policies
)

// String returns the name of the policy.
func (p policy) String() string { return [...]string{"own", "selection", "merge", "guarded"}[p] }

// guard is the part by which the merge may exceed the chosen dataset under the policy guarded.
const guard = 0.05

// copied is a dataset as a reader has it.
type copied struct {
	w      *simulation
	dc     int
	source *[]commit
	at     int // index of the next commit
	rows   map[string][]byte
}

// health returns the health row; nil: there is none.
func (d *copied) health() *eventspb.SpendHistogram {
	value := d.rows[healthTable+string(spendcounter.HealthKey(names[d.dc], 0))]
	if value == nil {
		return nil
	}
	h := &eventspb.SpendHistogram{}
	d.w.decode(value, h)
	return h
}

// spends returns the rows of table 1.
func (d *copied) spends() (list []*eventspb.Spend) {
	for key, value := range d.rows {
		if strings.HasPrefix(key, string(rune(spendcounter.TableSpend))) {
			s := &eventspb.Spend{}
			d.w.decode(value, s)
			list = append(list, s)
		}
	}
	return list
}

// answer is what a reader answers for all campaigns.
type answer struct {
	mode  selection.Mode
	dc    int // chosen; -1: none
	spent [policies]int64
}

// reader is the cache of one datacentre. Its Selector is real.
type reader struct {
	w        *simulation
	dc       int
	datasets []*copied // the own one first
	selector *selection.Selector
	answer   answer
	down     int64 // until when it does not run
}

// start begins a process. The rows on its disk are there.
func (r *reader) start() {
	cfg := selection.Config{Local: names[r.dc], Ring: names[:r.w.s.DCs]}
	if r.w.mutation == "reader never returns" {
		cfg.ReturnAfter = time.Hour
	}
	var err error
	if r.selector, err = selection.New(cfg); err != nil {
		r.w.fail("ERROR", "%v", err)
	}
}

// follow applies the commits that have arrived.
func (r *reader) follow() {
	for _, d := range r.datasets {
		for d.at < len(*d.source) && (*d.source)[d.at].at < r.w.now {
			c := &(*d.source)[d.at]
			if c.cleared {
				d.rows = map[string][]byte{}
			}
			for _, x := range c.changes {
				if x.value == nil {
					delete(d.rows, x.key)
				} else {
					d.rows[x.key] = x.value
				}
			}
			d.at++
		}
	}
}

// evaluate chooses a dataset and computes the answer.
func (r *reader) evaluate() {
	var list []selection.Dataset
	rows := map[int]map[string]*eventspb.Spend{}
	byCampaign := map[string][]*eventspb.Spend{}
	for _, d := range r.datasets {
		h := d.health()
		if h == nil {
			continue
		}
		spends := d.spends()
		r.w.checkHealth(r, d, h, spends)
		rows[d.dc] = map[string]*eventspb.Spend{}
		for _, s := range spends {
			rows[d.dc][s.Campaign] = s
			byCampaign[s.Campaign] = append(byCampaign[s.Campaign], s)
		}
		age := time.Duration(r.w.now-(h.WrittenAtMs-epochMs-r.w.s.Skew[d.dc])) * time.Millisecond
		switch r.w.mutation {
		case "reader ignores ages":
			age = 0
		case "reader ignores lost records":
			for _, o := range h.Origins {
				o.Lost = 0
			}
		}
		list = append(list, selection.Dataset{Health: h, Age: age})
	}
	d := r.selector.Decide(time.UnixMilli(epochMs+r.w.now), list)
	a := answer{mode: d.Mode, dc: -1}
	for i, name := range names[:r.w.s.DCs] {
		if name == d.DC {
			a.dc = i
		}
	}
	v := view{d.Mode, rows[a.dc], rows[r.dc], byCampaign, r.w.mutation == "merge adds"}
	for p := range policies {
		a.spent[p] = v.spent(p)
	}
	r.answer = a
	r.w.checkAnswer(r, &d)
}

// view is what a reader has of the campaigns: the rows of the chosen dataset, of the own one, and
// of all, by campaign.
type view struct {
	mode         selection.Mode
	chosen, ours map[string]*eventspb.Spend
	all          map[string][]*eventspb.Spend
	adds         bool // for a mutation
}

// spent returns what a policy reads for its campaign.
func (v *view) spent(p policy) int64 {
	campaign := p.String()
	sum := charged(events.MergeSpend(v.all[campaign]...))
	if v.adds {
		sum = 0
		for _, s := range v.all[campaign] {
			sum += charged(s)
		}
	}
	one := charged(v.chosen[campaign])
	switch {
	case p == own:
		return charged(v.ours[campaign])
	case p == merged, v.mode != selection.Normal:
		return sum
	case p == guarded && float64(sum) <= float64(one)*(1+guard):
		return sum
	}
	return one
}

// charged returns the charges of a row.
func charged(s *eventspb.Spend) (sum int64) {
	for _, by := range s.GetByDc() {
		sum += by.ChargedMicros
	}
	return sum
}
