package mirror

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream"
)

// copier copies one partition of one topic of one peer.
type copier struct {
	m           *Mirror
	peer        *peer
	topic, copy string // its name at the peer and here
	key         string // of its rows
	at          position
	compacted   bool                // copy needs keys
	share       *semaphore.Weighted // of the bytes of the queue
	shareBytes  int64
	origin      []byte            // header, used again
	headers     []stream.Header   // used again
	claimed     logreader.TopicID // the log that was found to be the peer's

	mu      sync.Mutex
	log     logreader.TopicID // that of at
	asked   Instruction
	isAsked bool
	wake    context.CancelFunc   // ends a wait for records
	part    *logreader.Partition // that is open; nil: none
	problem string               // why part could not be opened
	refused error                // why the log of part is not copied
	copied  int64                // records handed over
	lastMs  int64                // timestamp of the last of them
	// caughtMs is when the brokers of the peer were asked last while nothing waited, Unix ms; 0:
	// never.
	caughtMs int64
}

const (
	// batchBytes is the size of a batch that is read at once.
	batchBytes = 128 << 10
	// OversizeHeader is the header of a copy without key and value: the size of its record.
	OversizeHeader = "weir-oversize"
	reopenPause    = time.Second
	// refusedPause is the time until a log that is refused is looked at again.
	refusedPause = 10 * time.Second
)

func newCopier(m *Mirror, p *peer, t Topic, share int) *copier {
	to := t.Copy(p.DC)
	return &copier{
		m: m, peer: p, topic: t.Name, copy: to.Name, compacted: to.Cleanup == stream.CleanupCompact, key: copyKey(p.DC, t.Name),
		at:    start(),
		share: semaphore.NewWeighted(int64(share)), shareBytes: int64(share), wake: func() {},
	}
}

// run copies until ctx ends.
func (c *copier) run(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := c.peer.reader.Open( //nolint:contextcheck // the reader is shared, and outlives ctx
			c.topic, c.m.task.Partition, c.at.Position)
		c.mu.Lock()
		if c.part, c.problem = p, ""; err != nil {
			c.problem = err.Error()
		}
		c.mu.Unlock()
		if err != nil {
			pause.For(ctx, reopenPause)
			continue
		}
		wait := c.read(ctx, p)
		c.mu.Lock()
		c.part = nil
		c.mu.Unlock()
		p.Close()
		pause.For(ctx, wait)
	}
}

// read copies until ctx ends, until an instruction moves the position, or until the log is refused.
// It returns the time until the log is opened again.
func (c *copier) read(ctx context.Context, p *logreader.Partition) (wait time.Duration) {
	var b logreader.Batch
	for {
		waiting, cancel := context.WithCancel(ctx)
		c.mu.Lock()
		if c.wake = cancel; c.isAsked {
			cancel()
		}
		c.mu.Unlock()
		err := p.Next(waiting, &b, batchBytes)
		interrupted := waiting.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return 0
		case err == nil:
			if !c.claim(ctx, b.After.Topic) {
				return refusedPause
			}
			if c.hand(ctx, &b) != nil {
				return 0
			}
		case !interrupted:
			c.m.cfg.Metrics.stops.WithLabelValues(c.peer.DC, c.topic).Inc()
			c.m.log.Error().Str("peer", c.peer.DC).Str("topic", c.topic).Int64("offset", c.at.Next).Err(err).Msg("mirror_stopped")
		}
		if c.obey(ctx) {
			return 0
		}
	}
}

// claim returns whether a log may be copied as that of the peer: see ClaimedError. It waits while
// the brokers of this datacentre do not answer.
func (c *copier) claim(ctx context.Context, id logreader.TopicID) bool {
	if c.claimed == id && c.refused == nil { // no other goroutine writes them
		return true
	}
	for {
		err := c.checkOwner(ctx, id)
		if ctx.Err() != nil {
			return false
		}
		claimed := errors.As(err, new(*ClaimedError))
		c.mu.Lock()
		again := errors.As(c.refused, new(*ClaimedError))
		c.refused = err
		c.mu.Unlock()
		switch {
		case err == nil:
			c.claimed = id
			return true
		case claimed && !again:
			c.m.cfg.Metrics.stops.WithLabelValues(c.peer.DC, c.topic).Inc()
			c.m.log.Error().Str("peer", c.peer.DC).Str("topic", c.topic).Int64("offset", c.at.Next).Err(err).Msg("mirror_stopped")
		}
		if claimed || !pause.For(ctx, refusedPause) {
			return false
		}
	}
}

// checkOwner makes the peer the owner of a log. Its error is a *ClaimedError, or that of the
// brokers of this datacentre.
func (c *copier) checkOwner(ctx context.Context, id logreader.TopicID) error {
	own, err := c.m.cfg.own.id(ctx, c.topic)
	if err != nil {
		return err
	}
	if own == id {
		return &ClaimedError{Topic: c.topic, Peer: c.peer.DC, ID: id, Own: true}
	}
	if owner := c.m.claims.claim(id, c.key); owner != c.key {
		return &ClaimedError{Topic: c.topic, Peer: c.peer.DC, ID: id, Owner: owner}
	}
	return nil
}

