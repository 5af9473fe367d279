package sim

import (
	"github.com/weirhq/weir/lease"
)

// powerOff stops the machines of a region and its table's endpoint.
func (f *faults) powerOff(region int) {
	w := f.w
	f.off[region] = true
	w.transcribe("FAULT", "%s, the home region, has no power", regionNames[region])
	for _, a := range w.agents {
		if a.region == region {
			a.crash()
		}
	}
	w.executors[region].crash()
}

// powerBack restarts a region with its old copies, and with administrators who still take it for
// the home region.
func (f *faults) powerBack(region int) {
	w := f.w
	f.off[region] = false
	if w.home == region {
		return
	}
	w.h.mark("lost home returned")
	f.staleAdmin(region, 0)
}

// staleAdmin writes settings through a former home region, unless its copies show that it is not
// the home region any longer.
func (f *faults) staleAdmin(home, tries int) {
	w, r := f.w, f.w.regions[home]
	if tries == 10 {
		return
	}
	own := r.items[w.writeLeaseRow(home, home)].count
	knows := r.items[w.homeRow()].count != int64(home) || own < w.now+w.s.Skew && !r.confirmHome()
	if w.mutation == "lost home is not fenced" {
		knows = false
	}
	if knows {
		w.transcribe("admin", "receives a refusal of %s: it is not the home region", r.name)
		return
	}
	f.settingAt(home, w.poolRow(), func(*settings) {})
	w.after(200, func() { f.staleAdmin(home, tries+1) })
}

// moveHome makes another region the home region in place of the lost one. The new home takes the
// latest copy of each row of settings in a live region, raises its version by a large step, and
// closes the lost region's own write lease.
func (f *faults) moveHome(to *region) {
	w, from := f.w, f.w.home
	w.h.mark("home moved")
	w.transcribe("admin", "%s is the home region from now on", to.name)
	for _, id := range w.settingRows() {
		latest := to.items[id].settings
		for i, r := range w.regions {
			if s := r.items[id].settings; i != from && s.version > latest.version {
				latest = s
			}
		}
		latest.version += 1 + lease.AdoptedVersionJump
		to.put(id, item{settings: latest})
		w.h.settings(id, latest.version)
	}
	to.put(w.homeRow(), item{count: int64(to.id)})
	to.put(w.writeLeaseRow(from, from), item{settings: settings{state: "closed"}})
	it := to.items[w.writeLeaseRow(to.id, to.id)]
	it.count = max(it.count, w.now+writeLeaseMs-w.s.Skew)
	to.put(w.writeLeaseRow(to.id, to.id), it)
	w.home = to.id
}

// settingRows returns the rows of settings.
func (w *simulation) settingRows() []rowID {
	rows := []rowID{w.poolRow()}
	for i := range w.regions {
		rows = append(rows, w.regionRow(i))
	}
	return rows
}

// settingsConverged reports whether all regions have the settings of the home region.
func (w *simulation) settingsConverged() bool {
	for _, id := range w.settingRows() {
		for _, r := range w.regions {
			if r.items[id].settings.version != w.regions[w.home].items[id].settings.version {
				return false
			}
		}
	}
	return true
}
