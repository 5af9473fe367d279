package balancer

import (
	"cmp"
	"slices"
)

// Move is a number of resources of one pool that are to go from a region to another.
type Move struct {
	From, To string
	Count    int64
	Kind     string // move, pull or evacuate
	Why      string // a sentence with the numbers
}

// Kinds of moves, as LeaseNote has them.
const (
	KindMove     = "move"
	KindPull     = "pull"
	KindEvacuate = "evacuate"
)

// Plan says which of a pool's free resources should be where. Only who falls short of what it wants by more than the dead
// band gets some, from those that have more than they want, the largest surplus first. If there is not enough for all, all
// get the same share of what they want. Regions that are evacuated give all they have. What is on its way counts as
// arrived, so that a plan made twice moves nothing twice. views are one pool's, in any order; the same moves come of any.
func Plan(views []View, lim Limits) []Move {
	lim.setDefaults()
	p := newPlan(views, &lim)
	p.evacuate()
	p.fill(KindMove, func(s *seat) bool { return s.short() > lim.band(s.target) })
	return p.moves
}

// Pull is the part of a plan that cannot wait for the next: only regions whose free resources are about to run out get
// some.
func Pull(views []View, lim Limits) []Move {
	lim.setDefaults()
	p := newPlan(views, &lim)
	p.fill(KindPull, func(s *seat) bool {
		low := ceil(s.view.speed() * s.view.low(&lim).Seconds())
		return s.short() > 0 && s.stock+s.view.Near < low
	})
	return p.moves
}

// seat is a region during a plan. What was decided is taken off or added at once.
type seat struct {
	view   View
	held   int64  // free, here, and not about to leave
	stock  int64  // held and what comes
	want   int64  // see View.want
	target int64  // want, or its share if there is not enough for all
	given  int64  // by this plan
	got    int64  // by this plan
	why    string // why nothing may be sent here
}

// short is how many are missing.
func (s *seat) short() int64 { return s.target - s.stock }

// spare is how many the region can give: never what it wants itself, never its floor.
func (s *seat) spare() int64 {
	switch s.view.State {
	case "", StateActive:
		return max(0, s.held-max(s.target, s.view.Floor))
	case StateEvacuating:
		return max(0, s.held)
	}
	return 0
}

type plan struct {
	seats []seat // by region
	lim   *Limits
	cap   int64 // what is left of it
	wants int64 // of all active regions
	total int64 // what they and those that leave have
	moves []Move
	tells []func(n int64) string // by moves
}

func newPlan(views []View, lim *Limits) *plan {
	p := &plan{lim: lim}
	for _, v := range views {
		s := seat{view: v, held: v.held(), stock: v.stock(), why: v.takes(lim)}
		if s.active() {
			s.want = v.want(lim)
			p.wants += s.want
			p.total += s.stock
		} else if v.State == StateEvacuating {
			p.total += s.stock
		}
		p.seats = append(p.seats, s)
	}
	slices.SortFunc(p.seats, func(a, b seat) int { return cmp.Compare(a.view.Region, b.view.Region) })
	free := int64(0)
	for i := range p.seats {
		s := &p.seats[i]
		free += s.held
		if s.target = s.want; p.wants > p.total {
			s.target = int64(float64(s.want) * float64(p.total) / float64(p.wants))
		}
	}
	p.cap = max(lim.Cap, ceil(lim.CapShare*float64(free)))
	return p
}

func (s *seat) active() bool { return s.view.State == "" || s.view.State == StateActive }

// fill moves resources to those regions that needs picks, the greatest shortfall first: from the region with the most to
// spare, until it is filled or nobody has any.
func (p *plan) fill(kind string, needs func(*seat) bool) {
	var takers []*seat
	for i := range p.seats {
		if s := &p.seats[i]; s.why == "" && needs(s) {
			takers = append(takers, s)
		}
	}
	slices.SortStableFunc(takers, func(a, b *seat) int { return cmp.Compare(b.short(), a.short()) })
	for _, to := range takers { // nobody gets more than it lacks before all have that
		p.supply(to, to.short(), kind)
	}
	for _, to := range takers {
		if to.got > 0 && to.short() <= 0 {
			p.supply(to, ceil((p.lim.Fill-1)*float64(to.got)), kind)
		}
	}
}

// supply moves n resources to a region, or as many as there are.
func (p *plan) supply(to *seat, n int64, kind string) {
	for n > 0 && p.cap > 0 {
		from := p.richest(to)
		if from == nil {
			return
		}
		k := min(n, p.cap, from.spare())
		p.move(from, to, k, kind)
		n -= k
		p.cap -= k
	}
}

// richest is the active region with the most to spare; of equal ones the first by name.
func (p *plan) richest(but *seat) *seat {
	var best *seat
	for i := range p.seats {
		s := &p.seats[i]
		if s != but && s.active() && s.spare() > 0 && (best == nil || s.spare() > best.spare()) {
			best = s
		}
	}
	return best
}

// move takes n from one and gives it to the other; between two regions there is one move of each kind.
func (p *plan) move(from, to *seat, n int64, kind string) {
	i := slices.IndexFunc(p.moves, func(m Move) bool {
		return m.From == from.view.Region && m.To == to.view.Region && m.Kind == kind
	})
	if i < 0 {
		i = len(p.moves)
		p.moves = append(p.moves, Move{From: from.view.Region, To: to.view.Region, Kind: kind})
		p.tells = append(p.tells, p.sentence(from, to, kind)) // of how things stand before it
	}
	m := &p.moves[i]
	m.Count += n
	m.Why = p.tells[i](m.Count)
	from.held, from.stock, from.given = from.held-n, from.stock-n, from.given+n
	to.stock, to.got = to.stock+n, to.got+n
}
