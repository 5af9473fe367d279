package dynamotest

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/table"
)

// link carries replicated writes from one region to another.
type link struct {
	to      *Region
	lag     Span
	lanes   lanes
	newest  map[string]*replicatedWrite // writes that have not arrived, by table and key
	cut     bool
	waiting []*replicatedWrite // writes that arrived while the link was cut
}

// replicatedWrite is the latest write of an item that is on its way to another region.
type replicatedWrite struct {
	id    string // key in link.newest
	table string
	key   string
	row   table.Row
}

func (c *Cloud) link(from, to *Region) *link {
	direction := Link{from.name, to.name}
	l := c.links[direction]
	if l == nil {
		l = &link{to: to, lag: c.cfg.Profile.ReplicationLag, newest: map[string]*replicatedWrite{}}
		if lag, ok := c.cfg.Profile.Links[direction]; ok {
			l.lag = lag
		}
		c.links[direction] = l
	}
	return l
}

// replicate sends a write to the other regions that have the table.
func (t *liveTable) replicate(key string, row table.Row) {
	c := t.region.cloud
	if len(t.def.Replicas) == 0 || c.replaying {
		return
	}
	for _, name := range t.def.Replicas {
		if to := c.Region(name); name != t.region.name && to != nil {
			c.link(t.region, to).send(c, replicatedWrite{id: t.def.TableName + "/" + key, table: t.def.TableName, key: key, row: row})
		}
	}
}

// send sends the write, or replaces with it an earlier write of the same item that has not arrived.
func (l *link) send(c *Cloud, p replicatedWrite) {
	if earlier := l.newest[p.id]; earlier != nil && c.chance(c.cfg.Profile.Merge) {
		earlier.row = p.row
		return
	}
	l.newest[p.id] = &p
	c.inTransit++
	c.later(l.lanes.due(p.key, c.now, l.lag, c.rng), func() { l.arrive(c, &p) })
}

func (l *link) arrive(c *Cloud, p *replicatedWrite) {
	if l.cut {
		l.waiting = append(l.waiting, p)
		return
	}
	if l.newest[p.id] == p {
		delete(l.newest, p.id)
	}
	if t := l.to.tables[p.table]; t != nil && len(t.def.Replicas) > 0 {
		t.receive(c, p)
	}
	if c.inTransit--; c.inTransit == 0 {
		c.dropTombstones()
	}
}

// receive applies a write of another region if its stamp is later than that of the row here.
func (t *liveTable) receive(c *Cloud, p *replicatedWrite) {
	here := t.rows.Get(p.key)
	if !t.stampOf(p.key, here).Before(p.row.Stamp) {
		return
	}
	if !here.Exists() && !p.row.Exists() { // deleted in both regions
		t.tombstones[p.key] = p.row.Stamp
		return
	}
	if err := t.change(p.key, here, p.row); err != nil {
		c.failed = err
	}
}

// dropTombstones removes all tombstones. A tombstone is needed only while an older write of its
// item may arrive.
func (c *Cloud) dropTombstones() {
	for _, r := range c.regions {
		for _, t := range r.tables {
			clear(t.tombstones)
		}
	}
}

// Cut stops the replication from one region to another, or resumes it. When it resumes, the writes
// that arrived in between are applied at once, in their order. Cut returns an error unless from and
// to are two regions of the configuration.
func (c *Cloud) Cut(from, to string, cut bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, b := c.Region(from), c.Region(to)
	if a == nil || b == nil || a == b {
		return fmt.Errorf("dynamotest: cut the link from %q to %q: they must be two of the regions %q", from, to, c.cfg.Regions)
	}
	c.advance()
	l := c.link(a, b)
	l.cut = cut
	if !cut {
		waiting := l.waiting
		l.waiting = nil
		for _, p := range waiting {
			l.arrive(c, p)
		}
	}
	return nil
}

// withReplica returns the sorted names of the regions with one more.
func withReplica(regions []string, name string) []string {
	out := append(slices.Clone(regions), name)
	slices.Sort(out)
	return slices.Compact(out)
}
