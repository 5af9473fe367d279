package sim

import (
	"maps"
	"slices"
)

// rowConsistent is LEASE-4: a resource's row is available or leased, never both, and never neither,
// because the model retires no resource.
func rowConsistent(h *History) (Violation, bool) {
	for i := range h.Writes {
		if w := &h.Writes[i]; w.After.State == "" && (w.After.Holder == "") == (w.After.Available == 0) {
			return violated("LEASE-4", w.At, []string{w.Name}, "after %s the row of %s is: %s", w.Rule, w.Name, rowText(w.After))
		}
	}
	return holds()
}

// noLostWrite is LEASE-6: each write is based on the row's last write and has a later time.
// Otherwise one of the two writes is lost. At the end each region has the last write.
func noLostWrite(h *History) (Violation, bool) {
	for i := range h.Writes {
		switch w := &h.Writes[i]; {
		case w.Newest != w.Before.Version && w.Rule != "adopt": // adoption jumps over versions that were not replicated
			return violated("LEASE-6", w.At, []string{w.Name}, "%s of %s in %s is based on version %d, and the last written version is %d",
				w.Rule, w.Name, regionNames[w.Region], w.Before.Version, w.Newest)
		case w.Newest != w.Before.Version && w.Owner != "" && w.Owner != w.Before.Owner:
			return violated("LEASE-6", w.At, []string{w.Name}, "%s of %s in %s takes the resource from %s, its owner since version %d",
				w.Rule, w.Name, regionNames[w.Region], w.Owner, w.Newest)
		case w.Ahead >= 0 && w.Ahead != 0:
			return violated("LEASE-6", w.At, []string{w.Name},
				"%s of %s in %s has a time %d ms before that of the last write in another region", w.Rule, w.Name, regionNames[w.Region],
				w.Ahead)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.newest)) {
		last := h.newest[id]
		for r := range h.Rows {
			if last.truly > epoch+h.Scenario.end()-3000 {
				break // replication may be in progress
			}
			if row := h.Rows[r][id].Row; row != last.row {
				return violated("LEASE-6", epoch+h.Scenario.end(), []string{resourceName(int(id))},
					"at the end %s has row %d as: %s; the last write was: %s", regionNames[r], id, rowText(row), rowText(last.row))
			}
		}
	}
	return holds()
}

// notOffered is LEASE-8: no resource is available before the end of its last lease and the
// quarantine, and no other key takes it before that by any clock. Some time after a change of the
// quarantine the new value counts.
func notOffered(h *History) (Violation, bool) {
	type lastLease struct {
		key string
		end int64
	}
	last := map[rowID]lastLease{}
	s := h.Scenario
	for i := range h.Writes {
		w := &h.Writes[i]
		if w.After.State != "" {
			continue
		}
		q := s.Quarantine
		if w.At > epoch+s.quietFrom()+8000 {
			q = s.quarantine()
		}
		l := last[w.Row]
		switch {
		case w.After.Holder != "" && w.After.Holder != l.key:
			if l.end > 0 && w.At+s.Skew < l.end+s.Quarantine {
				return violated("LEASE-8", w.At, []string{w.Name},
					"%s is leased to %s, after a lease of %s until %s with a quarantine of %d ms", w.Name, w.After.Holder, l.key,
					clock(l.end-epoch), s.Quarantine)
			}
			last[w.Row] = lastLease{w.After.Holder, w.After.Expires}
		case w.After.Holder != "":
			last[w.Row] = lastLease{l.key, max(l.end, w.After.Expires)}
		case (w.Before.Holder != "" || w.Rule == "adopt") && w.After.Available < l.end+q:
			return violated("LEASE-8", w.At, []string{w.Name},
				"%s makes %s available from %s on, after a lease until %s with a quarantine of %d ms", w.Rule, w.Name,
				clock(w.After.Available-epoch), clock(l.end-epoch), q)
		}
	}
	return holds()
}

// oneHome is LEASE-55: settings have one writer, so that at the end all regions have the greatest
// version of each row that was written.
func oneHome(h *History) (Violation, bool) {
	for _, id := range slices.Sorted(maps.Keys(h.set)) {
		for r := range h.Rows {
			if s := h.Rows[r][id].settings; s.version != h.set[id] {
				return violated("LEASE-55", epoch+h.Scenario.end(), nil,
					"at the end %s has row %d of settings at version %d, and version %d was written", regionNames[r], id, s.version,
					h.set[id])
			}
		}
	}
	return holds()
}
