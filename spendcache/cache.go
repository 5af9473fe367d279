package spendcache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/healthage"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/spendcache/selection"
)

// Cache follows the datasets of a datacentre and answers from them. Its methods may be called by
// several goroutines.
type Cache struct {
	cfg      Config
	follower *follower.Follower
	datasets []dataset
	// evaluated is when the datasets were evaluated last, by both clocks of the machine.
	evaluated time.Time
	shards    []shard  // by number
	leaders   []leader // by shard; none without Config.Pacing
	others    *substitutes
	scanning  chan struct{}          // bounds the scans of all rows
	switches  *prometheus.CounterVec // by mode and dataset
}

// dataset is what the cache knows of one datacentre's dataset.
type dataset struct {
	dc, topic string
	health    []healthage.Row // by shard; changed by evaluate alone
}

// shard is a shard of the accounts.
type shard struct {
	selector *selection.Selector
	since    time.Time // of the present choice
	choice   atomic.Pointer[Choice]
}

// evaluateEvery is the interval of the choices.
const evaluateEvery = time.Second

// New returns a cache. It starts nothing. Its error is ErrConfig.
func New(cfg Config) (*Cache, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	f, err := follower.New(cfg.follower())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	c := &Cache{
		cfg: cfg, follower: f, shards: make([]shard, cfg.Layout.Partitions()), switches: newSwitches(), scanning: make(chan struct{}, 1),
	}
	if cfg.Pacing {
		c.leaders = make([]leader, len(c.shards))
	}
	if c.others, err = newSubstitutes(&c.cfg); err != nil {
		return nil, err
	}
	for _, dc := range cfg.datasets() {
		d := dataset{dc: dc, topic: cfg.topic(dc), health: make([]healthage.Row, len(c.shards))}
		for n := range d.health {
			d.health[n].Copied = dc != cfg.DC
		}
		c.datasets = append(c.datasets, d)
	}
	for n := range c.shards {
		if c.shards[n].selector, err = selection.New(cfg.Selection); err != nil {
			return nil, fmt.Errorf("%w: Selection: %w", ErrConfig, err)
		}
	}
	return c, nil
}

// Run follows the datasets until ctx ends, and returns nil then. Failures of the brokers do not end
// it. Its errors are those of follower.Follower.Run. After it has returned, Run may be called
// again.
func (c *Cache) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var evaluating sync.WaitGroup
	evaluating.Go(func() {
		defer c.others.end()
		for {
			now := time.Now()
			c.evaluate(now)
			c.others.evaluate(ctx, now, ownPacing{c, now})
			if !pause.For(ctx, evaluateEvery) {
				return
			}
		}
	})
	err := c.follower.Run(ctx)
	cancel()
	evaluating.Wait()
	return err
}

// Status returns the state of each partition of each topic, for display.
func (c *Cache) Status() []follower.Status { return c.follower.Status() }

// Ready returns whether the cache can serve, and otherwise why not: every shard has a dataset, or
// all topics have been read to their ends since Run began.
func (c *Cache) Ready() (ready bool, why string) {
	snap, err := c.follower.Snapshot()
	if err != nil {
		return false, "spendcache: " + err.Error()
	}
	_ = snap.Close() // a snapshot of an open database has no error
	read := false
	select {
	case <-c.follower.CaughtUp():
		read = true
	default:
	}
	without := 0
	for n := range c.shards {
		if choice := c.shards[n].choice.Load(); choice == nil || choice.Mode != selection.Normal && !read {
			without++
		}
	}
	if without > 0 {
		return false, fmt.Sprintf("spendcache: %d of %d shards have no dataset yet%s", without, len(c.shards), c.obstacle())
	}
	return true, ""
}

// obstacle returns why a partition cannot be read, after a colon; empty if all can.
func (c *Cache) obstacle() string {
	for _, s := range c.follower.Status() {
		if s.State == follower.StateWaiting {
			return fmt.Sprintf(": %s: %s", s.Topic, s.Reason)
		}
	}
	return ""
}

// Shard returns the shard of an account.
func (c *Cache) Shard(account string) int32 { return events.Shard(account, int32(len(c.shards))) }

// gapError marks the error of a partition that cannot be read now with ErrNoRows.
func gapError(err error) error {
	if errors.Is(err, follower.ErrLoading) || errors.Is(err, follower.ErrNotRunning) {
		return fmt.Errorf("%w: %w", ErrNoRows, err)
	}
	return err
}