// hand hands a batch over, with the position after it. The error is that of ctx.
func (c *copier) hand(ctx context.Context, b *logreader.Batch) error {
	out, size := &stream.SourceBatch{}, 0
	for i := range b.Records {
		size += c.emit(out, position{Position: b.After, Log: c.at.Log}.log(), &b.Records[i])
	}
	c.at.Position = b.After
	c.m.tables.positions.Put(out, c.key, c.at)
	if err := c.peer.limit.wait(ctx, size); err != nil {
		return err
	}
	if err := c.push(ctx, out, int64(size)); err != nil {
		return err
	}
	c.mu.Lock()
	c.copied += int64(len(b.Records))
	if n := len(b.Records); n > 0 {
		c.lastMs = b.Records[n-1].TimeMs
	}
	c.mu.Unlock()
	c.m.cfg.Metrics.copied(c, len(b.Records), size)
	return nil
}

// emit adds the copy of a record to a batch, and returns the record's size.
func (c *copier) emit(out *stream.SourceBatch, log logreader.TopicID, r *logreader.Record) int {
	partition := c.m.task.Partition
	c.origin = events.AppendOrigin(c.origin[:0], events.Origin{Topic: log, Partition: partition, Offset: r.Offset, Previous: c.at.Last})
	c.at.Last = r.Offset
	size := len(r.Key) + len(r.Value)
	c.headers = c.headers[:0]
	for _, h := range r.Headers {
		size += len(h.Key) + len(h.Value)
		if h.Key != events.OriginHeader { // a producer's own: it would hide the place
			c.headers = append(c.headers, h)
		}
	}
	// Without a timestamp the copy would get that of the copying, another in each datacentre.
	msg := stream.Message{Key: r.Key, Value: r.Value, TimeMs: max(r.TimeMs, 1)}
	if size > c.m.cfg.MaxRecord {
		msg.Key, msg.Value = nil, []byte{}
		c.headers = append(c.headers[:0], stream.Header{Key: OversizeHeader, Value: strconv.AppendInt(nil, int64(size), 10)})
	}
	if c.compacted && msg.Key == nil { // brokers refuse it, and with it the transaction
		msg.Key = c.origin
	}
	c.headers = append(c.headers, stream.Header{Key: events.OriginHeader, Value: c.origin})
	msg.Headers = c.headers
	out.EmitTo(c.copy, partition, msg)
	return size
}

// push hands a batch over, within the copier's share of the queue. The error is that of ctx.
func (c *copier) push(ctx context.Context, out *stream.SourceBatch, size int64) error {
	size = min(max(size, 1), c.shareBytes)
	if err := c.share.Acquire(ctx, size); err != nil {
		return err //nolint:wrapcheck // it is the error of ctx
	}
	out.OnFlush(func(stream.Commit, *stream.Changes) { c.share.Release(size) })
	if err := c.m.queue.Push(ctx, out); err != nil {
		return err //nolint:wrapcheck // it is the error of ctx
	}
	if c.m.queue.Bytes() > c.m.cfg.QueueBytes/2 {
		c.m.task.Wake()
	}
	return nil
}

// ask passes an instruction to the copier.
func (c *copier) ask(i Instruction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.isAsked = i, true
	c.wake()
}

// obey carries out an instruction, and returns whether it has moved the position.
func (c *copier) obey(ctx context.Context) bool {
	c.mu.Lock()
	i, asked := c.asked, c.isAsked
	c.isAsked = false
	c.mu.Unlock()
	if !asked {
		return false
	}
	at := c.at
	if at.Next < 0 { // nothing was copied: the reader knows where the log begins
		at.Position = c.part.Status().At
	}
	after, ok := i.apply(at)
	ok = ok && c.claim(ctx, after.Topic)
	var out stream.SourceBatch
	c.m.tables.instructions.Delete(&out, c.key)
	log := c.m.log.Warn().Str("peer", c.peer.DC).Str("topic", c.topic).Int64("at", at.Next).Int64("from", i.From).Int64("to", i.To).
		Str("who", i.Who).Str("why", i.Why)
	if !ok {
		log.Msg("mirror_instruction_void")
		_ = c.push(ctx, &out, 0) // without it, the next source finds the instruction void again
		return false
	}
	c.at = after
	c.mu.Lock()
	c.log = c.at.Log
	c.mu.Unlock()
	c.m.tables.positions.Put(&out, c.key, c.at)
	c.m.tables.skips.Put(&out, skipKey(i), i)
	log.Msg("mirror_skipped")
	return c.push(ctx, &out, 0) == nil
}
