package sim

import (
	"maps"
	"slices"
)

// rowConsistent is I9: a resource's row is available or leased, never both, and never neither, as none is retired here.
func rowConsistent(h *History) (Violation, bool) {
	for i := range h.Writes {
		if w := &h.Writes[i]; w.After.State == "" && (w.After.Holder == "") == (w.After.Available == 0) {
			return broken("I9", w.At, []string{w.Name}, "%s makes of %s: %s", w.Rule, w.Name, rowText(w.After))
		}
	}
	return fine()
}

// noLostWrite is I18: who writes a row has seen its last write, and writes with a later time. Else one of the two is lost. In the
// end each region has the last write.
func noLostWrite(h *History) (Violation, bool) {
	for i := range h.Writes {
		switch w := &h.Writes[i]; {
		case w.Newest != w.Before.Version && w.Rule != "adopt": // which leaps over what nobody has seen
			return broken("I18", w.At, []string{w.Name}, "%s of %s in %s is made on version %d, and %d is the last that was written", w.Rule, w.Name, regionNames[w.Region], w.Before.Version, w.Newest)
		case w.Newest != w.Before.Version && w.Owner != "" && w.Owner != w.Before.Owner:
			return broken("I18", w.At, []string{w.Name}, "%s of %s in %s takes it from %s, whose it has been since version %d", w.Rule, w.Name, regionNames[w.Region], w.Owner, w.Newest)
		case w.Ahead >= 0 && w.Ahead != 0:
			return broken("I18", w.At, []string{w.Name}, "%s of %s in %s has a time that is %d ms before that of the last write elsewhere", w.Rule, w.Name, regionNames[w.Region], w.Ahead)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.newest)) {
		last := h.newest[id]
		for r := range h.Rows {
			if last.truly > epoch+h.Scenario.end()-3000 {
				break // the copies may be on their way
			}
			if row := h.Rows[r][id].Row; row != last.row {
				return broken("I18", epoch+h.Scenario.end(), []string{resourceName(int(id))}, "in the end %s has of row %d: %s, and what was written last is: %s", regionNames[r], id, rowText(row), rowText(last.row))
			}
		}
	}
	return fine()
}

// notOffered is I20: no resource is available before the end of its last lease and the quarantine, nor taken by another key before that
// by any clock; once all know of a new quarantine, that.
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
				return broken("I20", w.At, []string{w.Name}, "%s is leased to %s: it was leased to %s until %s, and the quarantine is %d ms", w.Name, w.After.Holder, l.key, clock(l.end-epoch), s.Quarantine)
			}
			last[w.Row] = lastLease{w.After.Holder, w.After.Expires}
		case w.After.Holder != "":
			last[w.Row] = lastLease{l.key, max(l.end, w.After.Expires)}
		case (w.Before.Holder != "" || w.Rule == "adopt") && w.After.Available < l.end+q:
			return broken("I20", w.At, []string{w.Name}, "%s makes %s available from %s on: it was leased until %s, and the quarantine is %d ms", w.Rule, w.Name, clock(w.After.Available-epoch), clock(l.end-epoch), q)
		}
	}
	return fine()
}

// oneHome is that settings have one writer: in the end all regions have the greatest version that was written of each row.
func oneHome(h *History) (Violation, bool) {
	for _, id := range slices.Sorted(maps.Keys(h.set)) {
		for r := range h.Rows {
			if s := h.Rows[r][id].settings; s.version != h.set[id] {
				return broken("home", epoch+h.Scenario.end(), nil, "in the end %s has row %d of settings at version %d, and %d was written", regionNames[r], id, s.version, h.set[id])
			}
		}
	}
	return fine()
}
