package balancer

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

// dead is a row that is to go.
type dead struct {
	table byte
	key   string
}

var errStays = errors.New("the pool has resources")

// over says whether nothing is left of a pool: it has no settings, as it was deleted or these were never seen, and nothing that
// is leased or can be. Retired resources do not count: they stay in the table for ever.
func (p *pool) over() bool {
	for i := range p.sites {
		if s := &p.sites[i]; s.free > 0 || len(s.ripening) > 0 || s.leases > 0 {
			return false
		}
	}
	return len(p.flights) == 0 && unset(&p.settings)
}

// unset says whether nothing is set: see foldSettings.
func unset(s *eventspb.LeasePool) bool {
	return proto.Equal(s, &eventspb.LeasePool{Version: s.Version})
}

// forget takes a pool that is over out of the topic of headroom, and then out of memory and store, some rows at a time: what is
// left are resources that went to other pools. Old changes of those are known as old no more; they come again only with those that
// took them away.
func (b *Balancer) forget(p *pool, nowMs int64) error {
	switch {
	case p.overMs == 0 || p.overMs > nowMs:
		p.overMs = nowMs
	case nowMs-p.overMs < forgetAfter.Milliseconds():
	default:
		for i := range p.sites {
			if s := &p.sites[i]; s.told != nil {
				b.drop(p, i)
			}
		}
		if p.stock() > 0 || len(p.fresh) > 0 || len(p.aged) > 0 { // the store may not have all that there is
			return nil
		}
		return b.erase(p)
	}
	return nil
}

// drop takes back what was told of a pool in region i.
func (b *Balancer) drop(p *pool, i int) {
	s := &p.sites[i]
	s.told, s.due, s.commandedMs = nil, false, 0
	b.touch(s)
	key := joined(p.key, b.cfg.Regions[i])
	b.out = append(b.out, output{OutputHeadroom, key, nil})
	b.dirty += len(key)
}

// erase deletes a pool's rows, or some of them, and forgets it when no more are left.
func (b *Balancer) erase(p *pool) error {
	rows := []dead{}
	for _, region := range b.cfg.Regions { // the store may not have these yet
		rows = append(rows, dead{TableSites, joined(p.key, region)}, dead{TableProfiles, joined(p.key, region)})
	}
	left := forgetAtOnce
	for _, table := range []byte{TableSites, TableProfiles, TableResources} {
		err := b.task.Scan(table, []byte(joined(p.key, "")), func(key, value []byte) error {
			if left--; left < 0 {
				return errEnough
			}
			if table == TableResources {
				switch r, err := decodeRow(value, b.cfg.Regions); {
				case err != nil:
					return fmt.Errorf("resource %q: %w", key, err)
				case !r.gone: // of a region that is not declared now, which no count has
					return errStays
				}
			}
			rows = append(rows, dead{table, string(key)})
			return nil
		})
		switch {
		case errors.Is(err, errStays):
			return nil
		case err != nil && !errors.Is(err, errEnough):
			return err
		}
	}
	b.dropped = append(b.dropped, rows...)
	for _, r := range rows {
		b.dirty += len(r.key)
	}
	if left < 0 {
		return nil
	}
	b.dropped = append(b.dropped, dead{TablePools, p.key})
	delete(b.pools, p.key)
	b.order = slices.DeleteFunc(b.order, func(x *pool) bool { return x == p })
	return nil
}
