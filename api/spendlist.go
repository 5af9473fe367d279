package api

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// Values of ListSpendRequest.by.
const (
	byDay      = "day"
	byCampaign = "campaign"
	byAccount  = "account"
	byHour     = "hour"
	byLineItem = "line-item"
	byArm      = "arm"
)

// listQuery is a validated ListSpendRequest.
type listQuery struct {
	account, by, currency string
	first, last           int32 // YYYYMMDD; 0: no bound
	limit                 int
	from                  []byte // where the page begins: a key, or a day and a currency
	partition             int32
	maxStaleness          time.Duration
}

func (i StateInfo) listQuery(m *weirpb.ListSpendRequest) (q listQuery, err error) {
	q = listQuery{account: m.GetAccount(), by: m.GetBy(), currency: m.GetCurrency(), limit: int(m.GetLimit())}
	q.partition = events.Shard(q.account, i.Partitions)
	switch {
	case q.account == "":
		return q, noAccount()
	case !slices.Contains([]string{"", byDay, byCampaign, byAccount, byHour, byLineItem, byArm}, q.by):
		return q, invalid("by %.16q is not a sum: use day, hour, campaign, account, line-item or arm, or omit it for campaign days", q.by)
	}
	if err := cmp.Or(checkID("account", q.account), checkCurrency(q.currency)); err != nil {
		return q, err
	}
	if q.limit == 0 {
		q.limit = defaultPageKeys
	}
	if q.limit < 1 || q.limit > MaxPageKeys {
		return q, invalid("limit %d is out of range: use 1 to %d, and page_token for more", q.limit, MaxPageKeys)
	}
	if q.first, q.last, err = parseDays(m.GetFrom(), m.GetTo()); err != nil {
		return q, err
	}
	if q.maxStaleness, err = staleness(m.GetMaxStalenessMs()); err != nil {
		return q, err
	}
	if t := m.GetPageToken(); t != "" {
		at, err := parseToken(t, q.fingerprint())
		if err != nil {
			return q, err
		}
		q.from = at.from
	}
	return q, nil
}

// fingerprint distinguishes requests whose pages would not fit together.
func (q listQuery) fingerprint() uint64 {
	return xxhash.Sum64String(fmt.Sprintf("list %q %q %q %d %d", q.account, q.by, q.currency, q.first, q.last))
}

// spendList makes a page of the campaign days of an account.
type spendList struct {
	spendRows
	q    listQuery
	rows []*weirpb.SpendRow
	sum  map[string]*weirpb.SpendRow // by place; with campaigns, of the current one
	last string                      // the current campaign
	next []byte                      // where the next page begins

	parts []*eventspb.PartSpend // of the campaign day that comes next
}

// addPart adds a part of the campaign day that comes next.
func (l *spendList) addPart(p *eventspb.PartSpend) { l.parts = append(l.parts, p) }

// add adds a campaign day. It ends the scan when the page is full.
func (l *spendList) add(key []byte, s *eventspb.Spend) error {
	if s.GetAccount() != l.q.account {
		return sourceBug("the store returned a record of account %[2]q for account %[1]q", l.q.account, s.GetAccount())
	}
	switch l.q.by {
	case byHour:
		l.split(s, hoursOf(s), &weirpb.SpendRow{Hour: otherHour})
		return nil
	case byLineItem, byArm:
		l.split(s, l.takeParts(), &weirpb.SpendRow{})
		return nil
	}
	row := newSpendRow(s)
	paged := l.q.by == "" || l.q.by == byCampaign && row.Campaign != l.last
	if paged && len(l.rows) >= l.q.limit {
		l.next = bytes.Clone(key)
		return stream.ErrStopScan
	}
	switch l.q.by {
	case byCampaign:
		if row.Campaign != l.last {
			l.last, l.sum = row.Campaign, nil
		}
		row.Day = ""
	case byDay:
		row.Campaign = ""
	case byAccount:
		row.Campaign, row.Day = "", ""
	}
	if l.q.by != "" {
		row = l.sumOf(row)
	} else {
		l.rows = append(l.rows, row)
	}
	l.spendRows.add(row, s)
	return nil
}

// sumOf returns the sum to which row belongs: row if it is the first.
func (l *spendList) sumOf(row *weirpb.SpendRow) *weirpb.SpendRow {
	if is := l.sum[place(row)]; is != nil {
		return is
	}
	if l.sum == nil {
		l.sum = map[string]*weirpb.SpendRow{}
	}
	l.sum[place(row)] = row
	l.rows = append(l.rows, row)
	return row
}

// share is what one of several rows has of the charges and events of a campaign day.
type share struct {
	row     *weirpb.SpendRow // its hour, line item or arm
	charged int64
	events  uint64
}

// hoursOf returns the shares of the hours of a campaign day.
func hoursOf(s *eventspb.Spend) (list []share) {
	for _, h := range s.GetHours() {
		list = append(list, share{&weirpb.SpendRow{Hour: hourText(h.GetHour())}, h.GetChargedMicros(), h.GetEvents()})
	}
	return list
}

// takeParts returns the shares of the line items or arms of the campaign day.
func (l *spendList) takeParts() (list []share) {
	for _, p := range l.parts {
		row := &weirpb.SpendRow{LineItem: p.GetLineItem()}
		if l.q.by == byArm {
			row = &weirpb.SpendRow{Arm: p.GetArm()}
		}
		list = append(list, share{row, p.GetChargedMicros(), p.GetEvents()})
	}
	l.parts = nil
	return list
}

