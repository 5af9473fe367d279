package executor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/ratelimit"
	"github.com/weirhq/weir/internal/shorten"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/command"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/processors/sink"
	"github.com/weirhq/weir/stream"
)

// Executor carries out the commands of one region. It is made by New.
type Executor struct {
	cfg      Config
	commands command.Config
	limiter  *ratelimit.Limiter
	consumer *sink.Consumer
	clockOK  atomic.Bool // the last response showed that the clock is right

	// regionRead holds one element while a caller reads the write lease. It guards the fields
	// below.
	regionRead     chan struct{}
	writeLease     table.WriteLease // of the region, at writeLeaseRead
	writeLeaseErr  error            // of the last read
	writeLeaseRead time.Time
	retryPause     time.Duration // writeLeaseRetry
}

// New makes an Executor. It starts nothing.
func New(cfg Config) (*Executor, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	e := &Executor{
		cfg: cfg, retryPause: writeLeaseRetry, regionRead: make(chan struct{}, 1),
		limiter: ratelimit.New(startRate, minRate, cfg.MaxRate), commands: command.Config{
			Region: cfg.Region, Regions: cfg.Regions, Rules: lease.Protocol(), Skew: cfg.Table.Skew.Milliseconds(),
			TransferWait: cfg.TransferWait.Milliseconds(), DrawBucket: cfg.DrawBucket,
		},
	}
	var err error
	if e.consumer, err = sink.New(sink.Config{Kafka: cfg.Kafka, Instance: cfg.Instance, Log: cfg.Log}, e.Sink()); err != nil {
		return nil, fmt.Errorf("executor of %s: %w", cfg.Region, err)
	}
	cfg.Metrics.begin(cfg.Region)
	return e, nil
}

// Sink describes the executor: the region's commands, in the order of the rows that they write.
func (e *Executor) Sink() stream.Sink {
	return stream.Sink{
		Group: events.LeaseExecutorGroup(e.cfg.Region), Topic: events.LeaseCommandsTopic(e.cfg.Region), Do: e.Do, Key: rowKey,
		Concurrency: e.cfg.Concurrency, Pending: e.cfg.Pending, PendingBytes: pendingBytes,
		// The sender of a command that retention has deleted repeats it if it still applies.
		SkipTrimmed: true,
	}
}

// Region returns Config.Region.
func (e *Executor) Region() string { return e.cfg.Region }

// Status returns the state of the assigned partitions: the commands that wait, and the error for
// which they wait.
func (e *Executor) Status() []sink.Status { return e.consumer.Status() }

// gaugeInterval is the time between updates of the gauges.
const gaugeInterval = time.Second

// Run carries out commands until ctx ends, which is not an error.
func (e *Executor) Run(ctx context.Context) error {
	if e.cfg.PublishResult == nil {
		p, err := sink.NewPublisher(e.cfg.Kafka, events.LeaseResultsTopic)
		if err != nil {
			return fmt.Errorf("executor of %s: %w", e.cfg.Region, err)
		}
		defer p.Close()
		e.cfg.PublishResult = p.Publish
	}
	shown, show := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shown)
		e.updateGauges(show)
	}()
	err := e.consumer.Run(ctx)
	close(show)
	<-shown
	if err != nil {
		return fmt.Errorf("executor of %s: %w", e.cfg.Region, err)
	}
	return nil
}

