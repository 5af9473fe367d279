package sim

import "github.com/weirhq/weir/internal/lease"

// Region leases and adoption, as packages agent and agent/admin have them: as long as home extends a region's limit, its agents and
// its executor may write leases through it. If the region is cut off, home waits until the limit is over by every clock; then
// another region makes the resources its own, on its own copy of them.

const (
	regionLease = 6000 // more than an agent's time-out, what clocks are off and copies take
	extendEvery = 500
)

// late is by how much an agent's request may be carried out after its time-out. Where a region lease counts on it, not at all.
func (w *world) late() int64 {
	if w.s.has(Adopt) {
		return 0
	}
	return 3000
}

// extendLimits has home extend the limits, if any region may be adopted.
func (w *world) extendLimits() {
	if !w.s.has(Adopt) {
		return
	}
	dice := w.dice("limits")
	home, off := w.regions[0], w.off(dice)
	extend := func() {
		for i := range w.regions {
			if !w.faults.closed[i] {
				home.put(w.limitRow(i), item{count: w.now + off + regionLease})
			}
		}
	}
	extend()
	w.each(dice, extendEvery, 0, extend)
}

// limit is what an agent or an executor knows of its region's limit.
type limit struct{ until, read int64 }

// allows says whether a write that is over at a time, by the own clock, is so before a region's limit by every clock: as the copy in
// another one, or its own, has it.
func (l *limit) allows(w *world, from, region int, over int64) bool {
	if !w.s.has(Adopt) {
		return true
	}
	if w.now >= l.read+extendEvery {
		r := w.regions[from]
		l.read, l.until = w.now, r.items[w.limitRow(region)].count
		if r.items[w.regionRow(region)].settings.state == "adopted" {
			l.until = 1
		}
	}
	return over+w.s.Skew <= l.until
}

// dead has another region adopt what a region had, once that may write no more.
func (f *faults) dead(x Fault) {
	w := f.w
	by, off := w.regions[0], w.off(f.dice)
	for i := range w.regions {
		if i != x.Region && f.dice.IntN(2) == 0 && !f.closed[i] {
			by = w.regions[i]
		}
	}
	if f.closed[x.Region] {
		return
	}
	f.closed[x.Region] = true
	until := w.regions[0].items[w.limitRow(x.Region)].count
	w.tell("admin", "%s is to be adopted by %s: it may write until %s", regionNames[x.Region], by.name, clock(until-epoch))
	wait := 3 * w.s.Skew // two of them for the times of writes, by which the last one wins
	if w.wrong == "adoption does not wait" {
		wait = -regionLease
	}
	w.after(until+wait+1-(w.now+off), func() {
		f.state(x.Region, "adopted")
		f.adopt(x.Region, by, until, off)
	})
}

// adopt goes through the resources, again and again for some time: some may have been on their way to the region.
func (f *faults) adopt(dead int, by *region, until, off int64) {
	w := f.w
	if w.time() > w.s.calm()+4000 {
		return
	}
	for i := range w.s.Resources {
		if len(by.waiting) > 0 || f.apart(by.id) {
			break // it has not seen all that was sent to it
		}
		row := by.items[i].Row
		if row.Owner != regionNames[dead] {
			continue
		}
		last := until + w.s.longest()
		if row.Key != "" {
			last = max(last, row.Expires)
		}
		wr := lease.Write{
			Rule: &w.rules.Adopt, Args: lease.Row{Version: row.Version, Owner: by.name, Available: last + w.s.quarantine()}, Now: w.now + off, Skew: w.s.Skew,
		}
		w.after(2*w.s.Skew+1, func() {
			w.ask(f.dice, call{from: by.id, to: by, timeout: agentTimeout, do: func() {
				row, _, ok := by.write(rowID(i), &wr, 0)
				if ok {
					w.h.mark("adopted")
				}
				w.tell("admin", "%s %s", w.describe(rowID(i), &wr), told(row, ok))
			}, done: func(bool) {}})
		})
	}
	w.after(2500, func() { f.adopt(dead, by, until, off) })
}
