package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// settings are a pool's, as they were read.
type settings struct {
	table.Pool
	read time.Time
}

// maxSettingsAge is how many times SettingsTTL settings may be old before a call waits for new ones.
const maxSettingsAge = 10

// poolOf gives a pool with its settings. Those that get old are read again behind the caller's back, and so are the limits of
// regions; only the first call, or one after a long silence, or one of a region whose limit is over, waits for them. While they cannot
// be read, the old ones hold.
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

// refreshSettings reads what is old of a pool's settings and of the limits, once for all who want them now. p is what was known of the pool,
// or nil.
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
	p.settings.Store(v.(*settings)) //nolint:errcheck,forcetypeassert // what the function above gives
	return p, nil
}

// settings reads a pool's settings.
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
		return nil, fmt.Errorf("%w: pool %s has a quarantine of %v, which must be no less than Config.Skew, %v (weir pool update)", ErrTable, pool, s.Quarantine, a.cfg.Skew)
	}
	return s, nil
}

// missing says which of a pool and its client is not there.
func (a *Agent) missing(ctx context.Context, client, pool string) error {
	item, err := a.table.Get(ctx, a.cfg.Region, lease.ClientRow(client))
	switch {
	case err != nil:
		return err
	case item == nil:
		return fmt.Errorf("%w: client %q is not in the table (weir client create)", ErrUnknown, client)
	default:
		return fmt.Errorf("%w: client %q has no pool %q (weir pool create)", ErrUnknown, client, pool)
	}
}
