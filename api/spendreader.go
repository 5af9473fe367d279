package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// SpendReader implements SpendSource and AdjustmentSource with the state of all partitions, in this
// and in other processes.
type SpendReader struct {
	State  pager // a Router
	DC     string
	Shards int32
	// Ends returns the end offsets of the spend counter's inputs, by topic and partition.
	Ends func(context.Context) (map[string]map[int32]int64, error)
}

// Spend implements SpendSource.
func (f *SpendReader) Spend(ctx context.Context, q SpendQuery, fn func(*eventspb.Spend, *weirpb.AsOf) error) ([]*weirpb.AsOf, error) {
	var mu sync.Mutex
	var all []*weirpb.AsOf
	err := eachPartition(ctx, f.shards(q.Account), func(ctx context.Context, p int32) error {
		entries, asOf, err := f.campaign(ctx, p, q)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, asOf)
		for _, e := range entries {
			s := &eventspb.Spend{}
			if err := proto.Unmarshal(e.Value, s); err != nil {
				return fmt.Errorf("spend record of campaign %s in partition %d: %w", q.Campaign, p, err)
			}
			if err := fn(s, asOf); err != nil {
				return err
			}
		}
		return nil
	}).gaps()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *weirpb.AsOf) int { return int(a.Partition - b.Partition) })
	return all, nil
}

// campaign reads the campaign days of a campaign in a partition, of one account or of all accounts
// that have the campaign, from one snapshot.
func (f *SpendReader) campaign(ctx context.Context, p int32, q SpendQuery) ([]Entry, *weirpb.AsOf, error) {
	r := &snapshotReader{state: f.State, partition: p, maxStaleness: q.MaxStaleness}
	entries, err := r.untilOneSnapshot(func() ([]Entry, error) { return r.campaign(ctx, q) })
	return entries, r.asOf, err
}

// snapshotReader reads ranges of one partition page by page, all from one snapshot.
type snapshotReader struct {
	state        pager
	partition    int32
	maxStaleness time.Duration
	asOf         *weirpb.AsOf // of the first page
}

// pager reads one page of a partition.
type pager interface {
	Page(context.Context, PageQuery) (*Page, error)
}

// eachPage calls fn for each page from q on. The pages may be of several snapshots.
func eachPage(ctx context.Context, s pager, q PageQuery, fn func(*Page) error) error {
	for {
		page, err := s.Page(ctx, q)
		if err != nil {
			return err
		}
		if err := fn(page); err != nil {
			return err
		}
		n := len(page.Entries)
		switch {
		case !page.More:
			return nil
		case n == 0:
			return sourceBug("a page of partition %d is empty but not the last", q.Partition)
		}
		q.From = append(slices.Clone(page.Entries[n-1].Key), 0)
	}
}

// errCommitted means that a commit happened between two pages.
var errCommitted = errors.New("a commit came between two pages")

// untilOneSnapshot calls read, which reads with r, again until no commit comes between its pages.
// It returns an error of code Unavailable if one comes each time.
func (r *snapshotReader) untilOneSnapshot(read func() ([]Entry, error)) ([]Entry, error) {
	const tries = 10
	for range tries {
		r.asOf = nil
		if entries, err := read(); !errors.Is(err, errCommitted) {
			return entries, err
		}
	}
	return nil, errorf(connect.CodeUnavailable,
		"partition %d: in each of %d attempts a commit came between two pages of %d records: try again", r.partition, tries, MaxPageKeys)
}

func (r *snapshotReader) campaign(ctx context.Context, q SpendQuery) (entries []Entry, err error) {
	accounts := []string{q.Account}
	if q.Account == "" {
		index, err := r.all(ctx, spendcounter.TableCampaigns, spendcounter.IndexPrefix(q.Campaign))
		if err != nil {
			return nil, err
		}
		accounts = nil
		for _, e := range index {
			_, account, err := spendcounter.ParseIndexKey(e.Key)
			if err != nil {
				return nil, err
			}
			accounts = append(accounts, string(account))
		}
	}
	for _, account := range accounts {
		days, err := r.all(ctx, spendcounter.TableSpend, spendcounter.CampaignPrefix(account, q.Campaign))
		if err != nil {
			return nil, err
		}
		entries = append(entries, days...)
	}
	return entries, nil
}