// updateGauges updates the gauges until done is closed.
func (e *Executor) updateGauges(done chan struct{}) {
	tick := time.NewTicker(gaugeInterval)
	defer tick.Stop()
	for {
		waiting, oldest, stopped, skipped := 0, time.Duration(0), 0, int64(0)
		for _, s := range e.Status() {
			if s.Stopped != nil {
				stopped++
			}
			for _, r := range s.Skipped {
				skipped += r.To - r.From
			}
			if waiting += s.Pending; s.Pending > 0 {
				oldest = max(oldest, time.Since(s.Oldest))
			}
		}
		e.cfg.Metrics.Waiting.WithLabelValues(e.cfg.Region).Set(float64(waiting))
		e.cfg.Metrics.Oldest.WithLabelValues(e.cfg.Region).Set(oldest.Seconds())
		e.cfg.Metrics.Stopped.WithLabelValues(e.cfg.Region).Set(float64(stopped))
		e.cfg.Metrics.Skipped.WithLabelValues(e.cfg.Region).Set(float64(skipped))
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// rowKey returns the key of the row that a command writes, and "" for records that are not
// commands. Do decodes the command again: that takes a thousandth of its time, and waiting commands
// take a third of the memory as bytes.
func rowKey(r *stream.SinkRecord) string {
	var c eventspb.LeaseCommand
	if proto.Unmarshal(r.Value, &c) != nil {
		return ""
	}
	p := command.TargetOf(&c).Row
	return p.Partition + "\x00" + p.Sort
}

// Do carries out the command of a record and writes its result. After an error the outcome is
// unknown and the caller calls Do again.
func (e *Executor) Do(ctx context.Context, r *stream.SinkRecord) error {
	gauge := e.cfg.Metrics.InFlight.WithLabelValues(e.cfg.Region)
	gauge.Inc()
	defer gauge.Dec()
	err := e.do(ctx, r)
	if err == nil {
		return nil
	}
	if why := reason(err); why != "" {
		e.cfg.Metrics.Retries.WithLabelValues(e.cfg.Region, why).Inc()
	}
	var named *table.Error
	if errors.As(err, &named) {
		return err
	}
	return fmt.Errorf("%s: %w", e.cfg.Region, err)
}

func (e *Executor) do(ctx context.Context, r *stream.SinkRecord) error {
	var c eventspb.LeaseCommand
	var a answer
	if err := proto.Unmarshal(r.Value, &c); err != nil {
		proto.Reset(&c)
		a.outcome, a.detail = eventspb.LeaseOutcome_LEASE_OUTCOME_INVALID, "the record is not a LeaseCommand: "+err.Error()
	} else if a, err = e.attempt(ctx, &c); err != nil {
		return err
	}
	partition := r.Partition
	if c.GetClient() != "" {
		partition = events.LeaseShard(c.GetClient(), c.GetPool(), e.cfg.Partitions)
	}
	res := e.result(&c, a)
	if res.Id == "" {
		res.Id = fmt.Sprintf("%s/%d/%d", events.LeaseCommandsTopic(e.cfg.Region), r.Partition, r.Offset)
	}
	value, err := proto.Marshal(res)
	if err != nil {
		return fmt.Errorf("encode a result: %w", err)
	}
	if err := e.cfg.PublishResult(ctx, partition, []byte(res.GetClient()+"\x00"+res.GetPool()), value); err != nil {
		return errors.Join(errResults, err)
	}
	kind := res.GetKind()
	if kind == "" {
		kind = "unknown"
	}
	e.cfg.Metrics.Commands.WithLabelValues(e.cfg.Region, kind, outcome(a.outcome)).Inc()
	return nil
}

func (e *Executor) result(c *eventspb.LeaseCommand, a answer) *eventspb.LeaseResult {
	t := command.TargetOf(c)
	return &eventspb.LeaseResult{
		Id: bounded(c.GetId()), Client: bounded(c.GetClient()), Pool: bounded(c.GetPool()), Region: e.cfg.Region,
		By: bounded(c.GetBy()), Kind: t.Kind,
		Resource: bounded(t.Resource), Key: bounded(t.Key), Outcome: a.outcome, Detail: bounded(a.detail), Version: a.version,
		DoneMs: time.Now().UnixMilli(), DecidedMs: c.GetDecidedMs(),
	}
}

// bounded bounds a name in a result, so that the result of a command with names of any length fits
// a Kafka record. Valid names are shorter.
func bounded(s string) string { return shorten.Text(s, lease.MaxKey) }
