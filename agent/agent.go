package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/internal/lease"
)

// Agent leases resources. It is safe for use by many goroutines; a process needs one for each table.
type Agent struct {
	cfg   Config
	rules *lease.Rules
	table table
	cache cache

	mu     sync.Mutex
	pools  map[poolName]*pool
	calls  map[name]*shared
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
	a := &Agent{cfg: cfg, rules: lease.Protocol(), pools: map[poolName]*pool{}, calls: map[name]*shared{}}
	a.table = table{cfg: &a.cfg, clients: map[string]*dynamodb.Client{}}
	a.cache = cache{most: cfg.CacheLeases, leases: map[name]cached{}}
	a.background, a.stop = context.WithCancel(context.Background())
	return a, nil
}

// Close ends the agent and waits for what it does in the background. Leases stay as they are.
func (a *Agent) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop()
	a.running.Wait()
}

// behind does something in the background, unless the agent is closed.
func (a *Agent) behind(do func(context.Context)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.running.Go(func() { do(a.background) })
	}
}

// poolOf gives a pool with settings that are not too old.
func (a *Agent) poolOf(ctx context.Context, client, name string, call *Call) (*pool, error) {
	a.mu.Lock()
	p, ok := a.pools[poolName{client, name}]
	a.mu.Unlock()
	if ok && time.Now().Before(p.until) {
		return p, nil
	}
	call.RoundTrips++
	settings, err := a.settings(ctx, client, name)
	if err != nil {
		return nil, err
	}
	p = &pool{a: a, client: client, name: name, settings: settings, until: time.Now().Add(a.cfg.SettingsTTL)}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pools[poolName{client, name}] = p
	return p, nil
}

func check(client, pool, key string) error {
	for _, n := range []struct {
		what, name string
		most       int
	}{{"client", client, lease.MaxName}, {"pool", pool, lease.MaxName}, {"key", key, lease.MaxKey}} {
		if err := lease.CheckName(n.what, n.name, n.most); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return nil
}