// all returns the entries of a table whose keys begin with prefix.
func (r *snapshotReader) all(ctx context.Context, table byte, prefix []byte) (entries []Entry, err error) {
	q := PageQuery{
		Partition: r.partition, Table: table, From: prefix, To: stream.PrefixEnd(prefix), Limit: MaxPageKeys, MaxStaleness: r.maxStaleness,
	}
	err = eachPage(ctx, r.state, q, func(page *Page) error {
		if r.asOf == nil {
			r.asOf = page.AsOf
		}
		if page.AsOf.ChangelogNext != r.asOf.ChangelogNext || page.AsOf.OwnerEpoch != r.asOf.OwnerEpoch {
			return errCommitted
		}
		entries = append(entries, page.Entries...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// prefix is all, of one snapshot.
func (r *snapshotReader) prefix(ctx context.Context, table byte, prefix []byte) ([]Entry, error) {
	return r.untilOneSnapshot(func() ([]Entry, error) { return r.all(ctx, table, prefix) })
}

// shards returns the partitions that can have the account's records: all if account is empty.
func (f *SpendReader) shards(account string) []int32 {
	if account != "" {
		return []int32{events.Shard(account, f.Shards)}
	}
	var all []int32
	for p := range f.Shards {
		all = append(all, p)
	}
	return all
}

// WaitProduced implements SpendSource.
func (f *SpendReader) WaitProduced(ctx context.Context, account string) error {
	ends, err := f.Ends(ctx)
	if err != nil {
		return err
	}
	return eachPartition(ctx, f.shards(account), func(ctx context.Context, p int32) error {
		want := map[string]int64{}
		for topic, end := range ends {
			want[topic] = end[p]
		}
		return f.await(ctx, p, want)
	}).gaps()
}

// maxWait is how long to wait for a partition that moves between two workers or two processes.
const maxWait = 10 * time.Second

// await returns once the inputs of the partition are folded up to want.
func (f *SpendReader) await(ctx context.Context, p int32, want map[string]int64) error {
	lost := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		page, err := f.State.Page(ctx, PageQuery{Partition: p, Table: spendcounter.TableTask, Limit: 1})
		var gaps *PartitionsError
		switch {
		case err == nil:
			lost = time.Now()
			behind := false
			for topic, next := range want {
				behind = behind || page.AsOf.NextOffsets[topic] < next
			}
			if !behind {
				return nil
			}
			if why := page.AsOf.GetServedBy().GetStopped(); why != "" {
				return &PartitionsError{Gaps: []PartitionGap{{Partition: p, State: stateStopped, Reason: why}}}
			}
		case !errors.As(err, &gaps) || time.Since(lost) > maxWait:
			return err
		}
		if !pause.For(ctx, wait) {
			return ctx.Err()
		}
	}
}

// Health implements SpendSource.
func (f *SpendReader) Health(ctx context.Context, fn func(*eventspb.SpendHistogram) error) error {
	var mu sync.Mutex
	return eachPartition(ctx, f.shards(""), func(ctx context.Context, p int32) error {
		key := spendcounter.HealthKey(f.DC, p)
		page, err := f.State.Page(ctx,
			PageQuery{Partition: p, Table: spendcounter.TableHealth, From: key, To: append(slices.Clone(key), 0), Limit: 1})
		if err != nil || len(page.Entries) == 0 {
			return err
		}
		h := &eventspb.SpendHistogram{}
		if err := proto.Unmarshal(page.Entries[0].Value, h); err != nil {
			return fmt.Errorf("health record of shard %d: %w", p, err)
		}
		mu.Lock()
		defer mu.Unlock()
		return fn(h)
	}).gaps()
}

var _ SpendSource = (*SpendReader)(nil)
