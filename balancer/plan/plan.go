package plan

import (
	"cmp"
	"slices"
)

// Move is a number of resources of one pool to transfer from one region to another.
type Move struct {
	From, To string
	Count    int64
	Kind     string // move, pull or evacuate
	Why      string // a sentence with the numbers
}

// Kinds of moves, as in LeaseJournalEntry.kind.
const (
	KindMove     = "move"
	KindPull     = "pull"
	KindEvacuate = "evacuate"
)

// Moves returns the moves of a pool's free resources. A region gets resources if it has less than
// it wants by more than the dead band, from the regions that have more than they want, the largest
// surplus first. If there is not enough for all, all get the same share of what they want.
// Evacuated regions give all they have. Resources in transit count as arrived, so a plan made twice
// moves nothing twice. views are those of one pool, in any order; the moves do not depend on the
// order.
func Moves(views []View, lim Limits) []Move {
	lim.setDefaults()
	p := newPlan(views, &lim)
	p.evacuate()
	p.fill(KindMove, func(s *regionPlan) bool { return s.shortfall() > lim.band(s.target) })
	return p.moves
}

// Pulls returns the moves that cannot wait for the next plan: only regions whose free resources are
// about to run out get resources.
func Pulls(views []View, lim Limits) []Move {
	lim.setDefaults()
	p := newPlan(views, &lim)
	p.fill(KindPull, func(s *regionPlan) bool {
		low := Count(s.view.demandRate() * s.view.low(&lim).Seconds())
		return s.shortfall() > 0 && s.stock+s.view.ReturningSoon < low
	})
	return p.moves
}

// regionPlan is a region in a plan. Each move is applied to it at once.
type regionPlan struct {
	view   View
	held   int64  // free, without an outbound transfer
	stock  int64  // held and in transit to it
	want   int64  // see View.want
	target int64  // want, or its share if there is not enough for all
	given  int64  // outbound by this plan
	got    int64  // inbound by this plan
	why    string // why nothing may be sent to it; empty if it may
}

// shortfall returns how many resources are missing.
func (s *regionPlan) shortfall() int64 { return s.target - s.stock }

// surplus returns how many resources the region can give: never what it wants itself, never its
// floor.
func (s *regionPlan) surplus() int64 {
	switch s.view.State {
	case "", StateActive:
		return max(0, s.held-max(s.target, s.view.Floor))
	case StateEvacuating:
		return max(0, s.held)
	}
	return 0
}

type plan struct {
	regions []regionPlan // by region
	lim     *Limits
	cap     int64 // rest of the bound on what moves
	wanted  int64 // sum of want of the active regions
	total   int64 // sum of stock of the active and the evacuated regions
	moves   []Move
	reasons []func(n int64) string // by moves
}

func newPlan(views []View, lim *Limits) *plan {
	p := &plan{lim: lim}
	for _, v := range views {
		s := regionPlan{view: v, held: v.held(), stock: v.stock(), why: v.mayReceive(lim)}
		if s.active() {
			s.want = v.want(lim)
			p.wanted += s.want
			p.total += s.stock
		} else if v.State == StateEvacuating {
			p.total += s.stock
		}
		p.regions = append(p.regions, s)
	}
	slices.SortFunc(p.regions, func(a, b regionPlan) int { return cmp.Compare(a.view.Region, b.view.Region) })
	free := int64(0)
	for i := range p.regions {
		s := &p.regions[i]
		free += s.held
		if s.target = s.want; p.wanted > p.total {
			s.target = int64(float64(s.want) * float64(p.total) / float64(p.wanted))
		}
	}
	p.cap = max(lim.MaxMoved, Count(lim.MaxMovedShare*float64(free)))
	return p
}

func (s *regionPlan) active() bool { return s.view.State == "" || s.view.State == StateActive }

// fill moves resources to the regions that needs selects, the largest shortfall first, from the
// region with the largest surplus, until the region is filled or no surplus is left.
func (p *plan) fill(kind string, needs func(*regionPlan) bool) {
	var takers []*regionPlan
	for i := range p.regions {
		if s := &p.regions[i]; s.why == "" && needs(s) {
			takers = append(takers, s)
		}
	}
	slices.SortStableFunc(takers, func(a, b *regionPlan) int { return cmp.Compare(b.shortfall(), a.shortfall()) })
	for _, to := range takers { // first the shortfall of each, then more
		p.supply(to, to.shortfall(), kind)
	}
	for _, to := range takers {
		if to.got > 0 && to.shortfall() <= 0 {
			p.supply(to, Count((p.lim.Fill-1)*float64(to.got)), kind)
		}
	}
}

// supply moves up to n resources to a region.
func (p *plan) supply(to *regionPlan, n int64, kind string) {
	for n > 0 && p.cap > 0 {
		from := p.largestSurplus(to)
		if from == nil {
			return
		}
		k := min(n, p.cap, from.surplus())
		p.move(from, to, k, kind)
		n -= k
		p.cap -= k
	}
}

// largestSurplus returns the active region with the largest surplus; of equal ones the first by
// name; nil without one.
func (p *plan) largestSurplus(but *regionPlan) *regionPlan {
	var best *regionPlan
	for i := range p.regions {
		s := &p.regions[i]
		if s != but && s.active() && s.surplus() > 0 && (best == nil || s.surplus() > best.surplus()) {
			best = s
		}
	}
	return best
}

// move moves n resources between two regions. There is one Move for each pair and kind.
func (p *plan) move(from, to *regionPlan, n int64, kind string) {
	i := slices.IndexFunc(p.moves, func(m Move) bool {
		return m.From == from.view.Region && m.To == to.view.Region && m.Kind == kind
	})
	if i < 0 {
		i = len(p.moves)
		p.moves = append(p.moves, Move{From: from.view.Region, To: to.view.Region, Kind: kind})
		p.reasons = append(p.reasons, p.sentence(from, to, kind)) // describes the state before the move
	}
	m := &p.moves[i]
	m.Count += n
	m.Why = p.reasons[i](m.Count)
	from.held, from.stock, from.given = from.held-n, from.stock-n, from.given+n
	to.stock, to.got = to.stock+n, to.got+n
}
