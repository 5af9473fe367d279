package balancer

// evacuate empties regions that are to be empty: to each of the others what it lacks, the rest in the ratio of what they want.
func (p *plan) evacuate() {
	for i := range p.seats {
		from := &p.seats[i]
		if from.view.State != StateEvacuating {
			continue
		}
		n := min(p.lim.Evacuate, from.spare())
		for n > 0 {
			to := p.neediest()
			if to == nil {
				break
			}
			k := min(n, to.short())
			p.move(from, to, k, KindEvacuate)
			n -= k
		}
		p.spread(from, n)
	}
}

// neediest is the region that lacks most, of those that resources may be sent to.
func (p *plan) neediest() *seat {
	var best *seat
	for i := range p.seats {
		s := &p.seats[i]
		if s.why == "" && s.short() > 0 && (best == nil || s.short() > best.short()) {
			best = s
		}
	}
	return best
}

// spread gives n resources of a region to all others by what they want, and what is left over by rounding to the first.
func (p *plan) spread(from *seat, n int64) {
	var weights float64
	last := -1
	for i := range p.seats {
		if p.seats[i].why == "" {
			weights += float64(p.seats[i].want + 1)
			last = i
		}
	}
	left, passed := n, 0.0
	for i := range p.seats {
		to := &p.seats[i]
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
