package sim

import (
	"slices"
	"strings"

	"github.com/weirhq/weir/lease"
)

// oneWinner is I8: in the end a key has one live lease over all regions at most, and all who ask are told of the same.
func oneWinner(h *History) (Violation, bool) {
	s := h.Scenario
	for k := range s.Keys {
		var live []string
		for r := range s.Regions {
			row := &h.Rows[r][s.Resources+k*s.Regions+r].Row
			if row.State == lease.Leased && row.Expires > epoch+s.end() {
				live = append(live, regionNames[r]+" ("+row.Resource+")")
			}
		}
		if len(live) > 1 {
			return broken("I8", epoch+s.end(), []string{keyName(k)}, "in the end %s is leased in %s", keyName(k), strings.Join(live, " and "))
		}
		var first *Answer
		for i := range h.Answers {
			t := &h.Answers[i]
			switch {
			case t.Key != k || t.At < epoch+s.askAgain():
			case first == nil:
				first = t
			case first.Resource != t.Resource && len(live) > 0:
				return broken("I8", t.At, []string{keyName(k)}, "in the end %s is told that %s has %q, and %s that it has %q", first.Agent, keyName(k), first.Resource, t.Agent, t.Resource)
			}
		}
	}
	return fine()
}

// conserved is I10: in the end each resource is there, in all regions, of one owner.
func conserved(h *History) (Violation, bool) {
	s := h.Scenario
	if !h.quiet(3000) {
		return fine()
	}
	for i := range s.Resources {
		for r := range s.Regions {
			row := &h.Rows[r][i].Row
			if row.Version == 0 || regionNumber(row.Owner) < 0 || row.Owner != h.Rows[0][i].Row.Owner {
				return broken("I10", epoch+s.end(), []string{resourceName(i)}, "in the end %s is in %s: %s, and in %s: %s", resourceName(i), regionNames[r], rowText(*row), regionNames[0], rowText(h.Rows[0][i].Row))
			}
		}
	}
	return fine()
}

// counted is I10, too: what the balancer says that there is, is what a count of the rows gives.
func counted(h *History) (Violation, bool) {
	s := h.Scenario
	const soon = 7000 // what changed is told within a few seconds; what did not holds as it was told
	if !h.quiet(soon) {
		return fine()
	}
	for r := range s.Regions {
		free, leased, m := int64(0), int64(0), h.Headroom[regionNames[r]]
		asOf := max(m.GetAsOfMs(), epoch+s.end()-soon)
		for i := range s.Resources {
			switch row := &h.Rows[0][i].Row; {
			case row.Owner != regionNames[r]:
			case row.Holder != "":
				leased++
			case row.Available/freeGrain < asOf/freeGrain:
				free++
			}
		}
		if m == nil || m.Free != free || m.Leased != leased || m.InTransit != 0 || m.Outbound != 0 {
			return broken("I10", epoch+s.end(), []string{"balancer"}, "in the end %s has %d free and %d leased, and the balancer says: %v free, %v leased, %v coming, %v leaving",
				regionNames[r], free, leased, m.GetFree(), m.GetLeased(), m.GetInTransit(), m.GetOutbound())
		}
	}
	for _, f := range h.Transfers {
		if f.UntilMs < epoch+s.end() {
			return broken("I10", epoch+s.end(), []string{f.Id}, "the balancer still takes %s for under way", f.Id)
		}
	}
	return fine()
}

// quiet says whether no resource was written or sent away in the last milliseconds.
func (h *History) quiet(ms int64) bool {
	from := epoch + h.Scenario.end() - ms
	return !slices.ContainsFunc(h.Writes, func(w Write) bool { return w.At > from && w.After.State == "" }) &&
		!slices.ContainsFunc(h.Commands, func(c Command) bool { return c.At > from && c.Is.GetTransfer() != nil })
}

// liveness is that all comes to its end after the faults: no lease is over and not given back, every command has a result, no
// duplicate is open.
func liveness(h *History) (Violation, bool) {
	s := h.Scenario
	end := epoch + s.end()
	for i := range s.Resources {
		if row := &h.Rows[0][i].Row; row.Holder != "" && row.Expires+s.quarantine()+2*s.Skew+maxRetry < end {
			return broken("liveness", end, []string{resourceName(i)}, "in the end %s has not been given back: %s", resourceName(i), rowText(*row))
		}
	}
	if len(h.Left) > 0 {
		return broken("liveness", end, nil, "%s", h.Left[0])
	}
	results := map[string]bool{}
	for i := range h.Results {
		results[h.Results[i].Is.Id] = true
	}
	for i := range h.Commands {
		if c := &h.Commands[i]; !results[c.Is.Id] && c.At < end-5000 {
			return broken("liveness", end, []string{c.Is.Id}, "%s was told at %s: %s. It has no result", regionNames[c.Region], clock(c.At-epoch), commandText(c.Is))
		}
	}
	for key, state := range h.Duplicates {
		if state != "resolved" {
			return broken("liveness", end, []string{key}, "duplicate %q is %s in the end", strings.ReplaceAll(key, "\x00", " "), state)
		}
	}
	return fine()
}

// emptied is that a region that is evacuated has nothing free in the end, if there is one to give it to, and an adopted one
// nothing at all.
func emptied(h *History) (Violation, bool) {
	s := h.Scenario
	states := map[string]int{}
	state := func(r int) string { return h.Rows[0][s.Resources+s.Keys*s.Regions+1+r].settings.state }
	for r := range s.Regions {
		states[state(r)]++
	}
	for r := range s.Regions {
		for i := range s.Resources {
			if row := &h.Rows[0][i].Row; state(r) == "adopted" && row.Owner == regionNames[r] {
				return broken("evacuation", epoch+s.end(), []string{resourceName(i)}, "%s was adopted, and %s is still there: %s", regionNames[r], resourceName(i), rowText(*row))
			}
		}
		if state(r) != "evacuating" || states["active"] == 0 {
			continue
		}
		for i := range s.Resources {
			if row := &h.Rows[0][i].Row; row.Owner == regionNames[r] && row.Available > 0 && row.Available < epoch+s.end()-8000 {
				return broken("evacuation", epoch+s.end(), []string{resourceName(i)}, "%s is evacuated, and %s is still there: %s", regionNames[r], resourceName(i), rowText(*row))
			}
		}
	}
	return fine()
}
