package sim

import (
	"github.com/weirhq/weir/lease"
)

// Write leases and adoption, as in packages agent and lease/admin. The agents and the executor of a
// region may write while another region renews the region's write lease; the home region renews its
// own, too. To adopt a lost region, an administrator makes all grantors stop, and waits until the
// last write lease has ended by every clock. Then another region makes the resources its own, in
// its own copies.

const (
	writeLeaseMs  = 6000 // greater than an agent's timeout, the clock skew and the replication lag together
	renewInterval = 500
)

// maxDelay is the greatest delay of an agent's request after its timeout. Adoption depends on write
// leases, which assume no such delay.
func (w *simulation) maxDelay() int64 {
	if w.s.has(Adopt) {
		return 0
	}
	return 3000
}

// renewWriteLeases makes each region renew the write leases of the others, if the scenario has an
// adoption.
func (w *simulation) renewWriteLeases() {
	if !w.s.has(Adopt) {
		return
	}
	for by, r := range w.regions {
		rng := w.newRand("limits" + r.name)
		off := w.off(rng)
		renew := func() { r.renewWriteLeases(off) }
		if by == w.home {
			renew()
		}
		w.each(rng, renewInterval, 0, renew)
	}
}

// renewWriteLeases is one round of renewals by a grantor whose clock has the error off.
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

// mayRenewOwn reports whether a region may renew its own write lease: only the home region, while
// that lease is valid or if the other regions confirm the home.
func (r *region) mayRenewOwn(now int64) bool {
	w := r.w
	if w.mutation == "every region renews its own write lease" {
		return true
	}
	if r.items[w.homeRow()].count != int64(r.id) {
		return false
	}
	return r.items[w.writeLeaseRow(r.id, r.id)].count >= now+agentTimeout+w.s.Skew || r.confirmHome() ||
		w.mutation == "returned home renews its own write lease"
}

// confirmHome asks the other regions that were not adopted which region is the home. At least one
// of them has to answer, if there is one.
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

// writeLeaseEnd returns the end of a region's write lease in this region's copy: the greatest of
// all grantors.
func (r *region) writeLeaseEnd(region int) (until int64) {
	for by := range r.w.regions {
		until = max(until, r.items[r.w.writeLeaseRow(region, by)].count)
	}
	return until
}

// writeLease is the cached write lease of a region, in an agent or an executor.
type writeLease struct{ until, read int64 }

// allows reports whether a write that ends at the time over of the own clock ends before the
// region's write lease by every clock, according to the copy in region from.
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

// adoption is an adoption in progress.
type adoption struct {
	region int
	by     *region
	off    int64 // error of the administrator's clock
	since  int64 // time of the power loss by that clock; 0 without a power loss
}

// adoptLost starts the adoption of a lost region by another region.
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
	if x.Region == w.home && !w.settingsConverged() { // settings that no other region has would be lost, which no checker expects
		return
	}
	f.closed[x.Region], f.adopts[a.by.id] = true, true
	if x.Region == w.home {
		f.powerOff(x.Region)
		a.since = w.now + a.off
	}
	f.start(a)
}

// start closes the write leases of the lost region as soon as all grantors that have to answer do.
func (f *faults) start(a adoption) {
	w := f.w
	if a.since > 0 && !f.off[a.region] { // the region has returned
		f.closed[a.region] = false
		return
	}
	for i := range w.regions {
		// Every region learns of the new home first: the answers to the returned home must show it.
		if i == a.region || !f.cut(i) && !(a.region == w.home && f.copiesCut(i)) {
			continue
		}
		if !f.on(Adopt, a.region) || w.time()+writeLeaseMs > w.s.Heal { // the region has returned, or too little time is left
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
	until := a.since // granted write leases stay valid to their end: the region may receive them if it returns soon
	for by, r := range w.regions {
		if by == a.region {
			continue
		}
		id := w.writeLeaseRow(a.region, by)
		it := r.items[id]
		if w.mutation != "adoption forgets a lost home's write leases" {
			until = max(until, it.count)
		}
		if w.mutation != "adoption closes one grantor's row only" || by == a.by.id {
			it.settings.state = "closed"
			r.put(id, it)
		}
	}
	w.transcribe("admin", "%s will be adopted by %s: it may write until %s", regionNames[a.region], a.by.name, clock(until-epoch))
	wait := 3 * w.s.Skew // two of the three for the times of writes, because the last writer wins
	if w.mutation == "adoption does not wait" {
		wait = -writeLeaseMs
	}
	w.after(until+wait+1-(w.now+a.off), func() {
		f.state(a.region, "adopted")
		f.adopt(a.region, a.by, until, a.off)
	})
}

// adopt writes all resources of the lost region, several times: some may have been in transit to
// it.
func (f *faults) adopt(dead int, by *region, until, off int64) {
	w := f.w
	if w.time() > w.s.quietFrom()+4000 {
		return
	}
	for i := range w.s.Resources {
		if len(by.waiting) > 0 || f.copiesCut(by.id) {
			break // its copies are not up to date
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
			Rule: &w.rules.Adopt, Args: lease.Row{Version: row.Version, Owner: by.name, Available: last + w.s.quarantine()},
			Now: w.now + off, Skew: w.s.Skew,
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

// ownedByThirdRegion reports whether a third region owns the resource by a write that the adopting
// region has not received, or does not answer. The adoption of the resource is repeated later.
func (f *faults) ownedByThirdRegion(resource, dead int, by *region, version int64) bool {
	w := f.w
	for i, other := range w.regions {
		if i == dead || i == by.id || by.items[w.regionRow(i)].settings.state == "adopted" {
			continue
		}
		if row := &other.items[resource].Row; w.cut(by.id, i) || row.Version > version && row.Owner != regionNames[dead] {
			return w.mutation != "adoption does not ask other regions"
		}
	}
	return false
}
