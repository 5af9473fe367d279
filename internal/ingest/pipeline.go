package ingest

import (
	"context"
	"fmt"
	"math"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// pipeline is the state of a run.
type pipeline struct {
	reader *Reader
	job    Job
	routes cache[route]
	recent recentIDs
	arena  []byte // block that records are encoded into
	begun  bool   // Job.First was called
	sum    Summary
}

// route is the key and the partition of an account's records.
type route struct {
	key       []byte
	partition int32
}

// produceAll produces the events of all rows.
func (p *pipeline) produceAll(ctx context.Context) error {
	for {
		if p.sum.Read%rowsPerProgress == 0 {
			if ctx.Err() != nil {
				return fmt.Errorf("ingest: stopped after %d rows: %w", p.sum.Read, context.Cause(ctx))
			}
			p.report()
		}
		row, err := p.reader.Next()
		if isEOF(err) {
			return p.job.MaxRejects.Check(p.sum.Rejected, p.sum.Read, true)
		}
		if err != nil {
			return err
		}
		p.sum.Read++
		if row.Err != nil {
			p.sum.Rejected++
			if err := p.job.Rejects.WriteReject(&row); err != nil {
				return fmt.Errorf("ingest: line %d was rejected (%w) and could not be written to the rejects: %w", row.Line, row.Err, err)
			}
			if err := p.job.MaxRejects.Check(p.sum.Rejected, p.sum.Read, false); err != nil {
				return err
			}
			continue
		}
		if !p.begun && p.job.First != nil {
			p.job.First(&row)
		}
		p.begun = true
		for _, e := range row.Events {
			if err := p.produce(ctx, e, row.Derived); err != nil {
				return fmt.Errorf("ingest: line %d: %w", row.Line, err)
			}
		}
	}
}

func (p *pipeline) produce(ctx context.Context, e *eventspb.AdEvent, derived bool) error {
	to, ok := p.routes.known[e.Account]
	if !ok {
		to = route{key: []byte(e.Account), partition: events.Shard(e.Account, p.job.Shards)}
		p.routes.put(e.Account, to)
	}
	if err := p.job.Sink.Produce(ctx, to.partition, to.key, p.encode(e)); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	if !derived && p.recent.add(e.Account, e.EventId) {
		p.sum.Repeated++
	}
	switch e.Type {
	case eventspb.EventType_EVENT_TYPE_IMPRESSION:
		p.sum.Impressions++
	case eventspb.EventType_EVENT_TYPE_CLICK:
		p.sum.Clicks++
	default: // the summary has no count for the other types
	}
	sum, ok := events.AddMicros(p.sum.Micros[e.Currency], e.PriceMicros)
	if !ok {
		sum = math.MaxInt64
	}
	p.sum.Micros[e.Currency] = sum
	return nil
}

// encode encodes e into a block whose bytes are written once, because the sink keeps them.
func (p *pipeline) encode(e *eventspb.AdEvent) []byte {
	if cap(p.arena)-len(p.arena) < maxEventBytes {
		p.arena = make([]byte, 0, arenaBlock)
	}
	from := len(p.arena)
	p.arena = events.AppendEvent(p.arena, e)
	return p.arena[from:len(p.arena):len(p.arena)]
}

func (p *pipeline) report() {
	if p.job.Progress == nil {
		return
	}
	s := Status{BytesTotal: -1, Read: p.sum.Read, Rejected: p.sum.Rejected, Produced: p.job.Sink.Acked()}
	if in, ok := p.reader.in.(*Source); ok {
		s.BytesRead, s.BytesTotal = in.BytesRead(), in.Size()
	}
	p.job.Progress(s)
}
