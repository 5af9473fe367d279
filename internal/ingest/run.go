package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/events"
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

// Target is where the events go.
type Target struct {
	Sink Sink
	// Shards is the number of partitions that the accounts are spread over. Defaults to events.DefaultShards.
	Shards int32
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
	maxEventBytes   = 8*(maxIDBytes+3) + 64 // seven ids, a currency, and the numbers
)

// Run drives r into the sink of to until the input ends or ctx does. It owns no goroutine. Rejected rows go to rejects before the
// next row is read. Events that were handed over before an error, or before ctx ended, are still flushed, so that the
// Summary is true also then.
func Run(ctx context.Context, r *Reader, to Target, rejects RejectWriter, progress Progress) (Summary, error) {
	if to.Shards == 0 {
		to.Shards = events.DefaultShards
	}
	p := &pipeline{reader: r, sink: to.Sink, shards: to.Shards, rejects: rejects, progress: progress, keys: newMemo[route](maxInterned)}
	p.seen.generation = seenPerGeneration
	start := time.Now()
	err := p.rows(ctx)
	flushCtx, cancel := ctx, func() {}
	if err != nil {
		flushCtx, cancel = context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	}
	defer cancel()
	if flushErr := to.Sink.Flush(flushCtx); flushErr != nil {
		err = errors.Join(err, fmt.Errorf("ingest: flush: %w", flushErr))
	}
	p.sum.Produced = to.Sink.Acked()
	p.sum.RejectsFile = rejects.Name()
	p.sum.Seconds = time.Since(start).Seconds()
	p.report()
	return p.sum, err
}
