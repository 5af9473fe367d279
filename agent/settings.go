package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
)

// settings are a pool's, as they were read.
type settings struct {
	leasetable.Pool
	limits map[string]leasetable.Limit // of each region, as ours has it
	read   time.Time
}

// tooOld is how many times SettingsTTL settings may be old before a call waits for new ones.
const tooOld = 10

// endedAge is how old settings may be by which the region's lease is over, before a call waits for new ones: it may have been
// extended meanwhile.
const endedAge = time.Second

// poolOf gives a pool with its settings. Those that get old are read again behind the caller's back; only the first call,
// or one after a long silence, waits for them. While they cannot be read, the old ones hold.
func (a *Agent) poolOf(ctx context.Context, client, name string, call *Call) (*pool, error) {
	a.mu.Lock()
	p := a.pools[poolName{client, name}]
	a.mu.Unlock()
	if p != nil {
		s := p.settings.Load()
		age, limit := time.Since(s.read), s.limits[a.cfg.Region]
		ended := limit.Check(time.Now(), a.cfg.Skew, a.cfg.Timeout) != nil
		switch {
		case age < a.cfg.SettingsTTL && (!ended || age < endedAge):
			return p, nil
		case age < tooOld*a.cfg.SettingsTTL && !ended:
			if p.reading.CompareAndSwap(false, true) {
				a.behind(func(ctx context.Context) {
					defer p.reading.Store(false)
					_, _ = a.reread(ctx, p, client, name)
				})
			}
			return p, nil
		}
	}
	call.RoundTrips += 2
	return a.reread(ctx, p, client, name)
}

// reread reads a pool's settings, once for all who want them now. p is what was known of the pool, or nil.
func (a *Agent) reread(ctx context.Context, p *pool, client, name string) (*pool, error) {
	v, err, _ := a.reads.Do(lease.PoolRow(client, name).Partition+"#"+name, func() (any, error) {
		return a.settings(context.WithoutCancel(ctx), client, name)
	})
	switch {
	case err == nil:
		a.tell("", nil)
	case p != nil && (errors.Is(err, ErrUnavailable) || errors.Is(err, ErrThrottled)):
		a.tell("read settings of "+client+"/"+name, err)
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

// settings reads a pool's settings, and whether our region is one.
func (a *Agent) settings(ctx context.Context, client, pool string) (*settings, error) {
	s := &settings{read: time.Now()}
	regions, err := a.table.Query(ctx, a.cfg.Region, lease.RegionRow("").Partition)
	if err != nil {
		return nil, err
	}
	found, err := a.table.Get(ctx, a.cfg.Region, lease.PoolRow(client, pool))
	if err != nil {
		return nil, err
	}
	ours := find(regions, a.cfg.Region)
	switch {
	case ours == nil:
		return nil, fmt.Errorf("%w: region %q is not in the table (weir region create)", ErrUnknown, a.cfg.Region)
	case found == nil:
		return nil, a.unknown(ctx, client, pool)
	}
	if s.Pool, err = leasetable.PoolOf(found); err != nil {
		return nil, fmt.Errorf("%w: settings of pool %s: %w", ErrTable, pool, err)
	}
	if s.Quarantine < a.cfg.Skew {
		return nil, fmt.Errorf("%w: pool %s has a quarantine of %v, which must be no less than Config.Skew, %v (weir pool update)", ErrTable, pool, s.Quarantine, a.cfg.Skew)
	}
	// A lease of another region is renewed and given back there, so its limit holds for us, too.
	s.limits = make(map[string]leasetable.Limit, len(regions))
	for _, item := range regions {
		region := leasetable.Text(item, leasetable.SK)
		if s.limits[region], err = a.table.LimitOf(ctx, a.cfg.Region, item); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// unknown says which of a pool and its client is not there.
func (a *Agent) unknown(ctx context.Context, client, pool string) error {
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

// find is the item of that sort key, or nil.
func find(items []leasetable.Item, sort string) leasetable.Item {
	for _, item := range items {
		if leasetable.Text(item, leasetable.SK) == sort {
			return item
		}
	}
	return nil
}
