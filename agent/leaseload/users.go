package leaseload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/agent"
)

// Config configures Users. Client, Pool, Prefix, Rate and Length must be set.
type Config struct {
	Client, Pool string
	Prefix       string        // of the keys
	Rate         float64       // mean of new keys per second
	Length       time.Duration // of a lease
	// Swing is the amplitude of the rate, as a share of Rate. Cycle is the period. Peak is the
	// phase of the highest rate, as a share of Cycle. The default is a constant rate.
	Swing float64
	Cycle time.Duration
	Peak  float64
}

// Stats counts the calls of Users. Held is the number of leases that are held now.
type Stats struct {
	Held, Got, Renewed, Released, Refused, Failed atomic.Int64
}

// Users are simulated users of leases in the region of one agent.
type Users struct {
	Stats

	agent   *agent.Agent
	cfg     Config
	started time.Time
	n       int
	calls   errgroup.Group
	uses    []leaseUse
}

// leaseUse is a lease, and what happens to it next, at a time.
type leaseUse struct {
	lease agent.Lease
	at    time.Time
	next  intent
}

type intent uint8

const (
	end intent = iota
	renew
	release
)

// maxCalls bounds the concurrent calls of the agent.
const maxCalls = 8

// New returns Users. They start with Run.
func New(a *agent.Agent, cfg Config) *Users {
	return &Users{agent: a, cfg: cfg}
}

const tickInterval = 100 * time.Millisecond

// Run gets, renews and releases leases until ctx ends.
func (c *Users) Run(ctx context.Context) {
	t := time.NewTicker(tickInterval)
	defer t.Stop()
	c.started = time.Now()
	results := make(chan leaseUse, 4*maxCalls)
	c.calls.SetLimit(maxCalls)
	defer func() { _ = c.calls.Wait() }()
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-results:
			c.uses = append(c.uses, u)
		case now := <-t.C:
			for range poisson(c.rate(now) * tickInterval.Seconds()) {
				c.n++
				c.begin(ctx, fmt.Sprintf("%s%s-%d", c.cfg.Prefix, c.started.Format("150405"), c.n), results)
			}
			c.due(ctx, now, results)
		}
	}
}

// rate returns the mean of arrivals per second.
func (c *Users) rate(now time.Time) float64 {
	if c.cfg.Cycle == 0 {
		return c.cfg.Rate
	}
	share := now.Sub(c.started).Seconds()/c.cfg.Cycle.Seconds() - c.cfg.Peak
	return c.cfg.Rate * (1 + c.cfg.Swing*math.Cos(2*math.Pi*share))
}

// begin gets a lease for a new key. If too many calls are under way, it does nothing.
func (c *Users) begin(ctx context.Context, key string, results chan<- leaseUse) {
	c.calls.TryGo(func() error {
		l, err := c.agent.GetLease(ctx, c.cfg.Client, c.cfg.Pool, key, time.Now().Add(c.cfg.Length))
		if err != nil {
			c.failed(ctx, err)
			return nil
		}
		c.Got.Add(1)
		c.Held.Add(1)
		u := leaseUse{l, l.Deadline, end}
		switch left := time.Until(l.Deadline); rand.IntN(4) {
		case 0:
			u.at, u.next = time.Now().Add(left/2), renew
		case 1:
			u.at, u.next = time.Now().Add(left/4), release
		}
		send(ctx, results, u)
		return nil
	})
}

func send(ctx context.Context, results chan<- leaseUse, u leaseUse) {
	select {
	case results <- u:
	case <-ctx.Done():
	}
}

// due makes the calls that are due by now, and removes ended leases.
func (c *Users) due(ctx context.Context, now time.Time, results chan<- leaseUse) {
	kept := c.uses[:0]
	for _, u := range c.uses {
		switch {
		case u.at.After(now):
			kept = append(kept, u)
		case u.next == end:
			c.Held.Add(-1)
		case !c.calls.TryGo(func() error { c.renewOrRelease(ctx, u, results); return nil }):
			kept = append(kept, u)
		}
	}
	clear(c.uses[len(kept):])
	c.uses = kept
}

// renewOrRelease makes the next call for a lease.
func (c *Users) renewOrRelease(ctx context.Context, u leaseUse, results chan<- leaseUse) {
	if u.next == release {
		c.Held.Add(-1)
		if err := c.agent.Release(ctx, u.lease); err != nil {
			c.failed(ctx, err)
			return
		}
		c.Released.Add(1)
		return
	}
	l, err := c.agent.Renew(ctx, u.lease, time.Now().Add(c.cfg.Length))
	if err != nil {
		c.failed(ctx, err)
		l = u.lease
	} else {
		c.Renewed.Add(1)
	}
	send(ctx, results, leaseUse{l, l.Deadline, end})
}

func (c *Users) failed(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, agent.ErrExhausted):
		c.Refused.Add(1)
	default:
		c.Failed.Add(1)
	}
}

// poisson draws a number from a Poisson distribution (Knuth).
func poisson(mean float64) (n int) {
	for p := rand.Float64(); p > math.Exp(-mean); n++ {
		p *= rand.Float64()
	}
	return n
}
