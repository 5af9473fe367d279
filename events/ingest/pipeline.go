package ingest

import (
	"context"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

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
	// sequence numbers the events of the input: by row, so that it does not depend on which rows
	// are rejected or repeated.
	sequence int64
	sum      Summary
}

// maxRowEvents bounds the events of one row.
const maxRowEvents = 16

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
		if row.Repeated {
			p.sum.Repeated++
			continue
		}
		if row.Adjustment != nil {
			if err := p.adjust(ctx, row.Adjustment); err != nil {
				return fmt.Errorf("ingest: line %d: %w", row.Line, err)
			}
		}
		for i, e := range row.Events {
			p.sequence = p.sum.Read*maxRowEvents + int64(i)
			if err := p.produce(ctx, e, row.Derived); err != nil {
				return fmt.Errorf("ingest: line %d: %w", row.Line, err)
			}
		}
	}
}

func (p *pipeline) produce(ctx context.Context, e *eventspb.AdEvent, derived bool) error {
	if !derived && p.recent.add(e.Account, e.EventId) {
		p.sum.Repeated++
		if p.imports() { // an old event would be charged again: the counter checks late events by import only
			return nil
		}
	}
	to := p.route(e.Account)
	r := Record{Key: to.key, Value: p.encode(e)}
	if p.imports() {
		r.Import = p.place()
	}
	if err := p.job.Sink.Produce(ctx, to.partition, r); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	switch e.Type {
	case eventspb.EventType_EVENT_TYPE_IMPRESSION:
		p.sum.Impressions++
	case eventspb.EventType_EVENT_TYPE_CLICK:
		p.sum.Clicks++
	default: // the summary has no count for the other types
	}
	p.addMicros(e.Currency, e.PriceMicros)
	return nil
}

// adjust produces an adjustment. Its reference makes it count once, so it carries no import.
func (p *pipeline) adjust(ctx context.Context, a *eventspb.Adjustment) error {
	value, err := proto.Marshal(a)
	if err != nil {
		return err
	}
	to := p.route(a.Account)
	if err := p.job.Sink.Produce(ctx, to.partition, Record{Key: to.key, Value: value}); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	p.addMicros(a.Currency, a.Micros)
	return nil
}

func (p *pipeline) route(account string) route {
	to, ok := p.routes.known[account]
	if !ok {
		to = route{key: []byte(account), partition: events.Shard(account, p.job.Shards)}
		p.routes.put(account, to)
	}
	return to
}

func (p *pipeline) addMicros(currency string, micros int64) {
	sum, ok := events.AddMicros(p.sum.Micros[currency], micros)
	if !ok {
		sum = math.MaxInt64
	}
	p.sum.Micros[currency] = sum
}

func (p *pipeline) imports() bool { return p.job.Import != events.ImportID{} }

// place encodes the place of the event in its import.
func (p *pipeline) place() []byte {
	from := p.reserve()
	p.arena = events.AppendImport(p.arena, p.job.Import, p.sequence)
	return p.arena[from:len(p.arena):len(p.arena)]
}

// reserve makes room in a block whose bytes are written once, because the sink keeps them. It
// returns where the next bytes begin.
func (p *pipeline) reserve() int {
	if cap(p.arena)-len(p.arena) < maxEventBytes {
		p.arena = make([]byte, 0, arenaBlock)
	}
	return len(p.arena)
}

func (p *pipeline) encode(e *eventspb.AdEvent) []byte {
	from := p.reserve()
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
