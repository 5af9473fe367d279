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

// Agent leases resources. It is safe for concurrent use. A process needs one for each table.
type Agent struct {
	cfg   Config
	rules *lease.Rules
	table table.Table
	cache cache
	reads singleflight.Group // reads of pool settings; key "": of write leases

	writeLeases atomic.Pointer[writeLeases]

	outage logthrottle.Tracker // outage of background requests

	mu     sync.Mutex
	pools  map[poolName]*pool
	calls  map[leaseName]*sharedCall
	closed bool

	background context.Context
	stop       context.CancelFunc
	running    sync.WaitGroup
}

type poolName struct{ client, pool string }

// New returns an agent. It sends no request until the first call. Close stops its background work.
func New(cfg Config) (*Agent, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, rules: lease.Protocol(), pools: map[poolName]*pool{}, calls: map[leaseName]*sharedCall{}}
	a.table.Name, a.table.New = a.cfg.Table, a.cfg.Client
	a.table.Skew, a.table.Timeout, a.table.Attempts = a.cfg.Skew, a.cfg.Timeout, a.cfg.Attempts
	a.cache = cache{capacity: cfg.CacheLeases, leases: map[leaseName]cached{}}
	a.background, a.stop = context.WithCancel(context.Background())
	return a, nil
}

// Close stops the agent and cancels calls that are in progress. It waits up to Config.Timeout until
// new leases are settled. It does not end leases.
func (a *Agent) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop()
	a.running.Wait()
}

// goBackground runs do in the background, unless the agent is closed.
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
