package bridge

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// followStreams reads the table's streams one after the other until ctx ends. A stream that was
// disabled and enabled again is another stream.
func (b *Bridge) followStreams(ctx context.Context) {
	for {
		arn, ok := b.nextStream(ctx)
		if !ok {
			return
		}
		f := &streamReader{
			Bridge: b, arn: arn, lineage: newLineage(b.saved.shards[arn]), shardEnds: make(chan shardEnd), found: make(chan []shard),
		}
		if !f.run(ctx) {
			return
		}
	}
}

// streamReader reads one stream.
type streamReader struct {
	*Bridge
	arn       string
	lineage   *lineage
	shardEnds chan shardEnd
	found     chan []shard // children of a shard that ended; nil: a complete listing is needed
	disabled  atomic.Bool
	running   sync.WaitGroup
}

// run reads a stream until it is disabled and was read to its end, or no longer exists. It returns
// false if ctx ends before.
func (f *streamReader) run(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer f.running.Wait()
	defer cancel()
	for _, n := range f.lineage.nodes {
		if n.FinishedMs == 0 {
			f.health.read(n.ID, false, max(n.AfterMs, n.FoundMs))
		}
	}
	wait := backoff{least: f.cfg.PollMin, most: min(f.cfg.ListInterval, 5*time.Second)}
	list := time.NewTimer(0)
	defer list.Stop()
	for {
		f.health.setStream(f.arn, f.lineage.open())
		for _, n := range f.lineage.ready(time.Now().UnixMilli()) {
			if f.read(ctx, n) != nil {
				return false
			}
		}
		select {
		case <-ctx.Done():
			return false
		case e := <-f.shardEnds:
			n := f.lineage.nodes[e.id]
			if n.reading = false; e.gone {
				n.gone = true
				list.Reset(wait.least) // listings may contain the shard for some time
				continue
			}
			n.FinishedMs = time.Now().UnixMilli()
			if !f.disabled.Load() {
				f.running.Go(func() { f.children(ctx, e.id) })
			}
		case kids := <-f.found:
			if kids == nil {
				list.Reset(0)
				continue
			}
			if f.learn(ctx, kids, false) != nil {
				return false
			}
		case <-list.C:
			over, err := f.list(ctx)
			switch {
			case ctx.Err() != nil:
				return false
			case over:
				return f.endStream(ctx) == nil
			case err != nil:
				wait.next = min(max(2*wait.next, wait.least), wait.most)
				list.Reset(wait.next)
				continue
			}
			wait.reset()
			next := f.cfg.ListInterval
			if f.lineage.needsListing() {
				next = min(next, time.Second)
			}
			list.Reset(next)
		}
	}
}

// read starts the reader of a shard.
func (f *streamReader) read(ctx context.Context, n *node) error {
	n.reading = true
	nowMs := time.Now().UnixMilli()
	if n.orphaned > 0 && n.After == "" && nowMs-f.saved.streams[f.arn].BegunMs > retention.Milliseconds() {
		// The bridge has known the stream for longer than it keeps shards, and has missed one.
		d := &batch{}
		f.recordGap(d, n.Parent+" was never read and is no longer listed", nowMs)
		if err := f.push(ctx, d); err != nil {
			return err
		}
	}
	r := &shardReader{Bridge: f.Bridge, stream: f, at: n.shard}
	f.health.read(n.ID, false, max(n.AfterMs, n.FoundMs))
	f.running.Go(func() {
		e, ok := r.run(ctx)
		if !ok {
			return
		}
		select {
		case f.shardEnds <- e:
		case <-ctx.Done():
		}
	})
	return nil
}

