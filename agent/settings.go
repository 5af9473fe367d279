package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// settings are a pool's settings with the time of their read.
type settings struct {
	table.Pool
	read time.Time
}

// maxSettingsAge, times SettingsTTL, is the age at which a call waits for new settings.
const maxSettingsAge = 10

// poolOf returns a pool with its settings. Settings and write leases older than SettingsTTL are
// read again in the background. A call waits for them only if it is the first one, if they are
// older than maxSettingsAge, or if the region's write lease has ended. While they cannot be read,
// the old ones are used.
func (a *Agent) poolOf(ctx context.Context, client, name string, call *Call) (*pool, error) {
	a.mu.Lock()
	p := a.pools[poolName{client, name}]
	a.mu.Unlock()
	r := a.writeLeases.Load()
	if p != nil && r != nil {
		age, oldest := time.Since(p.settings.Load().read), maxSettingsAge*a.cfg.SettingsTTL
		switch {
		case age < a.cfg.SettingsTTL && a.isFresh(r):
			return p, nil
		case age < oldest && time.Since(r.read) < oldest && !a.writeLeaseOver(r):
			if p.reading.CompareAndSwap(false, true) {
				a.goBackground(func(ctx context.Context) {
					defer p.reading.Store(false)
					_, _ = a.refreshSettings(ctx, p, client, name)
				})
			}
			return p, nil
		}
	}
	call.RoundTrips += 2
	return a.refreshSettings(ctx, p, client, name)
}

// refreshSettings reads a pool's settings and the write leases, as far as they are old. Concurrent
// callers share one read. p is the pool with its former settings, or nil.
func (a *Agent) refreshSettings(ctx context.Context, p *pool, client, name string) (*pool, error) {
	v, err, _ := a.reads.Do(lease.PoolRow(client, name).Partition+"#"+name, func() (any, error) {
		ctx := context.WithoutCancel(ctx)
		if err := a.readWriteLeases(ctx); err != nil {
			return nil, err
		}
		if p != nil {
			if s := p.settings.Load(); time.Since(s.read) < a.cfg.SettingsTTL {
				return s, nil
			}
		}
		return a.settings(ctx, client, name)
	})
	switch {
	case err == nil:
		a.logOutage("", nil)
	case p != nil && !isPermanent(err):
		a.logOutage("read settings of "+client+"/"+name, err)
		return p, nil
	default:
		a.mu.Lock()
		delete(a.pools, poolName{client, name})
		a.mu.Unlock()
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if p = a.pools[poolName{client, name}]; p == nil {
		p = &pool{a: a, client: client, name: name}
		a.pools[poolName{client, name}] = p
	}
	p.settings.Store(v.(*settings)) //nolint:errcheck,forcetypeassert // the function above returns it
	return p, nil
}

// settings reads the settings of a pool.
func (a *Agent) settings(ctx context.Context, client, pool string) (*settings, error) {
	s := &settings{read: time.Now()}
	found, err := a.table.Get(ctx, a.cfg.Region, lease.PoolRow(client, pool))
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, a.missing(ctx, client, pool)
	}
	if s.Pool, err = table.PoolOf(found); err != nil {
		return nil, fmt.Errorf("%w: settings of pool %s: %w", ErrTable, pool, err)
	}
	if s.Quarantine < a.cfg.Skew {
		return nil, fmt.Errorf(
			"%w: pool %s has a quarantine of %v, which is less than the clock skew, %v: set the pool's quarantine to at least that",
			ErrTable, pool, s.Quarantine, a.cfg.Skew)
	}
	return s, nil
}

// missing returns the error for a pool without settings: its client is unknown, or the pool is.
func (a *Agent) missing(ctx context.Context, client, pool string) error {
	item, err := a.table.Get(ctx, a.cfg.Region, lease.ClientRow(client))
	switch {
	case err != nil:
		return err
	case item == nil:
		return &UnknownError{Kind: "client", Name: client}
	default:
		return &UnknownError{Kind: "pool", Name: pool, Client: client}
	}
}
