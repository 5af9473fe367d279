package events

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/events/eventspb"
)

// Versioned is a record that a spend counter writes again and again under one key:
// eventspb.Spend, eventspb.SpendHour, eventspb.SpendPart and eventspb.SpendHistogram.
type Versioned interface {
	GetIncarnation() uint64
	GetOwnerEpoch() uint64
	GetSequence() uint64
}

// CompareVersions orders the records that one writer wrote under one key: it is negative if b is
// newer than a, 0 if both are of one transaction. A nil record is older than all others.
//
// The order is by incarnation, then by owner epoch, then by sequence. A state that was deleted and
// begins again has a greater incarnation, and epoch and sequence begin with 1 again. Within an
// incarnation the epoch grows with each owner. A zombie, which is a former owner that still writes,
// may have a greater sequence than its successor; the epoch shows that it is older.
func CompareVersions(a, b Versioned) int {
	return cmp.Or(
		cmp.Compare(a.GetIncarnation(), b.GetIncarnation()),
		cmp.Compare(a.GetOwnerEpoch(), b.GetOwnerEpoch()),
		cmp.Compare(a.GetSequence(), b.GetSequence()),
	)
}

// MergeSpend returns the spend that several writers have counted for one campaign day: of the
// records with the greatest number of corrections, each sum and count of each serving datacentre at
// its maximum. Sums and counts only grow, except by a correction, so the maximum is the figure of
// the writer that has read most. A correction may lower a sum. Therefore a record with more
// corrections is preferred to one with a greater sum.
//
// The result has no version, because no writer wrote it. It does not depend on the order of the
// records, nor on repetitions: SPEND-29. Pass the newest record of each writer: see
// CompareVersions. All records must have the same key. MergeSpend returns nil without records, and
// has no hours.
//
// Lifetime rows, of budget day 0, cannot be merged alone: not all writers close a day at the same
// time. spendlog.MergeLifetimes merges them.
func MergeSpend(records ...*eventspb.Spend) *eventspb.Spend {
	var out *eventspb.Spend
	for _, r := range records {
		switch {
		case out == nil || r.GetCorrections() > out.GetCorrections():
			out = &eventspb.Spend{
				Account: r.GetAccount(), Campaign: r.GetCampaign(), BudgetDay: r.GetBudgetDay(), Currency: r.GetCurrency(),
				Corrections: r.GetCorrections(),
			}
		case r.GetCorrections() < out.GetCorrections():
			continue
		}
		out.Schema = max(out.Schema, r.GetSchema())
		out.Duplicates = max(out.Duplicates, r.GetDuplicates())
		out.AsOfMs = max(out.AsOfMs, r.GetAsOfMs())
		for _, by := range r.GetByDc() {
			mergeDC(out, by)
		}
	}
	return out
}

// mergeDC raises the figures of one serving datacentre in s to those of by.
func mergeDC(s *eventspb.Spend, by *eventspb.SpendByDC) {
	i, found := slices.BinarySearchFunc(s.ByDc, by.GetServingDc(),
		func(x *eventspb.SpendByDC, dc string) int { return cmp.Compare(x.GetServingDc(), dc) })
	if !found {
		s.ByDc = slices.Insert(s.ByDc, i, &eventspb.SpendByDC{ServingDc: by.GetServingDc()})
	}
	to := s.ByDc[i]
	to.ChargedMicros = max(to.ChargedMicros, by.GetChargedMicros())
	to.RefundedMicros = max(to.RefundedMicros, by.GetRefundedMicros())
	for _, n := range by.GetEvents() {
		j, found := slices.BinarySearchFunc(to.Events, n.GetType(),
			func(x *eventspb.TypeCount, typ eventspb.EventType) int { return cmp.Compare(x.GetType(), typ) })
		if !found {
			to.Events = slices.Insert(to.Events, j, &eventspb.TypeCount{Type: n.GetType()})
		}
		to.Events[j].Count = max(to.Events[j].Count, n.GetCount())
	}
}
