package plan

// evacuate plans the moves out of evacuated regions: each other region gets its shortfall, and the
// rest is divided in the ratio of what they want.
func (p *plan) evacuate() {
	for i := range p.regions {
		from := &p.regions[i]
		if from.view.State != StateEvacuating {
			continue
		}
		n := min(p.lim.MaxEvacuated, from.surplus())
		for n > 0 {
			to := p.largestShortfall()
			if to == nil {
				break
			}
			k := min(n, to.shortfall())
			p.move(from, to, k, KindEvacuate)
			n -= k
		}
		p.spread(from, n)
	}
}

// largestShortfall returns the region with the largest shortfall of those that may receive
// resources; nil without one.
func (p *plan) largestShortfall() *regionPlan {
	var best *regionPlan
	for i := range p.regions {
		s := &p.regions[i]
		if s.why == "" && s.shortfall() > 0 && (best == nil || s.shortfall() > best.shortfall()) {
			best = s
		}
	}
	return best
}

// spread divides n resources of a region among all others in the ratio of what they want. The last
// gets the rest of the rounding.
func (p *plan) spread(from *regionPlan, n int64) {
	var weights float64
	last := -1
	for i := range p.regions {
		if p.regions[i].why == "" {
			weights += float64(p.regions[i].want + 1)
			last = i
		}
	}
	left, passed := n, 0.0
	for i := range p.regions {
		to := &p.regions[i]
		if to.why != "" || left <= 0 {
			continue
		}
		passed += float64(to.want + 1)
		k := min(left, int64(float64(n)*passed/weights)-(n-left)) // cumulative, so that the shares add up
		if i == last {
			k = left
		}
		if k > 0 {
			p.move(from, to, k, KindEvacuate)
			left -= k
		}
	}
}
