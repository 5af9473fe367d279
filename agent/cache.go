package agent

import (
	"sync"
	"time"
)

// cache keeps leases that were given out. It forgets those that are over, and some other when it is full.
type cache struct {
	capacity int

	mu     sync.Mutex
	leases map[leaseName]cached
}

type cached struct {
	lease Lease
	until time.Time // for which it is given without another look
}

// evictionSample is how many leases are looked at for one to forget.
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

// forget drops the one, of a few that the map's order happens to give first, that is good for the shortest time.
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

// renew replaces what is known of a lease, if it is the one that is kept.
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
