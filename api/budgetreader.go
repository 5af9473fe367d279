package api

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/stream"
)

// BudgetSource reads the budgets of all processes. Its methods are called concurrently. If a
// partition cannot be read, they return a *PartitionsError.
type BudgetSource interface {
	// Budgets returns the versions of an account. Their horizon is not set.
	Budgets(ctx context.Context, account string, maxStaleness time.Duration) (budget.Versions, *weirpb.AsOf, error)
	// Page returns versions of a partition, from a key of pacing.TableBudgets on.
	Page(ctx context.Context, q PageQuery) (list []*budget.Document, more bool, err error)
	// Partitions returns the number of partitions.
	Partitions() int32
}

// BudgetSink writes documents to the topic of budgets. Its method is called concurrently.
type BudgetSink interface {
	// Produce returns when all records are acknowledged. After an error some of them may be
	// written.
	Produce(ctx context.Context, list []*budget.Document) error
}

// BudgetReader is the BudgetSource of the state of pacing.
type BudgetReader struct {
	State  *Router
	Shards int32
}

// Partitions implements BudgetSource.
func (f *BudgetReader) Partitions() int32 { return f.Shards }

// Budgets implements BudgetSource.
func (f *BudgetReader) Budgets(ctx context.Context, account string, stale time.Duration) (v budget.Versions, at *weirpb.AsOf, err error) {
	r := &snapshotReader{state: f.State, partition: events.Shard(account, f.Shards), maxStaleness: stale}
	entries, err := r.prefix(ctx, pacing.TableBudgets, budget.AccountPrefix(nil, account))
	if err != nil {
		return v, r.asOf, err
	}
	v.List, err = documents(entries)
	return v, r.asOf, err
}

// Page implements BudgetSource.
func (f *BudgetReader) Page(ctx context.Context, q PageQuery) (list []*budget.Document, more bool, err error) {
	q.Table = pacing.TableBudgets
	page, err := f.State.Page(ctx, q)
	if err != nil {
		return nil, false, err
	}
	list, err = documents(page.Entries)
	return list, page.More, err
}

func documents(entries []Entry) (list []*budget.Document, err error) {
	for _, e := range entries {
		d, err := budget.Unmarshal(e.Value)
		if err != nil {
			return nil, fmt.Errorf("budgets %q: %w", e.Key, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// budgetState returns the state of a version. next is the next one of its account, nil for the
// last.
func budgetState(d, next *budget.Document, nowMs int64) string {
	switch {
	case d.EffectiveMs > nowMs:
		return "scheduled"
	case next != nil && next.EffectiveMs <= nowMs:
		return "replaced"
	}
	return "in_force"
}

func newBudgetVersion(d, next *budget.Document, nowMs int64) *weirpb.BudgetVersion {
	return &weirpb.BudgetVersion{
		Account: d.Account, Version: d.Version, State: budgetState(d, next, nowMs), EffectiveFromMs: d.EffectiveMs,
		TimeZone: d.Zone, Currency: d.Currency, Campaigns: int32(len(d.Campaigns)), Shared: int32(len(d.Shared)),
	}
}

// MaxBudgetVersions is the maximum number of versions of a page.
const MaxBudgetVersions = 1000

// listBudgets returns the versions from q.From in q.Partition on, and the position of the next
// page. That of the last page is behind the last partition.
func listBudgets(ctx context.Context, s BudgetSource, q PageQuery) (all []*budget.Document, next position, err error) {
	limit := q.Limit
	for q.Partition < s.Partitions() && len(all) < limit {
		q.Limit = limit - len(all)
		list, more, err := s.Page(ctx, q)
		if err != nil {
			return nil, next, err
		}
		all = append(all, list...)
		switch {
		case more && len(list) == 0:
			return nil, next, sourceBug("a page of partition %d is empty but not the last", q.Partition)
		case more:
			last := list[len(list)-1]
			return all, position{q.Partition, append(budget.AppendKey(nil, last.Account, last.Version), 0)}, nil
		}
		q.Partition, q.From = q.Partition+1, nil
	}
	return all, position{partition: q.Partition}, nil
}

// successor returns the next version of the last document of a page, if it is of the same account.
func successor(ctx context.Context, s BudgetSource, last *budget.Document, stale time.Duration) (*budget.Document, error) {
	list, _, err := s.Page(ctx, PageQuery{
		Partition: events.Shard(last.Account, s.Partitions()), From: budget.AppendKey(nil, last.Account, last.Version+1),
		To: stream.PrefixEnd(budget.AccountPrefix(nil, last.Account)), Limit: 1, MaxStaleness: stale,
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// inRange reports whether a token is of a partition that exists.
func (p position) inRange(partitions int32) bool { return p.partition >= 0 && p.partition < partitions }

// sameAccount returns the document after list[i] if it is of the same account, nil otherwise.
func sameAccount(list []*budget.Document, i int) *budget.Document {
	if i+1 < len(list) && list[i+1].Account == list[i].Account {
		return list[i+1]
	}
	return nil
}

// holds reports whether v has d: its version with its content.
func holds(v budget.Versions, d *budget.Document) bool {
	return slices.ContainsFunc(v.List, func(o *budget.Document) bool { return bytes.Equal(o.Encode(), d.Encode()) })
}

var _ BudgetSource = (*BudgetReader)(nil)
