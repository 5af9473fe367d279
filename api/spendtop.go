package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// MaxTop is the maximum number of rows of each currency in a TopSpendResponse.
const MaxTop = 100

const defaultTop = 20

// topQuery is a validated TopSpendRequest.
type topQuery struct {
	first, last       int32 // YYYYMMDD; 0: no bound
	events            bool  // by events, and not by charged micros
	account, currency string
	limit             int
	partitions        []int32
	maxStaleness      time.Duration
}

func (i StateInfo) topQuery(m *weirpb.TopSpendRequest) (q topQuery, err error) {
	q = topQuery{account: m.GetAccount(), currency: m.GetCurrency(), events: m.GetBy() == "events", limit: int(m.GetLimit())}
	if q.limit == 0 {
		q.limit = defaultTop
	}
	switch {
	case m.GetDay() == "" && m.GetFrom() == "" && m.GetTo() == "":
		return q, invalid("the request has no day: set day, such as {\"day\":\"2013-10-19\"}, or from and to")
	case m.GetDay() != "" && (m.GetFrom() != "" || m.GetTo() != ""):
		return q, invalid("day excludes from and to: omit day, or the others")
	case m.GetBy() != "" && m.GetBy() != "charged" && m.GetBy() != "events":
		return q, invalid("by %.16q is not an order: use charged or events", m.GetBy())
	case q.limit < 1 || q.limit > MaxTop:
		return q, invalid("limit %d is out of range: use 1 to %d, or list the spend of an account", q.limit, MaxTop)
	}
	if err := cmp.Or(checkID("account", q.account), checkCurrency(q.currency)); err != nil {
		return q, err
	}
	if q.first, q.last, err = parseDays(cmp.Or(m.GetDay(), m.GetFrom()), cmp.Or(m.GetDay(), m.GetTo())); err != nil {
		return q, err
	}
	if q.maxStaleness, err = staleness(m.GetMaxStalenessMs()); err != nil {
		return q, err
	}
	switch {
	case m.Partition != nil:
		q.partitions = []int32{m.GetPartition()}
		err = i.checkPartition(m.GetPartition())
	case q.account != "":
		q.partitions = []int32{events.Shard(q.account, i.Partitions)}
	default:
		for p := range i.Partitions {
			q.partitions = append(q.partitions, p)
		}
	}
	return q, err
}

// days describes the days of the query.
func (q topQuery) days() string {
	if q.first == q.last {
		return " on " + dayText(q.first)
	}
	return daysText(q.first, q.last)
}

// top sorts rows by currency, then by the order of the query, and keeps the first of each currency.
// Campaigns with equal figures are ordered by account, then campaign, as in the rankings of a
// shard.
func (q topQuery) top(rows []*weirpb.SpendRow) []*weirpb.SpendRow {
	figure := func(r *weirpb.SpendRow) uint64 { return uint64(r.GetChargedMicros()) }
	if q.events {
		figure = (*weirpb.SpendRow).GetEvents
	}
	slices.SortFunc(rows, func(a, b *weirpb.SpendRow) int {
		return cmp.Or(cmp.Compare(a.GetCurrency(), b.GetCurrency()), cmp.Compare(figure(b), figure(a)),
			cmp.Compare(a.GetAccount()+"\x00"+a.GetCampaign(), b.GetAccount()+"\x00"+b.GetCampaign()))
	})
	n, currency := 0, ""
	return slices.DeleteFunc(rows, func(r *weirpb.SpendRow) bool {
		if r.GetCurrency() != currency {
			n, currency = 0, r.GetCurrency()
		}
		n++
		return n > q.limit
	})
}

// topRows sums the campaign days of a query by campaign and currency, and keeps the first sums.
type topRows struct {
	spendRows
	q       topQuery
	rows    []*weirpb.SpendRow
	current []*weirpb.SpendRow // of one campaign, which is not complete; one for each currency
	kept    int                // number of rows after the last reduction
}

// add adds a campaign day. The days of a campaign follow each other.
func (t *topRows) add(_ []byte, s *eventspb.Spend) error {
	row := newSpendRow(s)
	if t.q.first != t.q.last {
		row.Day = ""
	}
	if len(t.current) > 0 && (t.current[0].Account != row.Account || t.current[0].Campaign != row.Campaign) {
		t.endCampaign()
	}
	i := slices.IndexFunc(t.current, func(r *weirpb.SpendRow) bool { return r.Currency == row.Currency })
	if i < 0 {
		i, t.current = len(t.current), append(t.current, row)
	}
	t.spendRows.add(t.current[i], s)
	return t.err()
}

// endCampaign completes the sums of the current campaign.
func (t *topRows) endCampaign() {
	t.rows, t.current = append(t.rows, t.current...), t.current[:0]
	if len(t.rows) > max(100*MaxTop, 2*t.kept) {
		t.rows = t.q.top(t.rows)
		t.kept = len(t.rows)
	}
}

