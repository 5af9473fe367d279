package api

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// accountSum sums the days of one account and currency.
type accountSum struct {
	out     *weirpb.GetSpendResponse
	byDC    map[string]*weirpb.DcSpend
	eventMs int64
	checkedSums
}

func newAccountSum(campaign, account, currency string) *accountSum {
	return &accountSum{
		out: &weirpb.GetSpendResponse{
			Campaign: campaign, Account: account, Currency: currency,
			EventsByType: map[string]uint64{},
		},
		byDC: map[string]*weirpb.DcSpend{},
	}
}

func (s *accountSum) addDay(rec *eventspb.Spend) {
	day := &weirpb.DaySpend{Day: dayText(rec.GetBudgetDay())}
	for _, dc := range rec.GetByDc() {
		to := s.byDC[dc.GetServingDc()]
		if to == nil {
			to = &weirpb.DcSpend{ServingDc: dc.GetServingDc()}
			s.byDC[dc.GetServingDc()] = to
		}
		for _, c := range []*int64{&day.ChargedMicros, &to.ChargedMicros, &s.out.ChargedMicros} {
			s.micros("charged_micros", c, dc.GetChargedMicros())
		}
		for _, c := range []*int64{&day.RefundedMicros, &to.RefundedMicros, &s.out.RefundedMicros} {
			s.micros("refunded_micros", c, dc.GetRefundedMicros())
		}
		for _, n := range dc.GetEvents() {
			for _, c := range []*uint64{&day.Events, &to.Events, &s.out.Events} {
				s.count("events", c, n.GetCount())
			}
			byType := s.out.EventsByType[typeName(n.GetType())]
			s.count("events", &byType, n.GetCount())
			s.out.EventsByType[typeName(n.GetType())] = byType
		}
	}
	day.OverRefunded = day.RefundedMicros > day.ChargedMicros
	day.Duplicates = rec.GetDuplicates()
	s.count("duplicates", &s.out.Duplicates, day.Duplicates)
	s.eventMs = max(s.eventMs, rec.GetAsOfMs())
	s.out.Days = append(s.out.Days, day)
}

func (s *accountSum) done() (*weirpb.GetSpendResponse, error) {
	if s.overflow != "" {
		return nil, errorf(connect.CodeOutOfRange,
			"the sum of %s of campaign %q of account %q over %d days does not fit 64 bits: request it day by day",
			s.overflow, s.out.Campaign, s.out.Account, len(s.out.Days))
	}
	s.out.Day = "all"
	if len(s.out.Days) == 1 {
		s.out.Day = s.out.Days[0].Day
	}
	s.out.Impressions = s.out.EventsByType[typeName(eventspb.EventType_EVENT_TYPE_IMPRESSION)]
	s.out.Clicks = s.out.EventsByType[typeName(eventspb.EventType_EVENT_TYPE_CLICK)]
	for _, dc := range slices.Sorted(maps.Keys(s.byDC)) {
		s.out.ByDc = append(s.out.ByDc, s.byDC[dc])
	}
	return s.out, nil
}

// checkedSums adds with a check, and records the name of a figure that did not fit.
type checkedSums struct {
	overflow string
}

func (f *checkedSums) micros(name string, to *int64, d int64) {
	if (d > 0 && *to > math.MaxInt64-d) || (d < 0 && *to < math.MinInt64-d) {
		f.overflow = name
		return
	}
	*to += d
}

func (f *checkedSums) count(name string, to *uint64, d uint64) {
	v, carry := bits.Add64(*to, d, 0)
	if carry != 0 {
		f.overflow = name
		return
	}
	*to = v
}

// typeName returns the key of events_by_type: impression, click, video_view. A number that this
// build does not know is shown as the number, because its events were counted.
func typeName(t eventspb.EventType) string {
	name, ok := eventspb.EventType_name[int32(t)]
	if !ok {
		return fmt.Sprintf("type_%d", int32(t))
	}
	return strings.ToLower(strings.TrimPrefix(name, "EVENT_TYPE_"))
}
