package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// partition is a partition that is assigned to this consumer.
type partition struct {
	*partitionQueue
	n       int32
	ctx     context.Context // of its calls
	cancel  context.CancelFunc
	running int           // calls
	paused  bool          // fetching is paused
	closing bool          // no further call begins
	idle    chan struct{} // closed when closing is set and no call is under way

	committed int64 // by this consumer; -1: nothing yet
	retrying  int   // records that have failed and are not done
	givenUp   int   // records that GiveUp has taken
	lastErr   error // the last error of Do while records are retried
	stopped   error // why it cannot be read

	failed      kafka.FailedFetch    // at the position; of the goroutine that polls
	failing     bool                 // it is paused until its next fetch: see retryFetches
	moved       bool                 // it is failing, and due at another offset
	skipped     []kafka.SkippedRange // what operators skipped, oldest first
	skippedRead bool                 // skipped has what was committed
}

func newPartition(life context.Context, n int32) *partition {
	p := &partition{
		partitionQueue: newPartitionQueue(), n: n, idle: make(chan struct{}), committed: -1, failed: kafka.FailedFetch{AwaitRight: true},
	}
	p.ctx, p.cancel = context.WithCancel(life)
	return p
}

// Consumer runs a stream.Sink in one process. It is made by New.
type Consumer struct {
	cfg     settings
	cl      *kgo.Client
	wake    kafka.Wake
	looked  time.Time // for instructions to skip
	calls   sync.WaitGroup
	callCtx context.Context // of all calls

	// committing holds one element while a commit is under way. The last commit of a revoked
	// partition ends before the partition is released. A mutex would stop the clock of a
	// testing/synctest bubble while a commit waits for the brokers.
	committing chan struct{}

	mu       sync.Mutex // guards the fields below
	parts    map[int32]*partition
	order    []*partition // the same partitions, in the order of turns
	nextTurn int
	running  int // calls
	outage   logthrottle.Tracker
	gaveUp   bool // the last record that was retried was given up: the next success of Do ends the outage
}

// New makes a Consumer. It starts nothing.
func New(cfg Config, s stream.Sink) (*Consumer, error) {
	return newConsumer(settings{Config: cfg, Sink: s, committable: (*partitionQueue).committable})
}

func newConsumer(c settings) (*Consumer, error) {
	if err := c.Sink.Complete(); err != nil {
		return nil, fmt.Errorf("make a consumer: %w", err)
	}
	if err := c.setDefaults(); err != nil {
		return nil, err
	}
	return &Consumer{cfg: c, parts: map[int32]*partition{}, committing: make(chan struct{}, 1)}, nil
}

const (
	pollRecords = 1000    // the most records of one poll
	fetchBytes  = 1 << 20 // the most bytes of a fetch; in memory, records take about ten times as much
)

// Run runs the sink until ctx ends, which is not an error. It is called once.
func (c *Consumer) Run(ctx context.Context) error {
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	c.callCtx = life
	c.mu.Lock() // until the callbacks of the client may use it
	cl, err := c.cfg.Kafka.Client(
		kgo.ConsumerGroup(c.cfg.Group), kgo.InstanceID(c.cfg.Instance), kgo.ConsumeTopics(c.cfg.Topic), kgo.DisableAutoCommit(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.AdjustFetchOffsetsFn(c.cfg.Kafka.ExplicitStarts),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(c.cfg.SessionTimeout), kgo.HeartbeatInterval(c.cfg.SessionTimeout/6),
		kgo.RebalanceTimeout(30*time.Second+c.cfg.Grace),
		kgo.FetchMaxWait(250*time.Millisecond), kgo.FetchMaxBytes(fetchBytes), kgo.FetchMaxPartitionBytes(fetchBytes/4),
		kgo.OnPartitionsAssigned(c.onAssigned), kgo.OnPartitionsRevoked(c.onRevoked), kgo.OnPartitionsLost(c.onLost),
	)
	c.cl = cl
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("make client for %s: %w", c.cfg.Topic, err)
	}
	ticks := make(chan struct{})
	go func() {
		defer close(ticks)
		c.commitLoop(ctx)
	}()
	err = c.poll(ctx)
	<-ticks
	c.mu.Lock()
	all := slices.Collect(numbers(c.order))
	c.mu.Unlock()
	c.release(life, all)
	kill()
	c.calls.Wait()
	if errors.Is(err, kafka.ErrInstance) { // the membership is another process's: do not end it
		c.cl.CloseAllowingRebalance()
		return err
	}
	c.leave(life)
	return err
}

