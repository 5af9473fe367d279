package sim

import (
	"github.com/weirhq/weir/lease"
)

// Region leases and adoption, as packages agent and agent/admin have them: as long as any region extends another's limit, its agents and
// its executor may write leases through it; the home extends its own, too. If a region is cut off an administrator has all others extend
// it no more, and waits until the last of their words is over by every clock; then another region makes the resources its own, on its
// own copy of them.

const (
	writeLeaseMs  = 6000 // more than an agent's time-out, what clocks are off and copies take
	renewInterval = 500
)

// maxDelay is by how much an agent's request may be carried out after its time-out. Where a region lease counts on it, not at all.
func (w *simulation) maxDelay() int64 {
	if w.s.has(Adopt) {
		return 0
	}
	return 3000
}

// renewWriteLeases has each region extend the limits of the others, if any region may be adopted.
func (w *simulation) renewWriteLeases() {
	if !w.s.has(Adopt) {
		return
	}
	for by, r := range w.regions {
		dice := w.newRand("limits" + r.name)
		off := w.off(dice)
		extend := func() { r.renewWriteLeases(off) }
		if by == w.home {
			extend()
		}
		w.each(dice, renewInterval, 0, extend)
	}
}

// renewWriteLeases is one round of a region that vouches, by a clock that is off.
func (r *region) renewWriteLeases(off int64) {
	w := r.w
	if w.faults.off[r.id] || r.items[w.regionRow(r.id)].settings.state == "adopted" {
		return
	}
	for i := range w.regions {
		id := w.writeLeaseRow(i, r.id)
		it := r.items[id]
		if it.settings.state == "closed" || r.items[w.regionRow(i)].settings.state == "adopted" || i == r.id && !r.mayRenewOwn(w.now+off) {
			continue
		}
		it.count = w.now + off + writeLeaseMs
		r.put(id, it)
	}
}

// mayRenewOwn says whether a region may vouch for itself: the home, while its limit is not over or if there is no other.
func (r *region) mayRenewOwn(now int64) bool {
	w := r.w
	if w.wrong == "every region vouches for itself" {
		return true
	}
	if r.items[w.homeRow()].count != int64(r.id) {
		return false
	}
	return r.items[w.writeLeaseRow(r.id, r.id)].count >= now+agentTimeout+w.s.Skew || r.confirmHome() || w.wrong == "home that is back vouches for itself"
}

// confirmHome asks the others that were not adopted, after a silence as long as the region lease: one has to answer, if there is any.
func (r *region) confirmHome() bool {
	w, live, answers := r.w, 0, 0
	for i, other := range w.regions {
		if i == r.id || r.items[w.regionRow(i)].settings.state == "adopted" {
			continue
		}
		if live++; w.cut(r.id, i) {
			continue
		}
		if answers++; other.items[w.homeRow()].count != int64(r.id) {
			return false
		}
	}
	return live == 0 || answers > 0
}

// writeLeaseEnd is the limit of a region as this one has it: the last word of all.
func (r *region) writeLeaseEnd(region int) (until int64) {
	for by := range r.w.regions {
		until = max(until, r.items[r.w.writeLeaseRow(region, by)].count)
	}
	return until
}

// writeLease is what an agent or an executor knows of its region's limit.
type writeLease struct{ until, read int64 }

// allows says whether a write that is over at a time, by the own clock, is so before a region's limit by every clock: as the copy in
// another one, or its own, has it.
func (l *writeLease) allows(w *simulation, from, region int, over int64) bool {
	if !w.s.has(Adopt) {
		return true
	}
	if w.now >= l.read+renewInterval {
		r := w.regions[from]
		l.read, l.until = w.now, r.writeLeaseEnd(region)
		if r.items[w.regionRow(region)].settings.state == "adopted" {
			l.until = 1
		}
	}
	return over+w.s.Skew <= l.until
}

// adoption is one under way.
type adoption struct {
	region int
	by     *region
	off    int64 // of the administrator's clock
	since  int64 // when the region lost its power, by that clock; 0: it did not
}

// adoptLost has another region adopt what a region had, once that may write no more.
func (f *faults) adoptLost(x Fault) {
	w := f.w
	a := adoption{region: x.Region, off: w.off(f.rng)}
	for i, r := range w.regions {
		if i != x.Region && !f.closed[i] && (a.by == nil || f.rng.IntN(2) == 0) {
			a.by = r
		}
	}
	if f.closed[x.Region] || a.by == nil || f.adopts[x.Region] {
		return
	}
	if x.Region == w.home && !w.settingsConverged() { // settings that nobody else has are lost with it, and nothing is to be said of that
		return
	}
	f.closed[x.Region], f.adopts[a.by.id] = true, true
	if x.Region == w.home {
		f.powerOff(x.Region)
		a.since = w.now + a.off
	}
	f.start(a)
}

