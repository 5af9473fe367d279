package spendlog

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// MergeLifetimes returns the spend of each campaign and currency on all days up to through,
// through included, as several writers have counted it: of each writer the sum of its lifetime row
// and of its rows of those days, and of these sums what events.MergeSpend returns. The keys are
// those of lifetime rows. Rows of later days stay as they are: merge them with events.MergeSpend.
//
// A writer moves the figures of a closed day from its row to the lifetime row, and not all writers
// do it at the same time. So through must not be before the last day that any writer has closed,
// the greatest eventspb.SpendHistogram.ClosedDay of all shards in the health rows. A health row is
// written once a second, so rows may have moved that the last one does not speak of. Later days are
// right as well, so take one day more.
//
// The result depends neither on the order of the writers nor on repetitions, and results for equal
// days can be merged with events.MergeSpend. It has no versions. MergeLifetimes changes no table.
func MergeLifetimes(through events.Day, writers ...*Table) map[Key]*eventspb.Spend {
	merged := map[Key]*eventspb.Spend{}
	for _, w := range writers {
		for key, sum := range w.lifetimes(through) {
			list := []*eventspb.Spend{sum}
			if m := merged[key]; m != nil {
				list = append(list, m)
			}
			merged[key] = events.MergeSpend(list...)
		}
	}
	return merged
}

// lifetimes returns the sums of one writer.
func (t *Table) lifetimes(through events.Day) map[Key]*eventspb.Spend {
	sums := map[Key]*eventspb.Spend{}
	for row := range t.All() {
		if row.Kind != CampaignDay || row.Day > through {
			continue
		}
		key := row.Key
		key.Day = 0
		sum := sums[key]
		if sum == nil {
			sum = &eventspb.Spend{Account: key.Account, Campaign: key.Campaign, Currency: key.Currency.String()}
			sums[key] = sum
		}
		addSpend(sum, row.Spend)
	}
	return sums
}

// addSpend adds a row to sum, as a counter adds a closed day to the lifetime row.
func addSpend(sum, s *eventspb.Spend) {
	sum.Schema = max(sum.Schema, s.GetSchema())
	sum.Corrections = max(sum.Corrections, s.GetCorrections()) // a lifetime row has no fewer than any of its days
	sum.AsOfMs = max(sum.AsOfMs, s.GetAsOfMs())
	sum.Duplicates += s.GetDuplicates()
	for _, by := range s.GetByDc() {
		i, found := slices.BinarySearchFunc(sum.ByDc, by.GetServingDc(),
			func(x *eventspb.SpendByDC, dc string) int { return cmp.Compare(x.GetServingDc(), dc) })
		if !found {
			sum.ByDc = slices.Insert(sum.ByDc, i, &eventspb.SpendByDC{ServingDc: by.GetServingDc()})
		}
		to := sum.ByDc[i]
		to.ChargedMicros += by.GetChargedMicros()
		to.RefundedMicros += by.GetRefundedMicros()
		for _, n := range by.GetEvents() {
			j, found := slices.BinarySearchFunc(to.Events, n.GetType(),
				func(x *eventspb.TypeCount, typ eventspb.EventType) int { return cmp.Compare(x.GetType(), typ) })
			if !found {
				to.Events = slices.Insert(to.Events, j, &eventspb.TypeCount{Type: n.GetType()})
			}
			to.Events[j].Count += n.GetCount()
		}
	}
}
