package ingest

import (
	"context"
	"fmt"
	"math"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

type pipeline struct {
	reader   *Reader
	sink     Sink
	shards   int32
	rejects  RejectWriter
	progress Progress
	keys     memo[route]
	seen     seen
	arena    []byte
	sum      Summary
}

// route is where the records of an account go.
type route struct {
	key       []byte
	partition int32
}

func (p *pipeline) rows(ctx context.Context) error {
	for {
		if p.sum.Read%rowsPerProgress == 0 {
			if ctx.Err() != nil {
				return fmt.Errorf("ingest: stopped behind %d rows: %w", p.sum.Read, context.Cause(ctx))
			}
			p.report()
		}
		row, err := p.reader.Next()
		if isEnd(err) {
			return nil
		}
		if err != nil {
			return err
		}
		p.sum.Read++
		if row.Err != nil {
			p.sum.Rejected++
			if err := p.rejects.WriteReject(&row); err != nil {
				return fmt.Errorf("ingest: line %d was rejected (%w) and could not be kept: %w", row.Line, row.Err, err)
			}
			continue
		}
		for _, e := range row.Events {
			if err := p.produce(ctx, e, row.Derived); err != nil {
				return fmt.Errorf("ingest: line %d: %w", row.Line, err)
			}
		}
	}
}

func (p *pipeline) produce(ctx context.Context, e *eventspb.AdEvent, derived bool) error {
	to, ok := p.keys.known[e.Account]
	if !ok {
		to = route{key: []byte(e.Account), partition: events.Shard(e.Account, p.shards)}
		p.keys.put(e.Account, to)
	}
	if err := p.sink.Produce(ctx, to.partition, to.key, p.encode(e)); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	if !derived && p.seen.before(e.Account, e.EventId) {
		p.sum.Duplicates++
	}
	switch e.Type {
	case eventspb.EventType_EVENT_TYPE_IMPRESSION:
		p.sum.Impressions++
	case eventspb.EventType_EVENT_TYPE_CLICK:
		p.sum.Clicks++
	default: // the summary has no figure of its own for the other types
	}
	if sum, ok := events.AddMicros(p.sum.Micros, e.PriceMicros); ok {
		p.sum.Micros = sum
	} else {
		p.sum.Micros = math.MaxInt64
	}
	return nil
}

// encode appends to blocks that are never written twice, since the sink keeps the bytes.
func (p *pipeline) encode(e *eventspb.AdEvent) []byte {
	if cap(p.arena)-len(p.arena) < maxEventBytes {
		p.arena = make([]byte, 0, arenaBlock)
	}
	from := len(p.arena)
	p.arena = events.AppendEvent(p.arena, e)
	return p.arena[from:len(p.arena):len(p.arena)]
}

func (p *pipeline) report() {
	if p.progress == nil {
		return
	}
	s := Status{BytesTotal: -1, Read: p.sum.Read, Rejected: p.sum.Rejected, Produced: p.sink.Acked()}
	if in, ok := p.reader.in.(*Source); ok {
		s.BytesRead, s.BytesTotal = in.BytesRead(), in.Size()
	}
	p.progress(s)
}
