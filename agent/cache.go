package agent

import (
	"sync"
	"time"
)

// cache keeps leases that were returned to callers. When it is full, it evicts one.
type cache struct {
	capacity int

	mu     sync.Mutex
	leases map[leaseName]cached
}

type cached struct {
	lease Lease
	until time.Time // time until which it is returned without a read of the table
}

// evictionSample is the number of leases from which one is chosen for eviction.
const evictionSample = 8

func (c *cache) get(n leaseName, now time.Time) (Lease, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.leases[n]
	if !ok || !now.Before(e.until) || !e.lease.Valid(now) {
		return Lease{}, false
	}
	return e.lease, true
}

func (c *cache) put(n leaseName, l Lease, until time.Time) {
	l.New, l.Clamped = false, false
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.leases[n]; !ok && len(c.leases) >= c.capacity {
		c.forget()
	}
	c.leases[n] = cached{l, until}
}

// forget evicts the lease that can be returned for the shortest time, of a sample in map order.
func (c *cache) forget() {
	var worst leaseName
	var until time.Time
	left := evictionSample
	for n, e := range c.leases {
		if left == evictionSample || e.until.Before(until) {
			worst, until = n, e.until
		}
		if left--; left == 0 {
			break
		}
	}
	delete(c.leases, worst)
}

// renew replaces a lease in the cache, if it is the same lease with the same token.
func (c *cache) renew(n leaseName, l Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.leases[n]; ok && e.lease.Token == l.Token && e.lease.Resource == l.Resource && e.lease.Region == l.Region {
		e.lease = l
		c.leases[n] = e
	}
}

func (c *cache) drop(n leaseName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leases, n)
}
