package sim

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/command"
)

// onceInFlight is LEASE-40: a resource is in one transfer at a time.
func onceInFlight(h *History) (Violation, bool) {
	type sent struct {
		id    string
		until int64
	}
	out, keys := map[string]sent{}, map[string]string{} // by resource and version; resource and version by command
	results := h.Results
	for i := range h.Commands {
		c := &h.Commands[i]
		for len(results) > 0 && results[0].At <= c.At { // a transfer that was not carried out may be repeated
			r := results[0].Is
			if results = results[1:]; out[keys[r.Id]].id == r.Id && r.Outcome != eventspb.LeaseOutcome_LEASE_OUTCOME_DONE {
				delete(out, keys[r.Id])
			}
		}
		x := c.Is.GetTransfer()
		if x == nil {
			continue
		}
		key := fmt.Sprint(x.Resource, " at version ", x.Version)
		if o, known := out[key]; known && o.until > c.Is.DecidedMs {
			return violated("LEASE-40", c.At, []string{x.Resource}, "%s is transferred to %s by %s while %s is in transit", key, x.To,
				c.Is.Id, o.id)
		}
		out[key], keys[c.Is.Id] = sent{c.Is.Id, c.Is.NotAfterMs}, key
	}
	return holds()
}

// commandOnce is LEASE-62: a committed command is in its topic once.
func commandOnce(h *History) (Violation, bool) {
	seen := map[string]int64{}
	for i := range h.Commands {
		c := &h.Commands[i]
		if at, known := seen[c.Is.Id]; known {
			return violated("LEASE-62", c.At, []string{command.TargetOf(c.Is).Resource},
				"%s receives command %s again, first received at %s: %s", regionNames[c.Region], c.Is.Id, clock(at-epoch),
				commandText(c.Is))
		}
		seen[c.Is.Id] = c.At
	}
	return holds()
}

// trueResults is LEASE-64: every result that reports success belongs to a write.
func trueResults(h *History) (Violation, bool) {
	type made struct {
		name    string
		version int64
	}
	all := map[made]bool{}
	for i := range h.Writes {
		all[made{h.Writes[i].Name, h.Writes[i].After.Version}] = true
	}
	for i := range h.Results {
		r := &h.Results[i]
		if r.Is.Outcome != eventspb.LeaseOutcome_LEASE_OUTCOME_DONE {
			continue
		}
		name := r.Is.Resource
		if r.Is.Kind == "supersede" {
			name = r.Is.Key + "@" + r.Is.Region
		}
		if !all[made{name, r.Is.Version}] {
			return violated("LEASE-64", r.At, []string{name}, "the result of %s of %s reports version %d, which was not written", r.Is.Kind,
				name, r.Is.Version)
		}
	}
	return holds()
}

// nothingRefused is LEASE-65: no core rejects a record of another part.
func nothingRefused(h *History) (Violation, bool) {
	if len(h.Rejects) > 0 {
		return violated("LEASE-65", epoch, nil, "%d records were rejected, the first: %s", len(h.Rejects), h.Rejects[0])
	}
	return holds()
}
