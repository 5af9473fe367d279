package push

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream"
)

// errCopyRecreated ends the following: the copies are gone.
var errCopyRecreated = errors.New("the topic of the copies was created again")

// follow reads on from the position, until ctx ends or the position cannot tell any more what the
// copy has. It returns why. While a comparison is under way, it begins at the start of the log.
func (p *pusher) follow(ctx context.Context) (why string) {
	p.read, p.health = p.at, p.at.Held
	if p.compare != nil {
		p.read, p.health = p.compare.from, nil
	}
	part, err := p.cfg.reader.Open( //nolint:contextcheck // the reader is shared, and outlives ctx
		p.cfg.Dataset, p.task.Partition, p.read.Position)
	if err != nil {
		p.setProblem(err)
		pause.For(ctx, retryPause)
		return ""
	}
	p.setPart(part, true)
	defer func() {
		p.setPart(nil, false)
		part.Close()
		p.rows, p.health = newRows(), nil
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.watchCopy(ctx, p.read.Copy, cancel)
	}()
	defer func() { cancel(nil); <-watched }()
	var b logreader.Batch
	for {
		waiting, stop := context.WithTimeout(ctx, p.cfg.Interval)
		err := part.Next(waiting, &b, batchBytes)
		stop()
		switch {
		case ctx.Err() != nil:
			if errors.Is(context.Cause(ctx), errCopyRecreated) {
				return errCopyRecreated.Error()
			}
			return ""
		case err == nil:
			if p.compare == nil && p.read.tooOld(p.cfg.TombstonesKept, time.Now()) {
				return "the rows were read so late that tombstones may be gone"
			}
			p.take(&b)
		case errors.Is(err, context.DeadlineExceeded):
		case again(err) || p.compare != nil:
			return err.Error()
		default:
			p.cfg.Metrics.stops.WithLabelValues(p.cfg.Target).Inc()
			p.log.Error().Int64("offset", p.read.Next).Err(err).Msg("push_stopped")
		}
		if p.compare != nil {
			if why := p.compare.failed(p.cfg.TombstonesKept); why != "" {
				return why
			}
		}
		atEnd := p.observeEnd(part.Status())
		if p.rows.bytes < p.cfg.QueueBytes/2 && time.Since(p.handed) < p.cfg.Interval {
			continue
		}
		if p.handOver(ctx, atEnd) != nil {
			return ""
		}
	}
}

// again reports whether the push compares after an error of the dataset's log: the log is another
// one, or has lost records.
func again(err error) bool {
	return errors.As(err, new(*logreader.RecreatedError)) || errors.As(err, new(*logreader.TruncatedError)) ||
		kafka.Skippable(err) && !kafka.Damaged(err)
}

// watchCopy ends the following when the topic of the copies is another one.
func (p *pusher) watchCopy(ctx context.Context, was logreader.TopicID, end context.CancelCauseFunc) {
	for pause.For(ctx, copyInterval) {
		if id, err := p.cfg.copyTopic.ask(ctx); err == nil && id != was {
			end(errCopyRecreated)
		}
	}
}

// take takes the rows of a batch.
func (p *pusher) take(b *logreader.Batch) {
	for _, rec := range b.Records {
		p.read.AsOfMs = max(p.read.AsOfMs, rec.TimeMs)
		switch {
		case len(rec.Key) == 0 || !slices.Contains(p.cfg.Tables, rec.Key[0]):
		case rec.Key[0] == p.cfg.Health:
			p.health = &rec
		case p.compare == nil || p.compare.wants(&rec):
			p.rows.put(rec)
		}
	}
	p.read.Position = b.After
}

// observeEnd takes the state of the log, and returns whether everything was read that it had a
// moment ago.
func (p *pusher) observeEnd(s logreader.Status) bool {
	if s.At.Next > p.read.Next {
		p.read.Position = s.At // behind emptied batches
	}
	if s.Reason != "" || s.End < 0 || p.read.Next < s.End || time.Since(s.EndAt) > p.cfg.HealthAge {
		return false
	}
	p.read.AsOfMs = max(p.read.AsOfMs, s.EndAt.UnixMilli())
	return true
}

// handOver hands over the rows that wait and the position behind them. atEnd is whether the log has
// been read to its end. The error is that of ctx.
func (p *pusher) handOver(ctx context.Context, atEnd bool) error {
	fresh := atEnd || p.health != nil && time.Since(time.UnixMilli(p.health.TimeMs)) < p.cfg.HealthAge
	if c := p.compare; c != nil && p.read.Next < c.end { // the newest rows of some keys follow
		fresh = false
	}
	out := &stream.SourceBatch{}
	n := len(p.rows.at)
	p.rows.each(func(rec logreader.Record) { p.emit(out, rec) })
	if fresh && p.compare != nil {
		if p.compare.unread() {
			p.compare.changed = true // follow compares again
			return p.push(ctx, out)
		}
		if err := p.finish(ctx, out); err != nil {
			return err
		}
		out = &stream.SourceBatch{}
	}
	if fresh && p.health != nil {
		p.emit(out, *p.health)
		p.health = nil
		n++
	}
	p.handed = time.Now()
	if p.compare == nil && (n > 0 || !p.known || p.read.Position != p.at.Position) {
		p.at, p.known = p.read, true
		p.at.Held = p.health
		p.positions.Put(out, positionKey, p.at)
	}
	return p.push(ctx, out)
}

// emit adds a record to a batch.
func (p *pusher) emit(out *stream.SourceBatch, rec logreader.Record) {
	p.emitted++
	out.EmitTo(p.cfg.Copy, p.task.Partition, stream.Message{Key: rec.Key, Value: rec.Value, TimeMs: max(rec.TimeMs, 1)})
}

// push hands a batch over. The error is that of ctx.
func (p *pusher) push(ctx context.Context, out *stream.SourceBatch) error {
	if out.Empty() {
		return nil
	}
	at, n, size := p.at, p.emitted, out.Bytes()
	p.emitted = 0
	if !p.known {
		at = position{Position: logreader.Start()}
	}
	out.OnFlush(func(stream.Commit, *stream.Changes) {
		p.cfg.Metrics.handed(p, n, size)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.flushed = at
		p.pushed += n
	})
	if err := p.queue.Push(ctx, out); err != nil {
		return err //nolint:wrapcheck // it is the error of ctx
	}
	if p.queue.Bytes() > p.cfg.QueueBytes/2 {
		p.task.Wake()
	}
	return nil
}

// settle hands a batch over, and waits until it is committed: then none of the rows that this task
// has handed over is under way any more. The error is that of ctx, which ends if the transaction is
// aborted.
func (p *pusher) settle(ctx context.Context, out *stream.SourceBatch) error {
	committed := make(chan struct{})
	out.OnFlush(func(stream.Commit, *stream.Changes) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.settling = append(p.settling, committed)
	})
	if err := p.push(ctx, out); err != nil {
		return err
	}
	select {
	case <-committed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