// split adds the shares of a campaign day to their sums, and what is left to that of rest.
func (l *spendList) split(s *eventspb.Spend, shares []share, rest *weirpb.SpendRow) {
	whole := &weirpb.SpendRow{}
	l.spendRows.add(whole, s)
	sumOf := func(row *weirpb.SpendRow) *weirpb.SpendRow {
		row.Account, row.Currency = s.GetAccount(), s.GetCurrency()
		return l.sumOf(row)
	}
	for _, x := range shares {
		row := sumOf(x.row)
		l.sums.micros("charged_micros", &row.ChargedMicros, x.charged)
		l.sums.count("events", &row.Events, x.events)
		whole.ChargedMicros, whole.Events = whole.ChargedMicros-x.charged, whole.Events-x.events
	}
	if whole.ChargedMicros == 0 && whole.RefundedMicros == 0 && whole.Events == 0 && whole.Duplicates == 0 {
		return
	}
	row := sumOf(rest)
	l.sums.micros("charged_micros", &row.ChargedMicros, whole.ChargedMicros)
	l.sums.micros("refunded_micros", &row.RefundedMicros, whole.RefundedMicros)
	l.sums.count("events", &row.Events, whole.Events)
	l.sums.count("duplicates", &row.Duplicates, whole.Duplicates)
}

// otherHour is the hour of what has none.
const otherHour = "other"

// hourText formats an hour since 1970.
func hourText(hour int32) string {
	return time.Unix(int64(hour)*3600, 0).UTC().Format("2006-01-02T15:04Z")
}

// answer makes the response after the last campaign day.
func (l *spendList) answer(at *weirpb.AsOf) (*weirpb.ListSpendResponse, error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	slices.SortFunc(l.rows, compareRows)
	if l.q.by != "" && l.q.by != byCampaign { // all sums are known, and the page is a part of them
		l.rows = slices.DeleteFunc(l.rows, func(r *weirpb.SpendRow) bool { return place(r) < string(l.q.from) })
		if len(l.rows) > l.q.limit {
			l.next, l.rows = []byte(place(l.rows[l.q.limit])), l.rows[:l.q.limit]
		}
	}
	out := &weirpb.ListSpendResponse{Rows: l.rows, AsOf: at}
	if l.next != nil {
		out.NextPageToken = position{l.q.partition, l.next}.token(l.q.fingerprint())
	}
	return out, nil
}

// listSpend makes the page in this process, or in the owner of the account's partition.
func (r *Router) listSpend(ctx context.Context, q listQuery, m *weirpb.ListSpendRequest) (*weirpb.ListSpendResponse, error) {
	scan := SpendScan{
		Partition: q.partition, Account: q.account, FirstDay: q.first, LastDay: q.last, Currency: q.currency, Hours: q.by == byHour,
	}
	if q.by == "" || q.by == byCampaign {
		scan.From = q.from
	}
	return lookup[*weirpb.ListSpendResponse]{
		partition: q.partition, maxStaleness: q.maxStaleness, limit: forwardLimit(q.maxStaleness),
		local: func(ctx context.Context, stale time.Duration) (*weirpb.ListSpendResponse, error) {
			l, scan := spendList{q: q}, scan
			scan.MaxStaleness = stale
			if q.by == byLineItem || q.by == byArm {
				scan.Part = l.addPart
			}
			at, err := r.state.Spends(ctx, scan, l.add)
			if err != nil {
				return nil, err
			}
			return l.answer(at)
		},
		remote: func(ctx context.Context, c peerClient) (*weirpb.ListSpendResponse, error) {
			res, err := c.spend.ListSpend(ctx, connect.NewRequest(m))
			if err != nil {
				return nil, err
			}
			return res.Msg, nil
		},
	}.run(ctx, r)
}

// ListSpend returns the spend of an account. weir.proto lists its errors.
func (s *spendService) ListSpend(ctx context.Context,
	req *connect.Request[weirpb.ListSpendRequest],
) (*connect.Response[weirpb.ListSpendResponse], error) {
	if s.router == nil {
		return nil, errNoRouter()
	}
	q, err := s.router.info.listQuery(req.Msg)
	if err != nil {
		return nil, err
	}
	res, err := s.router.listSpend(ctx, q, req.Msg)
	if err != nil {
		return nil, sourceError(err, fmt.Sprintf("spend of account %q", q.account))
	}
	if len(res.GetRows()) == 0 && q.from == nil && !requestMetaOf(ctx).forwarded {
		read := []*weirpb.AsOf{res.GetAsOf()}
		return nil, withAsOf(errorf(connect.CodeNotFound, "account %q has no spend%s, as of %s: check the id, the days and the currency",
			q.account, q.filterText(), asOfText(read)), read)
	}
	return connect.NewResponse(res), nil
}

// filterText describes the days and the currency of the query.
func (q listQuery) filterText() (text string) {
	if q.currency != "" {
		text += " in " + q.currency
	}
	return text + daysText(q.first, q.last)
}

func errNoRouter() error {
	return errorf(connect.CodeUnimplemented,
		"this process serves no lists of spend: send the request to a process with the role spendcounter")
}
