package api

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/stream"
)

// PackReader reads how accounts are paced, from the state of pacing of all processes. If a
// partition cannot be read, its methods return a *PartitionsError. It is safe for concurrent use.
type PackReader struct {
	State  *Router
	Shards int32 // number of partitions
}

// packs are the packs of an account, in the order of their parts.
type packs []*eventspb.AccountPack

// account returns the packs of an account, of one snapshot. An account that is not paced has none.
func (f *PackReader) account(ctx context.Context, account string, stale time.Duration) (packs, *weirpb.AsOf, error) {
	r := &snapshotReader{state: f.State, partition: events.Shard(account, f.Shards), maxStaleness: stale}
	entries, err := r.prefix(ctx, pacing.TablePacks, budget.AccountPrefix(nil, account))
	if err != nil {
		return nil, r.asOf, err
	}
	list, err := decodePacks(entries)
	return list, r.asOf, err
}

func decodePacks(entries []Entry) (list packs, err error) {
	for _, e := range entries {
		m := &eventspb.AccountPack{}
		if err := proto.Unmarshal(e.Value, m); err != nil {
			return nil, fmt.Errorf("pack %q: %w", e.Key, err)
		}
		list = append(list, m)
	}
	return list, nil
}

// packPage is a page of accounts of a partition.
type packPage struct {
	accounts []packs
	bytes    int    // of the packs
	next     []byte // key from which the next page begins; nil: no page follows
}

// page returns accounts of a partition from a key of pacing.TablePacks on: at most q.Limit. Each
// account has all of its packs.
func (f *PackReader) page(ctx context.Context, q PageQuery) (out packPage, err error) {
	q.Table = pacing.TablePacks
	raw, err := f.State.Page(ctx, q)
	if err != nil {
		return out, err
	}
	list, err := decodePacks(raw.Entries)
	if err != nil {
		return out, err
	}
	for _, e := range raw.Entries {
		out.bytes += len(e.Value)
	}
	out.accounts = accountsOf(list)
	n := len(out.accounts)
	switch {
	case !raw.More:
		return out, nil
	case n == 0:
		return out, sourceBug("a page of partition %d is empty but not the last", q.Partition)
	}
	last := out.accounts[n-1]
	name := last[0].GetAccount()
	out.next = stream.PrefixEnd(budget.AccountPrefix(nil, name))
	if len(last) >= int(last[0].GetParts()) {
		return out, nil
	}
	whole, _, err := f.account(ctx, name, q.MaxStaleness) // the page has cut it
	if err != nil {
		return out, err
	}
	if out.accounts[n-1] = whole; len(whole) == 0 { // it was removed
		out.accounts = out.accounts[:n-1]
	}
	return out, nil
}

// accountsOf groups the packs of accounts, which follow each other.
func accountsOf(list packs) (all []packs) {
	for i, m := range list {
		if i == 0 || list[i-1].GetAccount() != m.GetAccount() {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], m)
	}
	return all
}

// shard counts the campaigns of a partition, in this process or in its owner.
func (f *PackReader) shard(ctx context.Context, p int32, maxStaleness time.Duration) (*weirpb.PacingShard, error) {
	r := f.State
	return lookup[*weirpb.PacingShard]{
		partition: p, maxStaleness: maxStaleness, limit: scanLimit,
		local: func(ctx context.Context, stale time.Duration) (*weirpb.PacingShard, error) {
			select {
			case r.scans <- struct{}{}:
				defer func() { <-r.scans }()
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return countShard(ctx, r.state, PageQuery{Partition: p, Table: pacing.TablePacks, Limit: MaxPageKeys, MaxStaleness: stale})
		},
		remote: func(ctx context.Context, c peerClient) (*weirpb.PacingShard, error) {
			res, err := c.pacing.GetPacingStatus(ctx, connect.NewRequest(&weirpb.GetPacingStatusRequest{
				Partition: &p, MaxStalenessMs: maxStaleness.Milliseconds(),
			}))
			if err != nil {
				return nil, err
			}
			if gaps := res.Msg.GetGaps(); len(gaps) == 1 {
				return nil, errorf(connect.CodeUnavailable, "partition %d is %s: %s", p, gaps[0].GetState(), gaps[0].GetReason())
			}
			if len(res.Msg.GetShards()) != 1 {
				return nil, sourceBug("the pacing of one partition has %d entries", len(res.Msg.GetShards()))
			}
			return res.Msg.GetShards()[0], nil
		},
	}.run(ctx, r)
}

// countShard counts the campaigns of a partition that s has, and the accounts that are not paced.
// Its pages may be of several snapshots.
func countShard(ctx context.Context, s pager, q PageQuery) (*weirpb.PacingShard, error) {
	t := newShardCounter(q.Partition, time.Now().UnixMilli())
	err := eachPage(ctx, s, q, func(page *Page) error {
		t.out.AsOf = page.AsOf
		list, err := decodePacks(page.Entries)
		for _, m := range list {
			t.add(m)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	q.Table = pacing.TableBudgets
	if err := eachPage(ctx, s, q, func(page *Page) error { return t.addBudgets(page.Entries) }); err != nil {
		return nil, err
	}
	return t.done(), nil
}
