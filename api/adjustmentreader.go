package api

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// Adjustments implements AdjustmentSource.
func (f *SpendReader) Adjustments(ctx context.Context, q AdjustmentQuery) (*AdjustmentPage, error) {
	prefix := spendcounter.ReferencePrefix(q.Account)
	p := events.Shard(q.Account, f.Shards)
	from := prefix
	if q.After != "" {
		from = append(append(bytes.Clone(prefix), q.After...), 0)
	}
	page, err := f.State.Page(ctx, PageQuery{
		Partition: p, Table: spendcounter.TableReferences, From: from, To: stream.PrefixEnd(prefix), Limit: q.Limit,
		MaxStaleness: q.MaxStaleness,
	})
	if err != nil {
		return nil, err
	}
	out := &AdjustmentPage{AsOf: page.AsOf, More: page.More}
	days := dayReader{state: f.State, partition: p, account: q.Account, maxStaleness: q.MaxStaleness, known: map[string]bool{}}
	for _, e := range page.Entries {
		a, err := spendcounter.ParseReference(e.Value)
		if err != nil {
			return nil, fmt.Errorf("adjustment %q in partition %d: %w", e.Key, p, err)
		}
		row := &weirpb.Adjustment{
			Account: q.Account, ReferenceId: string(e.Key[len(prefix):]), Campaign: a.Campaign, Day: events.Day(a.BudgetDay).String(),
			Currency: a.Currency, Micros: a.Micros,
			ServingDc: a.ServingDc, Reason: a.Reason, IngestMs: a.IngestMs, Duplicates: a.Duplicates, Conflicts: a.Conflicts,
		}
		if row.OverRefunded, err = days.overRefunded(ctx, a); err != nil {
			return nil, err
		}
		out.Adjustments = append(out.Adjustments, row)
	}
	return out, nil
}

// dayReader reads campaign days of an account, each once.
type dayReader struct {
	state        pager
	partition    int32
	account      string
	maxStaleness time.Duration
	known        map[string]bool // over-refunded, by key of the campaign day
}

// overRefunded reports whether the refunds of the campaign day of a exceed its charges.
func (r *dayReader) overRefunded(ctx context.Context, a *spendpb.AppliedAdjustment) (bool, error) {
	currency, err := events.ParseCurrency(a.Currency)
	if err != nil {
		return false, err
	}
	key := spendcounter.AppendKey(nil, []byte(r.account), []byte(a.Campaign), events.Day(a.BudgetDay), currency)
	if over, ok := r.known[string(key)]; ok {
		return over, nil
	}
	page, err := r.state.Page(ctx, PageQuery{
		Partition: r.partition, Table: spendcounter.TableSpend, From: key, To: append(bytes.Clone(key), 0), Limit: 1,
		MaxStaleness: r.maxStaleness,
	})
	if err != nil {
		return false, err
	}
	over := false
	for _, e := range page.Entries {
		s := &eventspb.Spend{}
		if err := proto.Unmarshal(e.Value, s); err != nil {
			return false, fmt.Errorf("spend record %q in partition %d: %w", e.Key, r.partition, err)
		}
		charged, refunded := int64(0), int64(0) // of one task, whose sums fit int64
		for _, by := range s.ByDc {
			charged, refunded = charged+by.ChargedMicros, refunded+by.RefundedMicros
		}
		over = refunded > charged
	}
	r.known[string(key)] = over
	return over, nil
}

var _ AdjustmentSource = (*SpendReader)(nil)
