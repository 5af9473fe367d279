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

// follow reads the table's streams, one after the other: a stream that was disabled and enabled again is another one.
func (b *Bridge) follow(ctx context.Context) {
	for {
		arn, ok := b.nextStream(ctx)
		if !ok {
			return
		}
		f := &streamReader{Bridge: b, arn: arn, lineage: newLineage(b.saved.shards[arn]), shardEnds: make(chan shardEnd), found: make(chan []shard)}
		if !f.run(ctx) {
			return
		}
	}
}

// streamReader is the reading of one stream.
type streamReader struct {
	*Bridge
	arn       string
	lineage   *lineage
	shardEnds chan shardEnd
	found     chan []shard
	disabled  atomic.Bool
	running   sync.WaitGroup
}

// run reads a stream until it is disabled and all of it was read, or it is not there any more. false: ctx ended before.
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
				list.Reset(wait.least) // the list may go on naming it for a while
				continue
			}
			n.FinishedMs = time.Now().UnixMilli()
			if !f.disabled.Load() {
				f.running.Go(func() { f.children(ctx, e.id) })
			}
		case kids := <-f.found:
			if kids == nil { // who is asked does not know how to list some: list all
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
		d := &batch{} // a stream that we know for longer than it keeps shards has had one that we never saw
		f.recordGap(d, n.Parent+" was never read and is not listed any more", nowMs)
		if err := f.queue.push(ctx, d); err != nil {
			return err
		}
	}
	r := &reader{Bridge: f.Bridge, stream: f, at: n.shard}
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

// list learns all shards. over says that nothing is left of the stream, or of what will ever be in it.
func (f *streamReader) list(ctx context.Context) (over bool, err error) {
	var all []shard
	var status streamtypes.StreamStatus
	err = f.ask(ctx, "list the shards", func(ctx context.Context) (err error) {
		all, status, err = f.describe(ctx)
		return err
	})
	if err != nil && errorKind(err) != missing {
		return false, err
	}
	if err != nil { // the stream is gone, with all that was not read
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

// describe lists all shards.
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

// children looks for the shards that go on where one ended. They may be listed a little later; a listing of all finds those
// that are not found here.
func (f *streamReader) children(ctx context.Context, parent string) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &f.arn, ShardFilter: &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: &parent}}
	const who = "list the children of a shard"
	defer f.health.setProblem(who, nil)
	wait := backoff{least: 50 * time.Millisecond, most: time.Second}
	for range 10 {
		var kids []shard
		err := f.ask(ctx, who, func(ctx context.Context) error {
			out, err := f.streams.DescribeStream(ctx, in, noRetry)
			if err == nil { // one that does not know the filter lists others, too
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

// learn takes a listing over into the state.
func (f *streamReader) learn(ctx context.Context, list []shard, whole bool) error {
	nowMs := time.Now().UnixMilli()
	d := &batch{}
	n := f.lineage.learn(list, whole, nowMs)
	for _, s := range n.found {
		d.put(shardEntry(f.arn, s))
	}
	for _, s := range n.lost {
		f.health.finished(s.ID)
		s.FinishedMs = nowMs
		d.put(shardEntry(f.arn, s))
		f.recordGap(d, s.ID+" was not read to its end and is not listed any more", nowMs)
	}
	for _, s := range n.forgotten {
		d.put(entry{shardTable, f.arn + "\x00" + s.ID, nil})
	}
	if len(d.entries) == 0 {
		return nil
	}
	return f.queue.push(ctx, d)
}

// endStream ends a stream: that it ended is all that is kept of it.
func (f *streamReader) endStream(ctx context.Context) error {
	s := f.saved.streams[f.arn]
	s.DoneMs = time.Now().UnixMilli()
	f.saved.streams[f.arn] = s
	f.log.Info().Str("stream", f.arn).Msg("stream_ended")
	d := &batch{}
	d.put(entry{streamTable, f.arn, encode(s)})
	for id := range f.lineage.nodes {
		d.put(entry{shardTable, f.arn + "\x00" + id, nil})
	}
	return f.queue.push(ctx, d)
}
