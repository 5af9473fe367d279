package sim

import (
	"slices"
	"strings"

	"github.com/weirhq/weir/lease"
)

// oneWinner is LEASE-3: at the end a key has at most one live lease over all regions, and all who
// ask receive that lease.
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
			return violated("LEASE-3", epoch+s.end(), []string{keyName(k)}, "at the end %s is leased in %s", keyName(k),
				strings.Join(live, " and "))
		}
		var first *Answer
		for i := range h.Answers {
			t := &h.Answers[i]
			switch {
			case t.Key != k || t.At < epoch+s.askAgain():
			case first == nil:
				first = t
			case first.Resource != t.Resource && len(live) > 0:
				return violated("LEASE-3", t.At, []string{keyName(k)}, "at the end %s receives for %s the resource %q, and %s receives %q",
					first.Agent, keyName(k), first.Resource, t.Agent, t.Resource)
			}
		}
	}
	return holds()
}

// conserved is LEASE-67: at the end each resource exists in all regions, with the same owner.
func conserved(h *History) (Violation, bool) {
	s := h.Scenario
	if !h.quiet(3000) {
		return holds()
	}
	for i := range s.Resources {
		for r := range s.Regions {
			row := &h.Rows[r][i].Row
			if row.Version == 0 || regionNumber(row.Owner) < 0 || row.Owner != h.Rows[0][i].Row.Owner {
				return violated("LEASE-67", epoch+s.end(), []string{resourceName(i)}, "at the end %s in %s is: %s; in %s it is: %s",
					resourceName(i), regionNames[r], rowText(*row), regionNames[0], rowText(h.Rows[0][i].Row))
			}
		}
	}
	return holds()
}

// counted is LEASE-36: the counts that the balancer publishes equal the counts of the rows.
func counted(h *History) (Violation, bool) {
	s := h.Scenario
	const soon = 7000 // the balancer publishes changes within a few seconds
	if !h.quiet(soon) {
		return holds()
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
			return violated("LEASE-36", epoch+s.end(), []string{"balancer"},
				"at the end %s has %d free and %d leased; the balancer reports %v free, %v leased, %v inbound, %v outbound",
				regionNames[r], free, leased, m.GetFree(), m.GetLeased(), m.GetInTransit(), m.GetOutbound())
		}
	}
	for _, f := range h.Transfers {
		if f.UntilMs < epoch+s.end() {
			return violated("LEASE-36", epoch+s.end(), []string{f.Id}, "the balancer still counts transfer %s as in transit", f.Id)
		}
	}
	return holds()
}

// quiet reports whether no resource was written or transferred in the last milliseconds.
func (h *History) quiet(ms int64) bool {
	from := epoch + h.Scenario.end() - ms
	return !slices.ContainsFunc(h.Writes, func(w Write) bool { return w.At > from && w.After.State == "" }) &&
		!slices.ContainsFunc(h.Commands, func(c Command) bool { return c.At > from && c.Is.GetTransfer() != nil })
}

// liveness is LEASE-63: after the faults every ended lease is liberated, every command has a
// result, and every duplicate is resolved.
func liveness(h *History) (Violation, bool) {
	s := h.Scenario
	end := epoch + s.end()
	for i := range s.Resources {
		if row := &h.Rows[0][i].Row; row.Holder != "" && row.Expires+s.quarantine()+2*s.Skew+maxRetry < end {
			return violated("LEASE-63", end, []string{resourceName(i)}, "at the end %s is not liberated: %s", resourceName(i),
				rowText(*row))
		}
	}
	if len(h.Left) > 0 {
		return violated("LEASE-63", end, nil, "%s", h.Left[0])
	}
	results := map[string]bool{}
	for i := range h.Results {
		results[h.Results[i].Is.Id] = true
	}
	for i := range h.Commands {
		if c := &h.Commands[i]; !results[c.Is.Id] && c.At < end-5000 {
			return violated("LEASE-63", end, []string{c.Is.Id}, "the command to %s at %s has no result: %s", regionNames[c.Region],
				clock(c.At-epoch), commandText(c.Is))
		}
	}
	for key, state := range h.Duplicates {
		if state != "resolved" {
			return violated("LEASE-63", end, []string{key}, "duplicate %q is %s at the end", strings.ReplaceAll(key, "\x00", " "), state)
		}
	}
	return holds()
}

// emptied is LEASE-66: an evacuated region has no free resource at the end if there is an active
// region to take them, and an adopted region has no resource at all.
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
				return violated("LEASE-66", epoch+s.end(), []string{resourceName(i)}, "%s was adopted and still has %s: %s", regionNames[r],
					resourceName(i), rowText(*row))
			}
		}
		if state(r) != "evacuating" || states["active"] == 0 {
			continue
		}
		for i := range s.Resources {
			if row := &h.Rows[0][i].Row; row.Owner == regionNames[r] && row.Available > 0 && row.Available < epoch+s.end()-8000 {
				return violated("LEASE-66", epoch+s.end(), []string{resourceName(i)}, "%s was evacuated and still has %s: %s",
					regionNames[r], resourceName(i), rowText(*row))
			}
		}
	}
	return holds()
}
