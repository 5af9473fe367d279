package plan

import (
	"fmt"
	"strings"
	"time"
)

// sentence returns the explanation of a move, as a function of the number of resources. It
// describes the state before the move.
func (p *plan) sentence(from, to *regionPlan, kind string) func(n int64) string {
	h, left := horizon(&to.view), from.held+from.given
	gives := fmt.Sprintf("%s has a surplus of %d", from.view.Region, from.surplus()+from.given)
	share := ""
	if p.wanted > p.total {
		share = fmt.Sprintf(" (the regions need %d and have %d in total, so each gets its share)", p.wanted, p.total)
	}
	has := fmt.Sprintf("%d free%s", to.held, p.describeInbound(to))
	if to.got > 0 { // an earlier move of this plan
		has = fmt.Sprintf("%d free with %d in transit", to.held, to.view.InTransit+to.got)
	}
	return func(n int64) string {
		switch kind {
		case KindEvacuate:
			return fmt.Sprintf("%s is being evacuated and has %d free; %s expects %d new leases in %s and has %s: %d are transferred",
				from.view.Region, left, to.view.Region, to.view.Need, h, has, n)
		case KindPull:
			return fmt.Sprintf("%s grants %.3g leases per second and has %s, which lasts less than %s; %s%s: %d are transferred now",
				to.view.Region, to.view.demandRate(), has, short(to.view.low(p.lim)), gives, share, n)
		default:
			return fmt.Sprintf("%s expects %d new leases in %s and has %s; %s%s: %d are transferred",
				to.view.Region, to.view.Need, h, has, gives, share, n)
		}
	}
}

// describeInbound describes the resources that a region will get without this plan.
func (p *plan) describeInbound(s *regionPlan) string {
	var parts []string
	if s.view.Returning > 0 {
		parts = append(parts, fmt.Sprintf("%d returning", s.view.Returning))
	}
	if s.view.InTransit > 0 {
		parts = append(parts, fmt.Sprintf("%d in transit", s.view.InTransit))
	}
	if len(parts) == 0 {
		return ""
	}
	return " with " + strings.Join(parts, " and ")
}

// Explain describes each region of a pool, in the order of their names. For a region with a
// shortfall that a plan does not fill, it gives the reason.
func Explain(views []View, lim Limits) []string {
	lim.setDefaults()
	p := newPlan(views, &lim)
	moved := map[string]int64{}
	for _, m := range Moves(views, lim) {
		moved[m.To] += m.Count
	}
	var out []string
	for i := range p.regions {
		out = append(out, p.describe(&p.regions[i], moved[p.regions[i].view.Region]))
	}
	return out
}

// describe describes one region in a sentence.
func (p *plan) describe(s *regionPlan, gets int64) string {
	v := &s.view
	head := fmt.Sprintf("%s expects %d new leases in %s and has %d free%s", v.Region, v.Need, horizon(v), s.held, p.describeInbound(s))
	switch {
	case v.State == StateEvacuating && s.held == 0:
		return v.Region + " is being evacuated and has no free resources left"
	case v.State == StateEvacuating && p.nothingMoves():
		return fmt.Sprintf("%s is being evacuated: its %d free resources stay, because no other region may receive any", v.Region,
			s.held)
	case v.State == StateEvacuating:
		return fmt.Sprintf("%s is being evacuated: its %d free resources leave", v.Region, s.held)
	case !s.active():
		return fmt.Sprintf("%s has %d free: the balancer neither takes from this region nor sends to it, because %s",
			v.Region, s.held, v.why())
	case gets > 0:
		return fmt.Sprintf("%s: the region gets %d", head, gets)
	case s.shortfall() <= 0 && s.want > s.target:
		return fmt.Sprintf("%s: %d short; all regions are short, and each has its share", head, s.want-s.stock)
	case s.shortfall() <= 0:
		return fmt.Sprintf("%s: enough, with a surplus of %d", head, s.surplus())
	case s.why != "":
		return fmt.Sprintf("%s: %d short, and nothing is sent because %s", head, s.shortfall(), s.why)
	case s.shortfall() <= p.lim.band(s.target):
		return fmt.Sprintf("%s: %d short, which is within the dead band of %d", head, s.shortfall(), p.lim.band(s.target))
	default:
		return fmt.Sprintf("%s: %d short, and no region has a surplus", head, s.shortfall())
	}
}

// nothingMoves reports whether no region may receive resources.
func (p *plan) nothingMoves() bool {
	for i := range p.regions {
		if p.regions[i].why == "" {
			return false
		}
	}
	return true
}

func horizon(v *View) string { return short(v.horizon()) }

// short formats a duration.
func short(d time.Duration) string {
	switch {
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	default:
		return d.String()
	}
}
