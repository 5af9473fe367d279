package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/events"
)

// Sink produces records.
type Sink interface {
	// Produce produces a record. It may return before the record is acknowledged, and block while
	// too many records are not. The sink owns the bytes of the record, which do not change
	// afterwards. Records of one account share the bytes of the key.
	Produce(ctx context.Context, partition int32, r Record) error
	// Flush returns when all records are acknowledged, or with the first error.
	Flush(ctx context.Context) error
	// Acked returns the number of acknowledged records. After a Flush without an error it is the
	// number of calls of Produce.
	Acked() int64
}

// Record is an event for a Sink.
type Record struct {
	Key, Value []byte
	Import     []byte // value of the header events.ImportHeader; nil: no header
}

// Job is what Run does with the rows.
type Job struct {
	// Sink receives the events, and Rejects the rows that have none.
	Sink    Sink
	Rejects RejectWriter
	// Import, if set, identifies the input. The spend counter applies the events of an import once,
	// however often it is run.
	Import events.ImportID
	// Shards is the number of partitions of the topic. Accounts are spread over them by
	// events.Shard. Defaults to events.DefaultShards.
	Shards int32
	// MaxRejects ends the run when more rows are rejected. The zero value means no limit.
	MaxRejects RejectLimit
	// First, if set, is called with the first row that is not rejected, before it is produced.
	First func(*Row)
	// Progress, if set, is called with the progress of the run.
	Progress func(Status)
}

// Status is the progress of a run.
type Status struct {
	BytesRead, BytesTotal int64 // of the input of a Source, compressed if it is; BytesTotal is -1 if unknown
	Read, Rejected        int64 // rows
	Produced              int64 // acknowledged events
}

// Summary is the result of a run. With Job.Import, repeated events are not produced: of the counts
// they are in Read and Repeated only.
type Summary struct {
	Read        int64 `json:"read"`             // rows, without header and blank lines
	Produced    int64 `json:"produced"`         // events or adjustments that the sink acknowledged
	Rejected    int64 `json:"rejected"`         // rows without events or an adjustment
	Repeated    int64 `json:"repeated_in_file"` // events with an id that an earlier row carried; equal adjustments
	Impressions int64 `json:"impressions"`      // events passed to the sink
	Clicks      int64 `json:"clicks"`           // events passed to the sink
	// Micros are the prices or amounts of what was passed to the sink, by currency, at most the
	// int64 limit.
	Micros      map[string]int64 `json:"micros"`
	Seconds     float64          `json:"seconds"` // duration of the run
	RejectsFile string           `json:"rejects_file,omitempty"`
}

const (
	rowsPerProgress = 256
	flushTimeout    = 10 * time.Second
	arenaBlock      = 256 << 10
	maxEventBytes   = 8*(maxIDBytes+3) + 64 // seven ids, a currency, and the numbers
)

// Run produces the events of r until the input or ctx ends. It starts no goroutine. A rejected row
// is written to Job.Rejects before the next row is read. After an error, and after the end of ctx,
// Run still flushes the events that it passed to the sink, so that the Summary is correct then too.
func Run(ctx context.Context, r *Reader, job Job) (Summary, error) {
	if job.Shards == 0 {
		job.Shards = events.DefaultShards
	}
	p := &pipeline{reader: r, job: job, routes: newCache[route](maxCachedTexts)}
	p.sum.Micros = map[string]int64{}
	p.recent.generation = recentIDsPerGeneration
	start := time.Now()
	err := p.produceAll(ctx)
	flushCtx, cancel := ctx, func() {}
	if err != nil {
		flushCtx, cancel = context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	}
	defer cancel()
	if flushErr := job.Sink.Flush(flushCtx); flushErr != nil {
		err = errors.Join(err, fmt.Errorf("ingest: flush: %w", flushErr))
	}
	p.sum.Produced = job.Sink.Acked()
	p.sum.RejectsFile = job.Rejects.Name()
	p.sum.Seconds = time.Since(start).Seconds()
	p.report()
	return p.sum, err
}