// leave ends the membership. If the brokers do not answer soon, the session timeout ends it. A
// static member leaves only by its name.
func (c *Consumer) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	c.cl.CloseAllowingRebalance()
	plain, err := c.cfg.Kafka.Client()
	if err == nil {
		defer plain.Close()
		_, err = kadm.NewClient(plain).LeaveGroup(ctx, kadm.LeaveGroup(c.cfg.Group).InstanceIDs(c.cfg.Instance))
	}
	if err != nil {
		c.cfg.Log.Warn().Err(err).Str("group", c.cfg.Group).Msg("leave_failed")
	}
}

// poll fetches until ctx ends.
func (c *Consumer) poll(ctx context.Context) error {
	for ctx.Err() == nil {
		c.wake.Look(c.cl)
		bounded, cancel := context.WithTimeout(ctx, time.Second)
		fetches := c.cl.PollRecords(bounded, pollRecords)
		cancel()
		// No rebalance happens before AllowRebalance: the records belong to the assigned
		// partitions.
		err := c.fatal(fetches)
		if ctx.Err() == nil && err == nil {
			c.take(fetches)
			c.fetchErrors(ctx, fetches) // of what is behind the records
			c.lookForSkips(ctx)
			c.retryFetches()
		}
		c.cl.AllowRebalance()
		if err != nil {
			return err
		}
	}
	return nil
}

// take puts the fetched records into the queues, and pauses the partitions whose queues are full.
func (c *Consumer) take(fetches kgo.Fetches) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		p := c.parts[fp.Partition]
		if p == nil || p.closing {
			return
		}
		for _, r := range fp.Records {
			p.epoch = r.LeaderEpoch
			if r.Attrs.IsControl() { // it counts as done
				p.next = r.Offset + 1
				continue
			}
			e := &entry{SinkRecord: sinkRecord(r)}
			e.key = c.cfg.Key(&e.SinkRecord)
			p.add(e)
		}
		if !p.paused && (len(p.entries) >= c.cfg.Pending || p.bytes >= c.cfg.PendingBytes) {
			p.paused = true
			c.pauseFetches(p)
		}
	})
	c.dispatch()
}

func sinkRecord(r *kgo.Record) stream.SinkRecord {
	out := stream.SinkRecord{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value, TimeMs: r.Timestamp.UnixMilli(),
	}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, stream.Header(h))
	}
	return out
}

// dispatch begins as many calls as are allowed; the partitions take turns. The mutex is held.
func (c *Consumer) dispatch() {
	for idle := 0; idle < len(c.order) && c.running < c.cfg.Concurrency; {
		p := c.order[c.nextTurn%len(c.order)]
		c.nextTurn++
		var e *entry
		if !p.closing && p.running < c.cfg.PerPartition {
			e = p.partitionQueue.take()
		}
		if e == nil {
			idle++
			continue
		}
		idle = 0
		p.running++
		c.running++
		c.calls.Go(func() { c.call(p, e) })
	}
}

// call calls Do for a taken record, or GiveUp.
func (c *Consumer) call(p *partition, e *entry) {
	r := e.SinkRecord // a copy: Do may keep it
	var err error
	givesUp := c.cfg.Retries > 0 && e.Attempt > c.cfg.Retries
	if givesUp {
		err = c.cfg.GiveUp(p.ctx, &r, e.err)
	} else if err = c.cfg.Do(p.ctx, &r); err != nil {
		e.err = err
		e.Attempt++
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.running--
	c.running--
	switch {
	case c.parts[p.n] != p: // the partition was released
	case err != nil:
		c.failed(p, e, err)
	default:
		if givesUp {
			p.givenUp++
			c.cfg.Log.Warn().Err(e.err).Str("topic", c.cfg.Topic).Int32("partition", p.n).Int64("offset", e.Offset).
				Int("attempt", e.Attempt).Msg("sink_gave_up")
		}
		c.done(p, e, !givesUp)
	}
	if p.closing && p.running == 0 {
		close(p.idle)
	}
	c.dispatch()
}

// done records that a call succeeded: that of Do, which shows that the other system is well, or
// that of GiveUp. The mutex is held.
func (c *Consumer) done(p *partition, e *entry, well bool) {
	if e.failures > 0 {
		if p.retrying--; p.retrying == 0 {
			p.lastErr = nil
		}
	}
	p.finish(e)
	if e.failures > 0 || c.gaveUp {
		c.recovered(well)
	}
	if p.paused && len(p.entries) <= c.cfg.Pending/2 && p.bytes <= c.cfg.PendingBytes/2 {
		if p.paused = false; p.stopped != nil || p.failing {
			return // another reason to pause is left
		}
		c.cl.ResumeFetchPartitions(map[string][]int32{c.cfg.Topic: {p.n}})
	}
}