// list applies a complete listing. over: the stream is disabled or no longer exists, and was read
// to its end.
func (f *streamReader) list(ctx context.Context) (over bool, err error) {
	var all []shard
	var status streamtypes.StreamStatus
	err = f.request(ctx, "list the shards", func(ctx context.Context) (err error) {
		all, status, err = f.describe(ctx)
		return err
	})
	if err != nil && errorKind(err) != missing {
		return false, err
	}
	if err != nil { // the stream no longer exists: what was not read is lost
		for range confirmListings {
			if err := f.learn(ctx, nil, true); err != nil {
				return false, err
			}
		}
		return f.lineage.open() == 0, err
	}
	f.disabled.Store(status == streamtypes.StreamStatusDisabled || status == streamtypes.StreamStatusDisabling)
	if err := f.learn(ctx, all, true); err != nil {
		return false, err
	}
	return f.disabled.Load() && f.lineage.open() == 0, nil
}

// describe returns all shards.
func (f *streamReader) describe(ctx context.Context) (all []shard, status streamtypes.StreamStatus, err error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &f.arn}
	for {
		out, err := f.streams.DescribeStream(ctx, in, noRetry)
		if err != nil {
			return nil, "", err
		}
		all = append(all, shardsOf(out)...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return all, out.StreamDescription.StreamStatus, nil
		}
	}
}

func shardsOf(out *dynamodbstreams.DescribeStreamOutput) (list []shard) {
	for _, s := range out.StreamDescription.Shards {
		list = append(list, shard{ID: aws.ToString(s.ShardId), Parent: aws.ToString(s.ParentShardId)})
	}
	return list
}

// children looks for the children of a shard that has ended. They may be listed a little later. The
// complete listings find the children that it misses.
func (f *streamReader) children(ctx context.Context, parent string) {
	in := &dynamodbstreams.DescribeStreamInput{
		StreamArn: &f.arn, ShardFilter: &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: &parent},
	}
	const operation = "list the children of a shard"
	defer f.health.setProblem(operation, nil)
	wait := backoff{least: 50 * time.Millisecond, most: time.Second}
	for range 10 {
		var kids []shard
		err := f.request(ctx, operation, func(ctx context.Context) error {
			out, err := f.streams.DescribeStream(ctx, in, noRetry)
			if err == nil { // an endpoint that ignores the filter lists other shards, too
				kids = slices.DeleteFunc(shardsOf(out), func(s shard) bool { return s.Parent != parent })
			}
			return err
		})
		if err == nil && len(kids) > 0 || err != nil && errorKind(err) == refused {
			select {
			case f.found <- kids:
			case <-ctx.Done():
			}
			return
		}
		if !wait.wait(ctx) {
			return
		}
	}
}

// learn applies a listing to the lineage and the state.
func (f *streamReader) learn(ctx context.Context, list []shard, whole bool) error {
	nowMs := time.Now().UnixMilli()
	d := &batch{}
	n := f.lineage.learn(list, whole, nowMs)
	for _, s := range n.found {
		f.tables.shards.Put(d, shardKey(f.arn, s.ID), s)
	}
	for _, s := range n.lost {
		f.health.finished(s.ID)
		s.FinishedMs = nowMs
		f.tables.shards.Put(d, shardKey(f.arn, s.ID), s)
		f.recordGap(d, s.ID+" was not read to its end and is no longer listed", nowMs)
	}
	for _, s := range n.forgotten {
		f.tables.shards.Delete(d, shardKey(f.arn, s.ID))
	}
	if d.Empty() {
		return nil
	}
	return f.push(ctx, d)
}

// endStream removes the shards of a stream that was read to its end from the state.
func (f *streamReader) endStream(ctx context.Context) error {
	s := f.saved.streams[f.arn]
	s.DoneMs = time.Now().UnixMilli()
	f.saved.streams[f.arn] = s
	f.log.Info().Str("stream", f.arn).Msg("stream_ended")
	d := &batch{}
	f.tables.streams.Put(d, f.arn, s)
	for id := range f.lineage.nodes {
		f.tables.shards.Delete(d, shardKey(f.arn, id))
	}
	return f.push(ctx, d)
}
