package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/lease/order"
)

// Violation is that an invariant does not hold.
type Violation struct {
	Invariant string
	At        int64 // when it showed, in the scenario's time
	Names     []string
	Text      string
}

// String is the violation for people.
func (v Violation) String() string {
	return fmt.Sprintf("%s at %s: %s", v.Invariant, clock(v.At), v.Text)
}

// Judge gives what is wrong in a history, the first of each invariant.
func Judge(h *History) (list []Violation) {
	if h.Broken != nil {
		return []Violation{{Invariant: "broken", Text: h.Broken.Error()}}
	}
	for _, check := range []func(*History) (Violation, bool){
		oneKey, oneResource, neverEarly, whole, noLostWrite, notOffered, oneWinner, conserved, counted, onceInFlight, onceTold, trueResults, nothingRefused, live, emptied,
	} {
		if v, bad := check(h); bad {
			list = append(list, v)
		}
	}
	slices.SortStableFunc(list, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return list
}

func broken(invariant string, at int64, names []string, format string, args ...any) (Violation, bool) {
	return Violation{Invariant: invariant, At: at - epoch, Names: names, Text: fmt.Sprintf(format, args...)}, true
}

func fine() (Violation, bool) { return Violation{}, false }

// oneKey is I7: no two keys use one resource at one time.
func oneKey(h *History) (Violation, bool) {
	return overlap(h, "I7", func(a, b *Use) bool { return a.Resource == b.Resource && a.Key != b.Key })
}

// oneResource is I7r: in a region no two users of a key use different resources at one time.
func oneResource(h *History) (Violation, bool) {
	return overlap(h, "I7r", func(a, b *Use) bool { return a.Key == b.Key && a.Region == b.Region && a.Resource != b.Resource })
}

// overlap finds the first two uses of a kind that are at one time.
func overlap(h *History, invariant string, both func(a, b *Use) bool) (Violation, bool) {
	uses := slices.Clone(h.Uses)
	slices.SortStableFunc(uses, func(a, b Use) int { return cmp.Compare(a.From, b.From) })
	var now []*Use
	for i := range uses {
		u := &uses[i]
		now = slices.DeleteFunc(now, func(o *Use) bool { return o.Until <= u.From })
		for _, o := range now {
			if both(o, u) && u.Until > u.From {
				return broken(invariant, u.From, []string{o.Resource, u.Resource, keyName(o.Key), keyName(u.Key)},
					"%s uses %s for %s until %s, and %s begins to use %s for %s", o.Agent, o.Resource, keyName(o.Key), clock(o.Until-epoch), u.Agent, u.Resource, keyName(u.Key))
			}
		}
		now = append(now, u)
	}
	return fine()
}

// neverEarly is I17: a lease that nobody released is not ended before its end.
func neverEarly(h *History) (Violation, bool) {
	for i := range h.Writes {
		w := &h.Writes[i]
		if w.Rule != "liberate" {
			continue
		}
		for j := range h.Uses {
			if u := &h.Uses[j]; u.Resource == w.Name && u.From < w.At && w.At < u.Until {
				return broken("I17", w.At, []string{w.Name}, "%s is liberated, and %s uses it until %s", w.Name, u.Agent, clock(u.Until-epoch))
			}
		}
	}
	return fine()
}

// whole is I9: a resource's row is available or leased, never both, and never neither, as none is retired here.
func whole(h *History) (Violation, bool) {
	for i := range h.Writes {
		if w := &h.Writes[i]; w.After.State == "" && (w.After.Key == "") == (w.After.Available == 0) {
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
		case w.Newest != w.Before.Version:
			return broken("I18", w.At, []string{w.Name}, "%s of %s in %s is made on version %d, and %d is the last that was written", w.Rule, w.Name, regionNames[w.Region], w.Before.Version, w.Newest)
		case w.Ahead >= 0 && w.Ahead != 0:
			return broken("I18", w.At, []string{w.Name}, "%s of %s in %s has a time that is %d ms before that of the last write elsewhere", w.Rule, w.Name, regionNames[w.Region], w.Ahead)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.newest)) {
		last := h.newest[id]
		for r := range h.Rows {
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
		if w.At > epoch+s.calm()+8000 {
			q = s.quarantine()
		}
		l := last[w.Row]
		switch {
		case w.After.Key != "" && w.After.Key != l.key:
			if l.end > 0 && w.At+s.Skew < l.end+s.Quarantine {
				return broken("I20", w.At, []string{w.Name}, "%s is leased to %s: it was leased to %s until %s, and the quarantine is %d ms", w.Name, w.After.Key, l.key, clock(l.end-epoch), s.Quarantine)
			}
			last[w.Row] = lastLease{w.After.Key, w.After.Expires}
		case w.After.Key != "":
			last[w.Row] = lastLease{l.key, max(l.end, w.After.Expires)}
		case w.Before.Key != "" && w.After.Available < l.end+q:
			return broken("I20", w.At, []string{w.Name}, "%s makes %s available from %s on: it was leased until %s, and the quarantine is %d ms", w.Rule, w.Name, clock(w.After.Available-epoch), clock(l.end-epoch), q)
		}
	}
	return fine()
}

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
		var first *Told
		for i := range h.Told {
			t := &h.Told[i]
			switch {
			case t.Key != k || t.At < epoch+s.askAgain() || !t.OK: // whoever is refused uses nothing
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
	for i := range h.Writes { // it tells each few seconds
		if w := &h.Writes[i]; w.After.State == "" && w.At > epoch+s.end()-7000 {
			return fine()
		}
	}
	for r := range s.Regions {
		free, leased, m := int64(0), int64(0), h.Headroom[regionNames[r]]
		for i := range s.Resources {
			switch row := &h.Rows[0][i].Row; {
			case row.Owner != regionNames[r]:
			case row.Key != "":
				leased++
			case row.Available/freeGrain < m.GetAsOfMs()/freeGrain:
				free++
			}
		}
		if m == nil || m.Free != free || m.Leased != leased || m.Coming != 0 || m.Leaving != 0 {
			return broken("I10", epoch+s.end(), []string{"balancer"}, "in the end %s has %d free and %d leased, and the balancer says: %v free, %v leased, %v coming, %v leaving",
				regionNames[r], free, leased, m.GetFree(), m.GetLeased(), m.GetComing(), m.GetLeaving())
		}
	}
	for _, f := range h.Flights {
		if f.UntilMs < epoch+s.end() {
			return broken("I10", epoch+s.end(), []string{f.Id}, "the balancer still takes %s for under way", f.Id)
		}
	}
	return fine()
}

// onceInFlight is I10, too: a resource is sent to one region only at a time.
func onceInFlight(h *History) (Violation, bool) {
	type sent struct {
		id    string
		until int64
	}
	out := map[string]sent{}
	results := h.Results
	for i := range h.Commands {
		c := &h.Commands[i]
		for len(results) > 0 && results[0].At <= c.At { // those that were not carried out may be sent again
			r := results[0].Is
			if results = results[1:]; out[r.Resource].id == r.Id && r.Outcome != eventspb.LeaseOutcome_LEASE_OUTCOME_DONE {
				delete(out, r.Resource)
			}
		}
		x := c.Is.GetTransfer()
		if x == nil {
			continue
		}
		key := fmt.Sprint(x.Resource, " at version ", x.Version)
		if o, known := out[key]; known && o.until > c.Is.DecidedMs {
			return broken("I10", c.At, []string{x.Resource}, "%s is sent to %s by %s, and %s is still under way", key, x.To, c.Is.Id, o.id)
		}
		out[key] = sent{c.Is.Id, c.Is.NotAfterMs}
	}
	return fine()
}

// onceTold is I6: a command that was committed once is in its topic once.
func onceTold(h *History) (Violation, bool) {
	seen := map[string]int64{}
	for i := range h.Commands {
		c := &h.Commands[i]
		if at, known := seen[c.Is.Id]; known {
			return broken("I6", c.At, []string{order.Of(c.Is).Resource}, "%s is told %s, as it was at %s: %s", regionNames[c.Region], c.Is.Id, clock(at-epoch), commandText(c.Is))
		}
		seen[c.Is.Id] = c.At
	}
	return fine()
}

// trueResults is that what is said to be done was done.
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
			return broken("results", r.At, []string{name}, "%s of %s is said to be done at version %d, and nobody wrote that", r.Is.Kind, name, r.Is.Version)
		}
	}
	return fine()
}

