package spendsim

import "strings"

// push writes the dataset of one datacentre to another one, as package push promises: the newest
// value of each key once a second, health behind all rows, in one transaction with the position.
type push struct {
	w      *simulation
	from   *counter
	to     int
	at     int // index of the next commit of the dataset
	copies []commit
	held   *commit // a batch of a former process; for a mutation
}

// step writes what was committed in time.
func (p *push) step(before int64) {
	out := commit{at: p.w.now}
	newest, order := map[string]int{}, []change{}
	at := p.at
	for ; at < len(p.from.dataset) && p.from.dataset[at].at+p.w.latency(p.from.dc, p.to) <= before; at++ {
		c := &p.from.dataset[at]
		if c.cleared { // a comparison deletes what the dataset does not have
			out.cleared, newest, order = p.w.mutation != "push does not compare", map[string]int{}, nil
			continue
		}
		for _, x := range c.changes {
			if n, ok := newest[x.key]; ok {
				order[n].key = ""
			}
			newest[x.key] = len(order)
			order = append(order, x)
		}
	}
	if at == p.at {
		return
	}
	var health []change
	for _, x := range order {
		switch {
		case x.key == "":
		case strings.HasPrefix(x.key, healthTable):
			health = append(health, x)
		default:
			out.changes = append(out.changes, x)
		}
	}
	p.at = at
	switch p.w.mutation {
	case "push writes health first":
		first := commit{at: p.w.now, cleared: out.cleared, changes: health}
		out.cleared, out.at = false, p.w.now+1000
		p.copies = append(p.copies, first, out)
		return
	case "push is not fenced":
		if p.w.faults.on(StopPush, p.from.dc) || p.w.chance.IntN(40) == 0 { // the process freezes with its batch
			if p.held == nil {
				late := out
				late.changes = append(late.changes, health...)
				p.held = &late
			}
		} else if p.held != nil && p.w.chance.IntN(10) == 0 {
			late := *p.held
			late.at, late.cleared, p.held = p.w.now, false, nil
			defer func() { p.copies = append(p.copies, late) }()
		}
	case "push loses the rows of a restart":
		if p.w.chance.IntN(60) == 0 {
			return
		}
	}
	out.changes = append(out.changes, health...)
	p.copies = append(p.copies, out)
}
