package agent

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Agent leases resources. It is safe for use by many goroutines; a process needs one for each table.
type Agent struct {
	cfg   Config
	rules *lease.Rules
	table table.Table
	cache cache
	reads singleflight.Group // of settings, and of regions: ""

	writeLeases atomic.Pointer[writeLeases]

	outage logthrottle.Tracker // of requests in the background

	mu     sync.Mutex
	pools  map[poolName]*pool
	calls  map[leaseName]*shared
	closed bool

	background context.Context
	stop       context.CancelFunc
	running    sync.WaitGroup
}

type poolName struct{ client, pool string }

// New returns an agent. It sends nothing until it is asked for something. Close ends what it does in the background.
func New(cfg Config) (*Agent, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, rules: lease.Protocol(), pools: map[poolName]*pool{}, calls: map[leaseName]*shared{}}
	a.table.Name, a.table.New = a.cfg.Table, a.cfg.Client
	a.table.Skew, a.table.Timeout, a.table.Attempts = a.cfg.Skew, a.cfg.Timeout, a.cfg.Attempts
	a.cache = cache{capacity: cfg.CacheLeases, leases: map[leaseName]cached{}}
	a.background, a.stop = context.WithCancel(context.Background())
	return a, nil
}

// Close ends the agent, and the calls that are under way. It waits, for Config.Timeout at most, until new leases are settled.
// Leases stay as they are.
func (a *Agent) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop()
	a.running.Wait()
}

// goBackground does something in the background, unless the agent is closed.
func (a *Agent) goBackground(do func(context.Context)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.running.Go(func() { do(a.background) })
	}
}

func check(client, pool, key string) error {
	if err := lease.CheckLease(client, pool, key); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}
