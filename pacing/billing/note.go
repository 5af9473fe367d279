package billing

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/plan"
)

// MaxRowBytes is the size from which on the budgets of a day keep no campaign that a later document
// of the day does not have, and then no budgets of earlier documents: a row of the changelog has to
// fit in a record of Kafka.
const MaxRowBytes = 2 * budget.MaxBytes

// Note returns the budgets of a day with a document that is in force on it, in the time zone loc of
// the document. before are those of the day so far; nil: none.
//
// If the currency changes, the budgets in the new one count, and those in the former one are
// forgotten.
func Note(before *eventspb.DayBudgets, d *budget.Document, day events.Day, loc *time.Location) *eventspb.DayBudgets {
	w, _ := plan.DayWindow(day, loc)
	out := &eventspb.DayBudgets{Account: d.Account, Day: int32(day), EndMs: w.EndMs, Currency: d.Currency, Version: d.Version}
	for i := range d.Shared {
		s := &d.Shared[i]
		out.Shared = append(out.Shared, dayBudget(s.ID, s.Parent, s.Limit.OnDay(day, w, loc)))
	}
	for i := range d.Campaigns {
		c := &d.Campaigns[i]
		out.Campaigns = append(out.Campaigns, dayBudget(c.ID, c.Shared, c.Limit.OnDay(day, w, loc)))
	}
	out.EndMs, out.Version = max(out.EndMs, before.GetEndMs()), max(out.Version, before.GetVersion())
	if before.GetCurrency() != d.Currency {
		return out
	}
	for _, keep := range []bool{true, false} {
		merged := proto.CloneOf(out)
		merged.Shared = merge(merged.GetShared(), before.GetShared(), keep)
		merged.Campaigns = merge(merged.GetCampaigns(), before.GetCampaigns(), keep)
		if proto.Size(merged) <= MaxRowBytes {
			return merged
		}
	}
	return out
}

// dayBudget returns the budget of a node on a day.
func dayBudget(id, above string, l budget.DayLimit) *eventspb.DayBudget {
	b := &eventspb.DayBudget{Id: id, Shared: above}
	if l.Kind != budget.None {
		b.Limits = []*eventspb.DayLimit{{
			DayMicros: l.DayMicros, PeriodMicros: l.PeriodMicros, From: int32(l.From), Lifetime: l.Kind == budget.Lifetime && l.Running,
		}}
	}
	return b
}

// merge adds the limits of before to those of the nodes of list, and with keep the nodes that list
// does not have.
func merge(list, before []*eventspb.DayBudget, keep bool) []*eventspb.DayBudget {
	for _, b := range before {
		at, found := slices.BinarySearchFunc(list, b.GetId(), func(x *eventspb.DayBudget, id string) int {
			return strings.Compare(x.GetId(), id)
		})
		switch {
		case !found && keep:
			list = slices.Insert(list, at, b)
		case !found:
		case len(b.GetLimits()) == 0 || len(list[at].GetLimits()) == 0:
			list[at].Limits = nil // without a budget of its own for a part of the day
		default:
			for _, l := range b.GetLimits() {
				list[at].Limits = addLimit(list[at].GetLimits(), l)
			}
		}
	}
	return list
}

// maxLimits is the number of limits of a budget from which on the last one also stands for further
// ones, with the greatest amounts of all of them.
const maxLimits = 8

// addLimit adds a limit to a list of which the greatest counts. It leaves out those that are never
// greater than another one.
func addLimit(list []*eventspb.DayLimit, l *eventspb.DayLimit) []*eventspb.DayLimit {
	covers := func(x, y *eventspb.DayLimit) bool {
		return x.GetFrom() == y.GetFrom() && x.GetLifetime() == y.GetLifetime() && x.GetDayMicros() >= y.GetDayMicros() &&
			x.GetPeriodMicros() >= y.GetPeriodMicros()
	}
	if slices.ContainsFunc(list, func(x *eventspb.DayLimit) bool { return covers(x, l) }) {
		return list
	}
	list = slices.DeleteFunc(list, func(x *eventspb.DayLimit) bool { return covers(l, x) })
	if len(list) < maxLimits {
		return append(list, l)
	}
	last := proto.CloneOf(list[maxLimits-1])
	last.DayMicros, last.PeriodMicros = max(last.GetDayMicros(), l.GetDayMicros()), max(last.GetPeriodMicros(), l.GetPeriodMicros())
	list[maxLimits-1] = last
	return list
}

// Header returns the end of the day, the version and whether the day was billed of an encoded
// DayBudgets, without the rest. It is for those who have many.
func Header(b []byte) (endMs int64, version uint64, billed bool) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			break
		}
		b = b[n:]
		if v, n := protowire.ConsumeVarint(b); n >= 0 && kind == protowire.VarintType {
			const ofEndMs, ofVersion, ofBilled = 3, 5, 8 // in the schema
			switch int(number) {
			case ofEndMs:
				endMs = int64(v)
			case ofVersion:
				version = v
			case ofBilled:
				billed = v != 0
			}
		}
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			break
		}
		b = b[n:]
	}
	return endMs, version, billed
}