// start does what an adoption begins with, as soon as all that have to answer do.
func (f *faults) start(a adoption) {
	w := f.w
	if a.since > 0 && !f.off[a.region] { // it is back
		f.closed[a.region] = false
		return
	}
	for i := range w.regions {
		// All hear who the home is before it is that: what the lost one asks when it is back has to tell it.
		if i == a.region || !f.cut(i) && !(a.region == w.home && f.copiesCut(i)) {
			continue
		}
		if !f.on(Adopt, a.region) || w.time()+writeLeaseMs > w.s.Heal { // it is back, or it is too late for what follows
			f.closed[a.region] = false
			return
		}
		w.after(500, func() { f.start(a) })
		return
	}
	if a.region == w.home {
		if left := a.since + writeLeaseMs + 3*w.s.Skew + 1 - (w.now + a.off); left > 0 {
			w.after(left, func() { f.start(a) })
			return
		}
		if w.time()+writeLeaseMs > w.s.Heal {
			f.closed[a.region] = false
			return
		}
		f.moveHome(a.by)
	}
	until := a.since // what others have said holds to its end: that may reach the region first, should it be back soon
	for by, r := range w.regions {
		if by == a.region {
			continue
		}
		id := w.writeLeaseRow(a.region, by)
		it := r.items[id]
		if w.wrong != "what others have said of a lost home is forgotten" {
			until = max(until, it.count)
		}
		if w.wrong != "adoption closes one voucher's row" || by == a.by.id {
			it.settings.state = "closed"
			r.put(id, it)
		}
	}
	w.transcribe("admin", "%s is to be adopted by %s: it may write until %s", regionNames[a.region], a.by.name, clock(until-epoch))
	wait := 3 * w.s.Skew // two of them for the times of writes, by which the last one wins
	if w.wrong == "adoption does not wait" {
		wait = -writeLeaseMs
	}
	w.after(until+wait+1-(w.now+a.off), func() {
		f.state(a.region, "adopted")
		f.adopt(a.region, a.by, until, a.off)
	})
}

// adopt goes through the resources, again and again for some time: some may have been on their way to the region.
func (f *faults) adopt(dead int, by *region, until, off int64) {
	w := f.w
	if w.time() > w.s.quietFrom()+4000 {
		return
	}
	for i := range w.s.Resources {
		if len(by.waiting) > 0 || f.copiesCut(by.id) {
			break // it has not seen all that was sent to it
		}
		row := by.items[i].Row
		if row.Owner != regionNames[dead] {
			continue
		}
		last := until + w.s.longest()
		if row.Holder != "" {
			last = max(last, row.Expires)
		}
		wr := lease.Write{
			Rule: &w.rules.Adopt, Args: lease.Row{Version: row.Version, Owner: by.name, Available: last + w.s.quarantine()}, Now: w.now + off, Skew: w.s.Skew,
		}
		w.after(2*w.s.Skew+1, func() {
			var own writeLease
			if !own.allows(w, by.id, by.id, w.now+off+agentTimeout) || f.ownedByThirdRegion(i, dead, by, row.Version) {
				return
			}
			w.ask(f.rng, call{from: by.id, to: by, timeout: agentTimeout, do: func() {
				row, _, ok := by.write(rowID(i), &wr, 0)
				if ok {
					w.h.mark("adopted")
				}
				w.transcribe("admin", "%s %s", w.describe(rowID(i), &wr), writeOutcome(row, ok))
			}, done: func(bool) {}})
		})
	}
	w.after(2500, func() { f.adopt(dead, by, until, off) })
}

// ownedByThirdRegion says whether the lost region gave a resource to a third one, as that has it, and the adopting one has not heard of it; or
// whether one that may have it does not answer, so that it is asked again later.
func (f *faults) ownedByThirdRegion(resource, dead int, by *region, version int64) bool {
	w := f.w
	for i, other := range w.regions {
		if i == dead || i == by.id || by.items[w.regionRow(i)].settings.state == "adopted" {
			continue
		}
		if row := &other.items[resource].Row; w.cut(by.id, i) || row.Version > version && row.Owner != regionNames[dead] {
			return w.wrong != "adoption asks nobody"
		}
	}
	return false
}
