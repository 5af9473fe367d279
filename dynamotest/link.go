package dynamotest

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/table"
)

// link is the way of replicated writes from one region to another.
type link struct {
	to      *Region
	lag     Span
	lanes   lanes
	newest  map[string]*parcel // on the way, by table and key
	cut     bool
	waiting []*parcel // that arrived while it was cut
}

// parcel is the latest write of an item, on its way to another region.
type parcel struct {
	id    string // in newest
	table string
	key   string
	row   table.Row
}

func (c *Cloud) link(from, to *Region) *link {
	way := Link{from.name, to.name}
	l := c.links[way]
	if l == nil {
		l = &link{to: to, lag: c.cfg.Profile.ReplicationLag, newest: map[string]*parcel{}}
		if lag, ok := c.cfg.Profile.Links[way]; ok {
			l.lag = lag
		}
		c.links[way] = l
	}
	return l
}

// replicate sends a write to the other regions that have the table.
func (t *liveTable) replicate(key string, row table.Row) {
	c := t.region.cloud
	if len(t.def.Replicas) == 0 || c.replays {
		return
	}
	for _, name := range t.def.Replicas {
		if to := c.Region(name); name != t.region.name && to != nil {
			c.link(t.region, to).send(c, parcel{id: t.def.TableName + "/" + key, table: t.def.TableName, key: key, row: row})
		}
	}
}

// send puts the parcel on its way, or into the place of an earlier one of the same item.
func (l *link) send(c *Cloud, p parcel) {
	if earlier := l.newest[p.id]; earlier != nil && c.happens(c.cfg.Profile.Merge) {
		earlier.row = p.row
		return
	}
	l.newest[p.id] = &p
	c.afloat++
	c.later(l.lanes.due(p.key, c.now, l.lag, c.dice), func() { l.arrive(c, &p) })
}

func (l *link) arrive(c *Cloud, p *parcel) {
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
	if c.afloat--; c.afloat == 0 {
		c.forgetGraves()
	}
}

// receive takes a write of another region, if it wins over what is here.
func (t *liveTable) receive(c *Cloud, p *parcel) {
	here := t.rows.Get(p.key)
	if !t.stampOf(p.key, here).Before(p.row.Stamp) {
		return
	}
	if !here.Exists() && !p.row.Exists() { // both deleted it
		t.graves[p.key] = p.row.Stamp
		return
	}
	if err := t.change(p.key, here, p.row); err != nil {
		c.failed = err
	}
}

// forgetGraves drops what is known of deleted items. They are needed only while an older write may arrive.
func (c *Cloud) forgetGraves() {
	for _, r := range c.regions {
		for _, t := range r.tables {
			clear(t.graves)
		}
	}
}

// Cut stops the replication from one region to another, or lets it go on: what arrived in between arrives then, at once
// and in its order. The regions must be two of the configuration's.
func (c *Cloud) Cut(from, to string, cut bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, b := c.Region(from), c.Region(to)
	if a == nil || b == nil || a == b {
		return fmt.Errorf("dynamotest: the link from %q to %q: name two of the regions %q", from, to, c.cfg.Regions)
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

// withReplica returns the sorted regions with one more.
func withReplica(regions []string, name string) []string {
	out := append(slices.Clone(regions), name)
	slices.Sort(out)
	return slices.Compact(out)
}
