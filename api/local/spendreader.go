package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/spendcounter"
)

// SpendReader implements api.SpendSource with the state of all partitions, in this and in other
// processes.
type SpendReader struct {
	State interface {
		Page(context.Context, api.PageQuery) (*api.Page, error)
	}
	Kafka  kafka.Cluster
	Inputs []string
	DC     string
	Shards int32
}

// Spend implements api.SpendSource.
func (f *SpendReader) Spend(ctx context.Context, q api.SpendQuery, fn func(*eventspb.Spend, *weirpb.AsOf) error) ([]*weirpb.AsOf, error) {
	prefix := spendcounter.CampaignPrefix(q.Campaign)
	if q.Account != "" {
		prefix = append(append(prefix, q.Account...), 0)
	}
	end := slices.Clone(prefix)
	end[len(end)-1]++ // the last byte is NUL
	var mu sync.Mutex
	var all []*weirpb.AsOf
	err := each(ctx, f.shards(q.Account), func(ctx context.Context, p int32) error {
		entries, asOf, err := f.readAll(ctx, api.PageQuery{Partition: p, Table: spendcounter.TableSpend, From: prefix, To: end, MaxStaleness: q.MaxStaleness})
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
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *weirpb.AsOf) int { return int(a.Partition - b.Partition) })
	return all, nil
}

// readAll reads all pages of a range from one snapshot.
func (f *SpendReader) readAll(ctx context.Context, q api.PageQuery) ([]api.Entry, *weirpb.AsOf, error) {
	const tries = 10
	from := q.From
	q.Limit = api.MaxPageKeys
	for range tries {
		var entries []api.Entry
		var first *weirpb.AsOf
		for q.From = from; ; {
			page, err := f.State.Page(ctx, q)
			if err != nil {
				return nil, nil, err
			}
			if first == nil {
				first = page.AsOf
			}
			if page.AsOf.ChangelogNext != first.ChangelogNext || page.AsOf.OwnerEpoch != first.OwnerEpoch {
				break // a commit happened between two pages
			}
			if entries = append(entries, page.Entries...); !page.More {
				return entries, first, nil
			}
			q.From = append(slices.Clone(entries[len(entries)-1].Key), 0)
		}
	}
	return nil, nil, fmt.Errorf("partition %d: a commit came between two pages of %[3]d records in each of %[2]d attempts: try again", q.Partition, tries, api.MaxPageKeys)
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

// each calls fn for all partitions concurrently, so that the timeout of a silent process is paid
// once. Partitions that cannot be read do not stop the others; the error at the end has all of
// them.
func each(ctx context.Context, partitions []int32, fn func(ctx context.Context, p int32) error) error {
	var mu sync.Mutex
	gaps := &api.PartitionsError{}
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range partitions {
		g.Go(func() error {
			err := fn(ctx, p)
			var some *api.PartitionsError
			if !errors.As(err, &some) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			gaps.Gaps = append(gaps.Gaps, some.Gaps...)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if len(gaps.Gaps) == 0 {
		return nil
	}
	slices.SortFunc(gaps.Gaps, func(a, b api.PartitionGap) int { return int(a.Partition - b.Partition) })
	return gaps
}

// WaitProduced implements api.SpendSource.
func (f *SpendReader) WaitProduced(ctx context.Context, account string) error {
	ends, err := kafka.EndOffsets(ctx, f.Kafka, f.Inputs...)
	if err != nil {
		return err
	}
	return each(ctx, f.shards(account), func(ctx context.Context, p int32) error {
		want := map[string]int64{}
		for topic, end := range ends {
			want[topic] = end[p]
		}
		return f.await(ctx, p, want)
	})
}

// maxWait is how long to wait for a partition that moves between two workers or two processes.
const maxWait = 10 * time.Second

// await returns once the inputs of the partition are folded up to want.
func (f *SpendReader) await(ctx context.Context, p int32, want map[string]int64) error {
	pause := 10 * time.Millisecond
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for lost := time.Now(); ; {
		page, err := f.State.Page(ctx, api.PageQuery{Partition: p, Table: spendcounter.TableTask, Limit: 1})
		var gaps *api.PartitionsError
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
				return gap(p, "stopped", why)
			}
		case !errors.As(err, &gaps) || time.Since(lost) > maxWait:
			return err
		}
		timer.Reset(pause)
		pause = min(2*pause, 50*time.Millisecond)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// Health implements api.SpendSource.
func (f *SpendReader) Health(ctx context.Context, fn func(*eventspb.SpendHistogram) error) error {
	var mu sync.Mutex
	return each(ctx, f.shards(""), func(ctx context.Context, p int32) error {
		key := spendcounter.HealthKey(f.DC, p)
		page, err := f.State.Page(ctx, api.PageQuery{Partition: p, Table: spendcounter.TableHealth, From: key, To: append(slices.Clone(key), 0), Limit: 1})
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
	})
}

var _ api.SpendSource = (*SpendReader)(nil)