// nothingRefused is that no core refuses what the others say.
func nothingRefused(h *History) (Violation, bool) {
	if len(h.Rejects) > 0 {
		return broken("rejects", epoch, nil, "%d records were refused, the first: %s", len(h.Rejects), h.Rejects[0])
	}
	return fine()
}

// live is that all comes to its end after the faults: no lease is over and not given back, every command has a result, no
// duplicate is open.
func live(h *History) (Violation, bool) {
	s := h.Scenario
	end := epoch + s.end()
	for i := range s.Resources {
		if row := &h.Rows[0][i].Row; row.Key != "" && row.Expires+s.quarantine()+2*s.Skew+mostRetry < end {
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
		if c := &h.Commands[i]; !results[c.Is.Id] && c.At < end-2000 {
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

// emptied is that a region that is evacuated has nothing free in the end.
func emptied(h *History) (Violation, bool) {
	s := h.Scenario
	for r := range s.Regions {
		if state := h.Rows[0][s.Resources+s.Keys*s.Regions+1+r].settings.state; state != "evacuating" {
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

// Marks that a run must reach to count.
func needed() []string {
	return []string{"liberate", "transfer", "duplicate", "unknown outcome", "stale command"}
}

// Missing are the marks that a run did not reach: it counts as empty if there are any.
func Missing(h *History) (list []string) {
	for _, m := range needed() {
		if h.Marks[m] == 0 {
			list = append(list, m)
		}
	}
	return list
}
