package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/lease/order"
	"github.com/weirhq/weir/internal/leasetable"
	"github.com/weirhq/weir/internal/pace"
	"github.com/weirhq/weir/processors/effects"
)

// Executor carries out the commands of one region. It is made by New.
type Executor struct {
	cfg      Config
	terms    order.Terms
	pace     *pace.Limiter
	consumer *effects.Consumer
	clock    atomic.Bool // the last answer showed the clock to be right

	asks      chan struct{}    // full while somebody asks the region; who has filled it has what follows
	limit     leasetable.Limit // of the region, as of limitRead
	limitErr  error            // why it could not be read
	limitRead time.Time
	rest      time.Duration // limitRest
}

// New makes an Executor. It starts nothing.
func New(cfg Config) (*Executor, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	e := &Executor{cfg: cfg, rest: limitRest, asks: make(chan struct{}, 1), pace: pace.New(startRate, leastRate, cfg.MaxRate), terms: order.Terms{
		Region: cfg.Region, Regions: cfg.Regions, Rules: lease.Protocol(), Skew: cfg.Table.Skew.Milliseconds(), Wait: cfg.Wait.Milliseconds(), Draw: cfg.Draw,
	}}
	var err error
	e.consumer, err = effects.New(effects.Config{
		Kafka: cfg.Kafka, Group: events.LeaseExecutorGroup(cfg.Region), Topic: events.LeaseCommandsTopic(cfg.Region), Instance: cfg.Instance,
		Do: e.Do, Key: row, Concurrency: cfg.Concurrency, Pending: cfg.Pending, PendingBytes: pendingBytes, Log: cfg.Log,
		Skip: true, // a command that retention took is said again by who wants it still, or was for a moment that is over
	})
	if err != nil {
		return nil, fmt.Errorf("executor of %s: %w", cfg.Region, err)
	}
	return e, nil
}

// Region is whose rows are written.
func (e *Executor) Region() string { return e.cfg.Region }

// Status says how its partitions stand: what waits while the region does not answer, and why.
func (e *Executor) Status() []effects.Status { return e.consumer.Status() }

// figures is how often the gauges are set.
const figures = time.Second

// Run carries out commands until ctx ends, which is no error.
func (e *Executor) Run(ctx context.Context) error {
	if e.cfg.Results == nil {
		p, err := effects.NewPublisher(e.cfg.Kafka, events.LeaseResultsTopic)
		if err != nil {
			return fmt.Errorf("executor of %s: %w", e.cfg.Region, err)
		}
		defer p.Close()
		e.cfg.Results = p.Publish
	}
	shown, show := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shown)
		e.show(show)
	}()
	err := e.consumer.Run(ctx)
	close(show)
	<-shown
	if err != nil {
		return fmt.Errorf("executor of %s: %w", e.cfg.Region, err)
	}
	return nil
}

// show keeps the gauges up to date until done.
func (e *Executor) show(done chan struct{}) {
	tick := time.NewTicker(figures)
	defer tick.Stop()
	for {
		waiting, oldest := 0, time.Duration(0)
		for _, s := range e.Status() {
			if waiting += s.Pending; s.Pending > 0 {
				oldest = max(oldest, time.Since(s.Oldest))
			}
		}
		e.cfg.Metrics.Waiting.WithLabelValues(e.cfg.Region).Set(float64(waiting))
		e.cfg.Metrics.Oldest.WithLabelValues(e.cfg.Region).Set(oldest.Seconds())
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// row is the row that a record's command is of. Records that are no command are of one row, for all that it matters. The command is
// decoded again when it is carried out: that takes a thousandth of the time, and while a region is down so many wait in memory
// that they are better kept as bytes, a third of the size.
func row(r *effects.Record) string {
	var c eventspb.LeaseCommand
	if proto.Unmarshal(r.Value, &c) != nil {
		return ""
	}
	p := order.Of(&c).Row
	return p.Partition + "\x00" + p.Sort
}

// Do carries out the command of a record and gives its result. After an error it is to be called again: nothing is known of
// what became of the command.
func (e *Executor) Do(ctx context.Context, r *effects.Record) error {
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
	var named *leasetable.Error
	if errors.As(err, &named) {
		return err
	}
	return fmt.Errorf("%s: %w", e.cfg.Region, err)
}

func (e *Executor) do(ctx context.Context, r *effects.Record) error {
	var c eventspb.LeaseCommand
	var a answer
	if err := proto.Unmarshal(r.Value, &c); err != nil {
		proto.Reset(&c)
		a.outcome, a.detail = eventspb.LeaseOutcome_LEASE_OUTCOME_INVALID, "the record is no LeaseCommand: "+err.Error()
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
	if err := e.cfg.Results(ctx, partition, []byte(res.GetClient()+"\x00"+res.GetPool()), value); err != nil {
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
	t := order.Of(c)
	return &eventspb.LeaseResult{
		Id: clip(c.GetId()), Client: clip(c.GetClient()), Pool: clip(c.GetPool()), Region: e.cfg.Region, By: clip(c.GetBy()), Kind: t.Kind,
		Resource: clip(t.Resource), Key: clip(t.Key), Outcome: a.outcome, Detail: clip(a.detail), Version: a.version,
		DoneMs: time.Now().UnixMilli(), DecidedMs: c.GetDecidedMs(),
	}
}

// clip keeps the result of a command with names of any length small enough for Kafka. No valid name is longer.
func clip(s string) string {
	if len(s) <= lease.MaxKey {
		return s
	}
	return strings.ToValidUTF8(s[:lease.MaxKey], "")
}
