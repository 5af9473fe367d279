package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/stream"
)

// ControlScan is the value of a control record, in topic events.LeaseBridgeTopic, that makes a
// region's bridge read all rows of its region.
const ControlScan = "scan"

// errNoStream is a problem in the status of a region: the table has no stream, or all its streams
// are disabled and were read to their end.
var errNoStream = errors.New("the table has no enabled DynamoDB stream: enable one with new and old images")

// Bridge is the source of one region. It is made by New.
type Bridge struct {
	cfg     Config
	region  string
	log     zerolog.Logger
	decoder decoder
	db      *dynamodb.Client
	streams *dynamodbstreams.Client
	tables  tables
	saved   savedState // as New found it; during Read, saved.streams belongs to followStreams

	queue        *stream.SourceQueue // of Read
	slots        chan struct{}       // one for each request for records
	scanRequests scanRequests
	health       *health

	// Of Fold and Flush.
	scanRequested bool             // a control record asked for a scan
	lastForwarded map[string]int64 // by region: when its heartbeat was last emitted, Unix ms

	// Of reportStatus.
	lastWarned time.Time
	outage     logthrottle.Tracker
}

// New makes the source of the task's region from committed state. It makes no request.
func New(cfg Config, task stream.Task) (*Bridge, error) {
	if err := cfg.setDefaults(task.Partition); err != nil {
		return nil, err
	}
	rows := newTables()
	saved, err := rows.load(task)
	if err != nil {
		return nil, fmt.Errorf("bridge: read the state of partition %d: %w", task.Partition, err)
	}
	region := cfg.Regions[task.Partition]
	cfg.Metrics.begin(region)
	if saved.region != "" && saved.region != region {
		return nil, fmt.Errorf("%w: partition %d was region %s and is now %s: keep the order of the regions, and add new ones at its end",
			ErrRegionOrder, task.Partition, saved.region, region)
	}
	return &Bridge{
		cfg: cfg, region: region, log: cfg.Log.With().Str("region", region).Logger(), decoder: decoder{region, cfg.Partitions},
		db: cfg.DB(region), streams: cfg.Streams(region), tables: rows, saved: saved,
		slots: make(chan struct{}, cfg.Requests), scanRequests: scanRequests{last: saved.scanRequest, changed: make(chan struct{})},
		health: newHealth(), lastForwarded: map[string]int64{},
	}, nil
}

// Read implements stream.Source: it reads the streams, scans and writes heartbeats until ctx ends.
func (b *Bridge) Read(ctx context.Context, q *stream.SourceQueue) error {
	b.queue = q
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { b.followStreams(ctx) })
	if b.cfg.HeartbeatInterval > 0 {
		running.Go(func() { b.writeHeartbeats(ctx) })
	}
	running.Go(func() { (&scanner{Bridge: b, scan: b.saved.scan, sweep: b.saved.sweep}).run(ctx) })
	running.Go(func() { b.reportStatus(ctx) })
	return nil
}

// Fold implements stream.Handler: it takes control records.
func (b *Bridge) Fold(batch *stream.Batch) error {
	for i := range batch.Records {
		if string(batch.Records[i].Value) != ControlScan {
			batch.Reject(i, "unknown_control", "the only control record of a bridge is \""+ControlScan+"\"")
			continue
		}
		b.scanRequested = true
	}
	return nil
}

// Flush implements stream.Handler: it adds what control records asked for.
func (b *Bridge) Flush(c stream.Commit, ch *stream.Changes) error {
	if b.saved.region == "" {
		b.saved.region = b.region
		b.tables.region.Put(ch, regionKey, b.region)
	}
	if b.scanRequested {
		b.scanRequested = false
		b.requestScan(ch, scanRequest{c.NowMs, "asked for"})
	}
	return nil
}

// Close implements stream.Closer, after Read has returned.
func (b *Bridge) Close() {
	if b.cfg.Registry.remove(b, b.region) {
		b.cfg.Metrics.forget(b.region)
	}
}

// push hands d over in the next Flush.
func (b *Bridge) push(ctx context.Context, d *batch) error {
	if len(d.heartbeats) > 0 || d.scanRequest.SinceMs > 0 {
		d.OnFlush(func(_ stream.Commit, ch *stream.Changes) {
			for _, beat := range d.heartbeats {
				b.forwardHeartbeat(ch, beat)
			}
			if d.scanRequest.SinceMs > 0 {
				b.requestScan(ch, d.scanRequest)
			}
		})
	}
	return b.queue.Push(ctx, &d.SourceBatch) //nolint:wrapcheck // it is the error of ctx
}

// requestScan adds a request for a scan to the transaction, and passes it to the scanner.
func (b *Bridge) requestScan(ch *stream.Changes, r scanRequest) {
	b.tables.scanRequest.Put(ch, scanRequestKey, b.scanRequests.add(r))
}

// forwardHeartbeat emits a heartbeat to all partitions, at most one per second and region.
func (b *Bridge) forwardHeartbeat(ch *stream.Changes, h heartbeat) {
	if h.seenMs-b.lastForwarded[h.from] < 1000 {
		return
	}
	b.lastForwarded[h.from] = h.seenMs
	value, err := proto.Marshal(&eventspb.LeaseChange{Region: b.region, AtMs: h.seenMs, Row: &eventspb.LeaseChange_Heartbeat{
		Heartbeat: &eventspb.LeaseHeartbeat{From: h.from, WrittenMs: h.writtenMs, SeenMs: h.seenMs, LagMs: b.health.lag(h.seenMs)},
	}})
	if err != nil {
		return // the name is not UTF-8, so no region has it
	}
	for p := range b.cfg.Partitions {
		ch.EmitTo(events.LeaseChangesTopic, p, stream.Message{Key: []byte(h.from), Value: value})
	}
}

// recordGap reports that the stream has lost records, and requests a scan.
func (b *Bridge) recordGap(d *batch, what string, nowMs int64) {
	b.cfg.Metrics.gaps.WithLabelValues(b.region).Inc()
	b.log.Warn().Str("what", what).Msg("stream_gap")
	// The lost records are at least 24 hours old. A scan that began after them has read the rows
	// that they changed.
	d.scanRequest = scanRequest{nowMs - (retention - time.Hour).Milliseconds(), "gap: " + what}
	d.note(&eventspb.LeaseJournalEntry{
		AtMs: nowMs, By: "bridge", Kind: "gap", From: b.region,
		Text: "The stream of " + b.region + " lost records before they were read: " + what +
			". All rows of the region are read from the table.",
	}, b.cfg.Partitions)
}

// countRecord counts the outcome of a record, and the reason if it was rejected.
func (b *Bridge) countRecord(outcome, reason string) {
	b.cfg.Metrics.records.WithLabelValues(b.region, outcome).Inc()
	if reason != "" {
		b.cfg.Metrics.rejected.WithLabelValues(b.region, reason).Inc()
	}
}
