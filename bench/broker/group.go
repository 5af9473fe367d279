package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// Group observes the committed offsets of an application from outside its processes.
type Group struct {
	cl         *kgo.Client
	app, topic string
}

// WatchGroup returns a Group. Close it.
func WatchGroup(k kafka.Cluster, app, topic string) (*Group, error) {
	cl, err := k.Client()
	if err != nil {
		return nil, err
	}
	return &Group{cl, app, topic}, nil
}

// Close closes the connections.
func (g *Group) Close() { g.cl.Close() }

// Next returns the committed offset of each partition.
func (g *Group) Next(ctx context.Context) (map[int32]int64, error) {
	got, err := kadm.NewClient(g.cl).FetchOffsets(ctx, g.app)
	if err != nil {
		return nil, fmt.Errorf("read the committed offsets of %s: %w", g.app, err)
	}
	next := map[int32]int64{}
	got.Each(func(o kadm.OffsetResponse) {
		if o.Err == nil && o.Topic == g.topic && o.At > 0 {
			next[o.Partition] = o.At
		}
	})
	return next, nil
}

// Await waits until ok accepts the committed offsets and returns the time.
func (g *Group) Await(ctx context.Context, ok func(next map[int32]int64) bool) (time.Time, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		next, err := g.Next(ctx)
		if err == nil && ok(next) {
			return time.Now(), nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-tick.C:
		}
	}
}

// Total returns a condition for Await: at least n records in all.
func Total(n int64) func(map[int32]int64) bool {
	return func(next map[int32]int64) bool { return Sum(next) >= n }
}

// Sum returns the sum of the offsets.
func Sum(next map[int32]int64) (n int64) {
	for _, v := range next {
		n += v
	}
	return n
}

// AllPast returns a condition for Await: every partition is past its offset in before.
func AllPast(before map[int32]int64) func(map[int32]int64) bool {
	return func(next map[int32]int64) bool {
		for p, v := range before {
			if next[p] <= v {
				return false
			}
		}
		return true
	}
}
