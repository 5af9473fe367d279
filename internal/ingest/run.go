package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// Sink takes the events.
type Sink interface {
	// Produce hands over a record. It may return before the record is safe, and block while too many are not. Key and
	// value belong to the sink and are never changed afterwards; records of one account share the bytes of their key.
	Produce(ctx context.Context, partition int32, key, value []byte) error
	// Flush returns when all records are safe, or with the first error.
	Flush(ctx context.Context) error
	// Acked is the number of records that are safe. After Flush without an error it is the number of Produce calls.
	Acked() int64
}

// Progress learns how far a run is. A nil Progress is allowed.
type Progress func(Status)

// Status is how far a run is.
type Status struct {
	BytesRead, BytesTotal int64 // of the input as it lies on disk; total -1: not known
	Read, Rejected        int64 // rows
	Produced              int64 // events acknowledged
}

// Summary is what a run did. Read is rows, everything else but Rejected is events.
type Summary struct {
	Read        int64   `json:"read"`        // rows, without header and blank lines
	Produced    int64   `json:"produced"`    // acknowledged by the sink
	Rejected    int64   `json:"rejected"`    // rows without events
	Duplicates  int64   `json:"duplicates"`  // event ids that this run had seen before; produced all the same: the counter counts them
	Impressions int64   `json:"impressions"` // handed to the sink, duplicates included
	Clicks      int64   `json:"clicks"`      // handed to the sink, duplicates included
	Micros      int64   `json:"micros"`      // sum of prices, all currencies together, duplicates included; stays at the int64 limit
	Seconds     float64 `json:"seconds"`     //
	RejectsFile string  `json:"rejects_file,omitempty"`
}

const (
	rowsPerProgress = 256
	flushTimeout    = 10 * time.Second
	arenaBlock      = 256 << 10
)

// Run drives r into sink until the input ends or ctx does. It owns no goroutine. Rejected rows go to rejects before the
// next row is read. Events that were handed over before an error, or before ctx ended, are still flushed, so that the
// Summary is true also then.
func Run(ctx context.Context, r *Reader, sink Sink, rejects RejectWriter, progress Progress) (Summary, error) {
	p := &pipeline{reader: r, sink: sink, rejects: rejects, progress: progress, keys: newMemo[route](maxInterned)}
	p.seen.generation = seenPerGeneration
	start := time.Now()
	err := p.rows(ctx)
	flushCtx, cancel := ctx, func() {}
	if err != nil {
		flushCtx, cancel = context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	}
	defer cancel()
	if flushErr := sink.Flush(flushCtx); flushErr != nil {
		err = errors.Join(err, fmt.Errorf("ingest: flush: %w", flushErr))
	}
	p.sum.Produced = sink.Acked()
	p.sum.RejectsFile = rejects.Name()
	p.sum.Seconds = time.Since(start).Seconds()
	p.report()
	return p.sum, err
}

type pipeline struct {
	reader   *Reader
	sink     Sink
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
		if err == io.EOF {
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
		to = route{key: []byte(e.Account), partition: events.Shard(e.Account)}
		p.keys.put(e.Account, to)
	}
	value, err := p.marshal(e)
	if err != nil {
		return err
	}
	if err := p.sink.Produce(ctx, to.partition, to.key, value); err != nil {
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
	}
	if sum, ok := events.AddMicros(p.sum.Micros, e.PriceMicros); ok {
		p.sum.Micros = sum
	} else {
		p.sum.Micros = math.MaxInt64
	}
	return nil
}

// marshal encodes into blocks that are never written twice, since the sink keeps the bytes.
func (p *pipeline) marshal(e *eventspb.AdEvent) ([]byte, error) {
	opt := proto.MarshalOptions{UseCachedSize: true}
	n := proto.Size(e)
	if cap(p.arena)-len(p.arena) < n {
		p.arena = make([]byte, 0, max(arenaBlock, n))
	}
	from := len(p.arena)
	out, err := opt.MarshalAppend(p.arena, e)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	p.arena = out
	return out[from:len(out):len(out)], nil
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
