package balancer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/stream"
)

// A standby follows the rows of the owner: see stream.StandbyHandler. The counts change by the
// difference between the former row of a resource and the new one, as in a fold. All other rows
// replace what New has read of them.

// Follow applies the changes of one transaction of the owner.
func (b *Balancer) Follow(list []stream.Change) error {
	if b.broken != nil {
		return b.broken
	}
	for i := range list {
		c := &list[i]
		if err := b.follow(c); err != nil {
			return b.fail(fmt.Errorf("follow table %d, key %q: %w", c.Table, c.Key, err))
		}
	}
	for i := range list { // at last: the other rows of a pool may be deleted after it
		if c := &list[i]; c.Table == TablePools && c.Op == stream.OpDelete {
			b.remove(string(c.Key))
		}
	}
	return nil
}

func (b *Balancer) follow(c *stream.Change) error {
	key, deleted := string(c.Key), c.Op == stream.OpDelete
	switch c.Table {
	case TableResources:
		return b.followResource(c)
	case TablePools:
		if !deleted {
			return b.loadPool(key, c.Value)
		}
	case TablePoolRegions, TableProfiles:
		if deleted && b.knownPool(key) == nil {
			return nil
		}
		return b.followPoolRegion(c, key)
	case TableTransfers:
		if p := b.knownPool(key); p != nil {
			b.forgetTransfer(p, key)
		}
		if !deleted {
			return b.loadTransfer(key, c.Value)
		}
	case TableRegions:
		if i := b.region(key); i >= 0 && !deleted {
			clear(b.regions[i].seen)
			return b.regions[i].restore(c.Value)
		}
	case TableTask:
		return b.followTask(c.Value)
	}
	return nil
}

// knownPool returns the pool of a key that begins with client and pool; nil if it is unknown.
func (b *Balancer) knownPool(key string) *pool {
	parts := strings.SplitN(key, "\x00", 3)
	if len(parts) < 3 {
		return nil
	}
	return b.pools[key[:len(parts[0])+1+len(parts[1])]]
}

// followResource counts the new row of a resource in place of the former one.
func (b *Balancer) followResource(c *stream.Change) error {
	before, err := b.task.Get(TableResources, c.Key)
	if err != nil {
		return err
	}
	client, rest, ok := strings.Cut(string(c.Key), "\x00")
	name, _, ok2 := strings.Cut(rest, "\x00")
	if !ok || !ok2 {
		return errRow
	}
	if err := b.countRow(client, name, before, -1); err != nil {
		return err
	}
	return b.countRow(client, name, c.Value, 1)
}

// countRow adds a row of a pool to the counts (n is 1) or removes it (n is -1). A nil value counts
// as no row.
func (b *Balancer) countRow(client, name string, value []byte, n int64) error {
	if value == nil {
		return nil
	}
	r, err := decodeRow(value, b.cfg.Regions)
	if err != nil {
		return err
	}
	if s := b.poolRegion(b.pool(client, name), r.owner); s != nil {
		s.count(&r, n)
	}
	return nil
}

// followPoolRegion replaces what a row of a pool's region holds.
func (b *Balancer) followPoolRegion(c *stream.Change, key string) error {
	s := b.poolRegionOf(key)
	switch {
	case s == nil: // of an undeclared region
		return nil
	case c.Table == TableProfiles && c.Op == stream.OpDelete:
		s.profile = &forecast.Profile{}
		return nil
	case c.Table == TableProfiles:
		return b.loadProfile(key, c.Value)
	}
	s.published = nil
	return s.restore(c.Value) // no value: as before the first row
}

// forgetTransfer removes a transfer from the counts and from its pool.
func (b *Balancer) forgetTransfer(p *pool, key string) {
	name := key[len(p.key)+1:]
	f := p.transfers[name]
	if f == nil {
		return
	}
	b.uncountTransfer(p, f)
	if f.failed && f.from >= 0 {
		p.regions[f.from].excluded--
	}
	delete(p.transfers, name)
}

// followTask applies the row of the task. The owner writes it with each tick.
func (b *Balancer) followTask(value []byte) error {
	if err := b.loadTask(value); err != nil {
		return err
	}
	b.memory = 0
	for _, p := range b.order {
		b.memory += poolMemory + int64(len(p.transfers))*transferMemory
		for i := range p.regions {
			s := &p.regions[i]
			s.advance(b.firedMs)
			b.memory += poolRegionMemory + binMemory*int64(cap(s.leased)+cap(s.freeLater))
		}
	}
	return nil
}

// Estimates of the memory of a part, in bytes.
const (
	poolMemory       = 600
	poolRegionMemory = 3000 // most of it: Series and Profile
	transferMemory   = 300
	binMemory        = 16
)

// MemoryBytes estimates the memory at the last tick.
func (b *Balancer) MemoryBytes() int64 { return b.memory }

// remove forgets a pool, of which no row is left.
func (b *Balancer) remove(key string) {
	p := b.pools[key]
	delete(b.pools, key)
	b.order = slices.DeleteFunc(b.order, func(x *pool) bool { return x == p })
}

// TakeOver makes b the balancer of the owner.
func (b *Balancer) TakeOver(t stream.Task) error {
	b.task = t
	return b.broken
}
