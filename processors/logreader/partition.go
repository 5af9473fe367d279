package logreader

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// Partition is a partition that is read. Next is for one goroutine; the other methods are safe for
// concurrent use.
type Partition struct {
	r *Reader
	id

	// Guarded by Reader.mu.
	at       Position // behind the last record in the queue
	taken    Position // behind the last record that Next has returned
	queue    []*kgo.Record
	bytes    int           // of queue
	ready    chan struct{} // closed when Next has something to look at
	active   bool          // the client reads it
	full     bool          // fetching is paused until Next has taken records
	failing  bool          // fetching is paused until its next try
	checking bool          // the brokers are asked why
	retryAt  time.Time     // when a partition that is not active may be read again
	reason   string        // why it is not read
	stopped  error         // the same, if it does not pass by itself
	returned bool          // Next has returned stopped
	end      int64         // of the committed records; -1: not known
	endAt    time.Time     // when the brokers were asked for end; zero: they have not answered

	failed kafka.FailedFetch // of the session
}

// Next waits for records, and fills b with at most about maxBytes of them. b.Records is used again;
// the bytes of a record are not.
//
// The error is that of ctx, or why the partition has stopped: a *RecreatedError, a
// *PartitionsError, a *TruncatedError or a *kafka.UnreadableError. The reader continues trying, and
// the next call waits for records.
func (p *Partition) Next(ctx context.Context, b *Batch, maxBytes int) error {
	for {
		p.r.mu.Lock()
		if len(p.queue) > 0 {
			p.take(b, maxBytes)
			p.r.mu.Unlock()
			return nil
		}
		if p.stopped != nil && !p.returned {
			p.returned = true
			err := p.stopped
			p.r.mu.Unlock()
			return err
		}
		ready := p.ready
		p.r.mu.Unlock()
		select {
		case <-ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take moves records from the queue to b. The mutex is held.
func (p *Partition) take(b *Batch, maxBytes int) {
	b.Records = b.Records[:0]
	b.After = p.taken
	b.After.Topic = p.at.Topic
	n := 0
	for size := 0; n < len(p.queue) && (n == 0 || size < maxBytes); n++ {
		r := p.queue[n]
		one := sizeOf(r)
		size += one
		p.bytes -= one
		b.add(r)
		p.queue[n] = nil
	}
	if p.queue = p.queue[n:]; len(p.queue) == 0 {
		p.queue = nil
	}
	p.taken = b.After
	if p.full && p.bytes <= p.r.cfg.QueueBytes/2 {
		p.full = false
		p.resume()
	}
}

// resume makes the client fetch the partition, unless another reason to pause is left. The mutex is
// held.
func (p *Partition) resume() {
	if p.active && !p.full && !p.failing {
		p.r.cl.ResumeFetchPartitions(map[string][]int32{p.topic: {p.n}})
	}
}

// deactivate ends the reading of the partition: the session removes it from the client. The mutex
// is held.
func (p *Partition) deactivate() {
	if p.active {
		p.active = false
		p.r.removed = append(p.r.removed, p.id)
	}
}

// pauseFetches makes the client not fetch the partition. The mutex is held.
func (p *Partition) pauseFetches() {
	p.r.cl.PauseFetchPartitions(map[string][]int32{p.topic: {p.n}})
}

// signal wakes Next. The mutex is held.
func (p *Partition) signal() {
	close(p.ready)
	p.ready = make(chan struct{})
}

// wait notes why the partition is not read. The mutex is held.
func (p *Partition) wait(why string) { p.reason, p.stopped, p.returned = why, nil, false }

// halt notes why the partition is not read, if it waits for a decision of the caller. The mutex is
// held.
func (p *Partition) halt(err error) {
	if p.stopped == nil || p.stopped.Error() != err.Error() {
		p.returned = false
	}
	p.stopped, p.reason = err, err.Error()
	p.signal()
}

// whole reports whether the log still has the records that were read. Brokers lose records if a
// replica becomes the leader that lacked them, or if all replicas lost their disks. Then the log
// ends before the position, or new records have taken their offsets. The end of the leader epoch of
// the last record that was read shows both: records of one epoch at one offset are the same record.
// The end of the committed records does not: for a moment, it may be before the position after an
// election that lost nothing. The mutex is held.
func (p *Partition) whole(log kafka.PartitionLog, ends map[id]epochEnd) bool {
	if p.at.Next <= 0 {
		return true
	}
	resume := int64(-1)
	e, known := ends[p.id]
	switch {
	case p.at.Epoch < 0: // nothing was read since an operator has set the position
		if log.End < p.at.Next {
			resume = log.End
		}
	case !known || e.asked != p.at.Epoch: // the next answer has it
		return false
	case e.err != nil:
		p.wait(e.err.Error())
		return false
	case e.epoch < 0: // the log has no record of this epoch or of an earlier one
		resume = log.Start
	case e.end < p.at.Next:
		resume = e.end
	case e.epoch < e.asked: // the last record that was read is another one now
		resume = p.at.Next - 1
	}
	if resume < 0 {
		return true
	}
	p.halt(&TruncatedError{p.topic, p.n, p.at.Next, max(resume, log.Start)})
	return false
}

// Close ends the reading. Records that Next has not returned are dropped. The Close of the last
// partition ends the Reader's requests and waits for its goroutines.
func (p *Partition) Close() {
	r := p.r
	r.life <- struct{}{}
	defer func() { <-r.life }()
	r.mu.Lock()
	if r.parts[p.id] != p {
		r.mu.Unlock()
		return
	}
	delete(r.parts, p.id)
	p.deactivate()
	last := len(r.parts) == 0
	r.mu.Unlock()
	if last {
		r.stop()
		r.stop = nil
	}
}

// Status describes a partition.
type Status struct {
	// At is the position behind the last record that Next has returned.
	At Position
	// End is the end of the committed records, -1 if it is not known. EndAt is when the brokers
	// were asked for it last: records that were committed before are before End.
	End   int64
	EndAt time.Time
	// Reason is why the partition is not read now, a sentence; empty if it is. Stopped is the same
	// if it waits for a decision of the caller.
	Reason  string
	Stopped error
}

// Status returns the state of the partition.
func (p *Partition) Status() Status {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	s := Status{At: p.taken, End: p.end, EndAt: p.endAt, Reason: p.reason, Stopped: p.stopped}
	if s.Reason == "" {
		s.Reason = p.r.unheard
	}
	return s
}