// topSpend finds the first campaigns of a partition, in this process or in its owner.
func (r *Router) topSpend(ctx context.Context, q topQuery, m *weirpb.TopSpendRequest, p int32) (*weirpb.TopSpendResponse, error) {
	limit, scansAll := forwardLimit(q.maxStaleness), q.first != q.last && q.account == ""
	if scansAll {
		limit = scanLimit
	}
	return lookup[*weirpb.TopSpendResponse]{
		partition: p, maxStaleness: q.maxStaleness, limit: limit,
		local: func(ctx context.Context, stale time.Duration) (*weirpb.TopSpendResponse, error) {
			if scansAll {
				select {
				case r.scans <- struct{}{}:
					defer func() { <-r.scans }()
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			var totals []*weirpb.CurrencyTotal
			top := topRows{q: q}
			scan := SpendScan{
				Partition: p, Account: q.account, ByEvents: q.events, FirstDay: q.first, LastDay: q.last, Currency: q.currency,
				MaxStaleness: stale,
			}
			scan.Total = func(t *weirpb.CurrencyTotal) error {
				totals = append(totals, t)
				return nil
			}
			at, err := r.state.Spends(ctx, scan, top.add)
			if err != nil {
				return nil, err
			}
			top.endCampaign()
			return &weirpb.TopSpendResponse{Rows: q.top(top.rows), AsOf: []*weirpb.AsOf{at}, Totals: totals}, nil
		},
		remote: func(ctx context.Context, c peerClient) (*weirpb.TopSpendResponse, error) {
			one := proto.CloneOf(m)
			one.Partition = &p
			res, err := c.spend.TopSpend(ctx, connect.NewRequest(one))
			if err != nil {
				return nil, err
			}
			return res.Msg, nil
		},
	}.run(ctx, r)
}

// rankings returns the first campaigns of each partition of a query.
func (s *spendService) rankings(ctx context.Context, q topQuery, m *weirpb.TopSpendRequest) (parts []*weirpb.TopSpendResponse, err error) {
	parts, failed := collect(ctx, q.partitions, func(ctx context.Context, p int32) (*weirpb.TopSpendResponse, error) {
		return s.router.topSpend(ctx, q, m, p)
	})
	if err := failed.gaps(); err != nil {
		return nil, sourceError(err, "the top spend"+q.days())
	}
	return parts, nil
}

// totalsOf returns the sums over the totals of all partitions, ordered by currency. It returns none
// if a process of an earlier version has answered, which knows no totals.
func totalsOf(parts []*weirpb.TopSpendResponse) (list []*weirpb.CurrencyTotal, err error) {
	var sums checkedSums
	all := map[string]*weirpb.CurrencyTotal{}
	for _, part := range parts {
		if len(part.GetRows()) > 0 && len(part.GetTotals()) == 0 {
			return nil, nil
		}
		for _, t := range part.GetTotals() {
			to := all[t.GetCurrency()]
			if to == nil {
				to = &weirpb.CurrencyTotal{Currency: t.GetCurrency()}
				all[t.GetCurrency()] = to
			}
			sums.micros("charged_micros", &to.ChargedMicros, t.GetChargedMicros())
			sums.micros("refunded_micros", &to.RefundedMicros, t.GetRefundedMicros())
			sums.count("events", &to.Events, t.GetEvents())
		}
	}
	if sums.overflow != "" {
		return nil, errorf(connect.CodeOutOfRange, "the sum of %s of all accounts does not fit 64 bits: set account", sums.overflow)
	}
	for _, currency := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[currency])
	}
	return list, nil
}

// TopSpend returns the campaigns with the greatest figures of one or more budget days. weir.proto
// lists its errors.
func (s *spendService) TopSpend(ctx context.Context,
	req *connect.Request[weirpb.TopSpendRequest],
) (*connect.Response[weirpb.TopSpendResponse], error) {
	if s.router == nil {
		return nil, errNoRouter()
	}
	q, err := s.router.info.topQuery(req.Msg)
	if err != nil {
		return nil, err
	}
	parts, err := s.rankings(ctx, q, req.Msg)
	if err != nil {
		return nil, err
	}
	out := &weirpb.TopSpendResponse{}
	if out.Totals, err = totalsOf(parts); err != nil {
		return nil, err
	}
	for _, one := range parts {
		out.Rows, out.AsOf = append(out.Rows, one.GetRows()...), append(out.AsOf, one.GetAsOf()...)
	}
	slices.SortFunc(out.AsOf, func(a, b *weirpb.AsOf) int { return cmp.Compare(a.GetPartition(), b.GetPartition()) })
	if out.Rows = q.top(out.Rows); len(out.Rows) == 0 && !requestMetaOf(ctx).forwarded {
		where := ""
		if q.account != "" {
			where = fmt.Sprintf(" of account %q", q.account)
		}
		if q.currency != "" {
			where += " in " + q.currency
		}
		return nil, withAsOf(errorf(connect.CodeNotFound, "no campaign%s has spend%s, as of %s: request other budget days",
			where, q.days(), asOfText(out.AsOf)), out.AsOf)
	}
	return connect.NewResponse(out), nil
}
