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

// Outputs returns the outputs of a bridge.
func Outputs() []stream.Output {
	return stream.OutputTopics(events.LeaseChangesTopic, events.LeaseRejectedTopic, events.LeaseJournalTopic)
}

// Scan is the value of a record of events.LeaseBridgeTopic that asks a region's bridge to read all rows of its region.
const Scan = "scan"

var errNoStream = errors.New("the table has no stream that is not read to its end: enable it, with new and old images (weir table apply)")

// Bridge is the handler of one region. It is made by New; Fold, Flush and Close are called from one goroutine.
type Bridge struct {
	cfg     Config
	region  string
	log     zerolog.Logger
	decoder decoder
	db      *dynamodb.Client
	streams *dynamodbstreams.Client
	saved   savedState // of New; then the streams are the goroutine's that follows them

	queue        *queue
	slots        chan struct{} // of requests for records
	scanRequests scanRequests
	health       *health

	// Of Flush and Fold.
	started       bool
	wanted        bool             // a record asked for a scan
	lastForwarded map[string]int64 // when a beat of a region was last passed on
	lastPublished time.Time
	warned        time.Time
	outage        logthrottle.Tracker

	readCtx context.Context // of the goroutines: it ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// New makes the bridge of the task's region from committed state. It starts nothing: what reads begins at the first Flush.
func New(cfg Config, task stream.Task) (*Bridge, error) {
	cfg.setDefaults()
	if err := cfg.check(task.Partition); err != nil {
		return nil, err
	}
	state, err := load(task)
	if err != nil {
		return nil, err
	}
	region := cfg.Regions[task.Partition]
	if state.region != "" && state.region != region {
		return nil, fmt.Errorf("bridge: partition %d was region %s and is %s now: leases.regions keeps its order, and new regions come at its end", task.Partition, state.region, region)
	}
	b := &Bridge{
		cfg: cfg, region: region, log: cfg.Log.With().Str("region", region).Logger(), decoder: decoder{region, cfg.Partitions}, saved: state,
		db: cfg.DB(region), streams: cfg.Streams(region),
		queue: newQueue(cfg.QueueBytes), slots: make(chan struct{}, cfg.Requests), scanRequests: scanRequests{last: state.scanRequest, changed: make(chan struct{})},
		health: newHealth(), lastForwarded: map[string]int64{},
	}
	b.readCtx, b.cancel = context.WithCancel(context.Background())
	return b, nil
}

// Fold takes what a bridge is told: that somebody wants a scan.
func (b *Bridge) Fold(batch *stream.Batch) error {
	for i := range batch.Records {
		if string(batch.Records[i].Value) != Scan {
			batch.Reject(i, "unknown_order", "a bridge is told \""+Scan+"\" and nothing else")
			continue
		}
		b.wanted = true
	}
	return nil
}

// Flush hands over all that was read since the last one: outputs, and the state that says so. It waits for nobody.
func (b *Bridge) Flush(c stream.Commit, ch *stream.Changes) error {
	if !b.started {
		b.start()
		if b.saved.region == "" {
			b.saved.region = b.region
			ch.Put(scanTable, []byte(regionKey), encode(b.region))
		}
	}
	for _, d := range b.queue.take() {
		for _, o := range d.outputs {
			b.emit(ch, o)
		}
		for _, e := range d.entries {
			if e.value == nil {
				ch.Delete(e.table, []byte(e.key))
			} else {
				ch.Put(e.table, []byte(e.key), e.value)
			}
		}
		for _, beat := range d.heartbeats {
			b.forwardHeartbeat(ch, beat)
		}
		if d.scanRequest.SinceMs > 0 {
			b.requestScan(ch, d.scanRequest)
		}
	}
	if b.wanted {
		b.wanted = false
		b.requestScan(ch, scanRequest{c.NowMs, "asked for"})
	}
	if now := time.UnixMilli(c.NowMs); now.Sub(b.lastPublished) >= time.Second {
		b.lastPublished = now
		b.publishStatus(now)
	}
	return nil
}

// requestScan makes a request for a scan, in the transaction of what asks for it.
func (b *Bridge) requestScan(ch *stream.Changes, a scanRequest) {
	ch.Put(scanTable, []byte(scanRequestKey), encode(b.scanRequests.add(a)))
}

func (b *Bridge) emit(ch *stream.Changes, o output) {
	m := stream.Message{Key: o.key, Value: o.value}
	if o.partition != allPartitions {
		ch.EmitTo(o.topic, o.partition, m)
		return
	}
	for p := range b.cfg.Partitions {
		ch.EmitTo(o.topic, p, m)
	}
}

// forwardHeartbeat passes a beat on, one a second of each region at most.
func (b *Bridge) forwardHeartbeat(ch *stream.Changes, x heartbeat) {
	if x.seenMs-b.lastForwarded[x.from] < 1000 {
		return
	}
	b.lastForwarded[x.from] = x.seenMs
	value, err := proto.Marshal(&eventspb.LeaseChange{Region: b.region, AtMs: x.seenMs, Row: &eventspb.LeaseChange_Heartbeat{
		Heartbeat: &eventspb.LeaseHeartbeat{From: x.from, WrittenMs: x.writtenMs, SeenMs: x.seenMs, LagMs: b.health.lag(x.seenMs)},
	}})
	if err == nil { // else its name is not UTF-8, and no region's
		b.emit(ch, output{events.LeaseChangesTopic, allPartitions, []byte(x.from), value})
	}
}

// start begins to read. Until now this handler may have been made only to look at its state.
func (b *Bridge) start() {
	b.started = true
	b.running.Go(func() { b.follow(b.readCtx) })
	if b.cfg.HeartbeatInterval > 0 {
		b.running.Go(func() { b.writeHeartbeats(b.readCtx) })
	}
	s := &scanner{Bridge: b, scan: b.saved.scan, sweep: b.saved.sweep}
	b.running.Go(func() { s.run(b.readCtx) })
}

// Close ends what reads, and waits for it: requests under way are given up. What was read and not handed over is read again by
// the next bridge of the region.
func (b *Bridge) Close() {
	b.cancel()
	b.running.Wait()
	if b.cfg.Registry.remove(b, b.region) {
		b.cfg.Metrics.forget(b.region)
	}
}

// publishStatus tells how the region stands.
func (b *Bridge) publishStatus(now time.Time) {
	s, m := b.health.status(b.region, now.UnixMilli()), b.cfg.Metrics
	b.cfg.Registry.set(b, s)
	b.logOutage(s.Problem, now)
	m.lag.WithLabelValues(b.region).Set(float64(s.LagMs) / 1000)
	m.shards.WithLabelValues(b.region).Set(float64(s.Shards))
	m.queued.WithLabelValues(b.region).Set(float64(b.queue.size()))
	if s.LagMs < lagWarning.Milliseconds() {
		b.warned = now // and a minute later it is no start any more
		return
	}
	if now.Sub(b.warned) >= time.Minute {
		b.warned = now.Add(9 * time.Minute)
		b.log.Warn().Dur("lag", time.Duration(s.LagMs)*time.Millisecond).Str("problem", s.Problem).Msg("bridge_lags")
	}
}

// logOutage logs that the region cannot be asked, and when it can be again, in few lines. The last is a warning as well: who reads of the
// begin wants to read of the end.
func (b *Bridge) logOutage(problem string, now time.Time) {
	if problem == "" {
		if n := b.outage.Success(now); n.Kind == logthrottle.End {
			b.log.Warn().Dur("for", n.For).Msg("region_recovered")
		}
		return
	}
	switch n := b.outage.Failure(now); n.Kind {
	case logthrottle.Begin:
		b.log.Warn().Str("problem", problem).Msg("region_failed")
	case logthrottle.Continue:
		b.log.Warn().Str("problem", problem).Dur("for", n.For).Msg("region_still_failing")
	default:
	}
}

// recordGap says that the stream has lost records, and asks for a scan.
func (b *Bridge) recordGap(d *batch, what string, nowMs int64) {
	b.cfg.Metrics.gaps.WithLabelValues(b.region).Inc()
	b.log.Warn().Str("what", what).Msg("stream_gap")
	// What is lost was written a day ago: a scan that began since has seen what became of it.
	d.scanRequest = scanRequest{nowMs - (retention - time.Hour).Milliseconds(), "gap: " + what}
	d.note(&eventspb.LeaseJournalEntry{
		AtMs: nowMs, By: "bridge", Kind: "gap", From: b.region,
		Text: "The stream of " + b.region + " lost records before they were read: " + what + ". All rows of the region are read from the table.",
	}, b.cfg.Partitions)
}

// countRecord takes a record's outcome down.
func (b *Bridge) countRecord(outcome, reason string) {
	b.cfg.Metrics.records.WithLabelValues(b.region, outcome).Inc()
	if reason != "" {
		b.cfg.Metrics.rejected.WithLabelValues(b.region, reason).Inc()
	}
}
