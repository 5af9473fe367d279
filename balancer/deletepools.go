package balancer

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// deletion is a row that is to go.
type deletion struct {
	table byte
	key   string
}

var errHasResources = errors.New("the pool has resources")

// isEmpty says whether nothing is left of a pool: it has no settings, as it was deleted or these were never seen, and nothing that
// is leased or can be. Retired resources do not count: they stay in the table for ever.
func (p *pool) isEmpty() bool {
	for i := range p.regions {
		if s := &p.regions[i]; s.free > 0 || len(s.freeLater) > 0 || s.leases > 0 {
			return false
		}
	}
	return len(p.transfers) == 0 && unset(&p.settings)
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
	case p.emptySinceMs == 0 || p.emptySinceMs > nowMs:
		p.emptySinceMs = nowMs
	case nowMs-p.emptySinceMs < forgetAfter.Milliseconds():
	default:
		for i := range p.regions {
			if s := &p.regions[i]; s.published != nil {
				b.drop(p, i)
			}
		}
		if p.stock() > 0 || len(p.changedRows) > 0 { // the store does not have all rows of the pool yet
			return nil
		}
		return b.deleteRows(p)
	}
	return nil
}

// drop takes back what was told of a pool in region i.
func (b *Balancer) drop(p *pool, i int) {
	s := &p.regions[i]
	s.published, s.tableStale, s.commandedMs = nil, false, 0
	b.touch(s)
	key := joinNames(p.key, b.cfg.Regions[i])
	b.out = append(b.out, output{events.LeaseHeadroomTopic, key, nil})
	b.pendingBytes += len(key)
}

// deleteRows deletes a pool's rows, or some of them, and forgets it when no more are left.
func (b *Balancer) deleteRows(p *pool) error {
	rows := []deletion{}
	left := maxForgotten
	for _, table := range []byte{TablePoolRegions, TableProfiles, TableResources} {
		err := b.task.Scan(table, []byte(joinNames(p.key, "")), func(key, value []byte) error {
			if left--; left < 0 {
				return errEnough
			}
			if table == TableResources {
				switch r, err := decodeRow(value, b.cfg.Regions); {
				case err != nil:
					return fmt.Errorf("resource %q: %w", key, err)
				case !r.gone: // of a region that is not declared now, which no count has
					return errHasResources
				}
			}
			rows = append(rows, deletion{table, string(key)})
			return nil
		})
		switch {
		case errors.Is(err, errHasResources):
			return nil
		case err != nil && !errors.Is(err, errEnough):
			return err
		}
	}
	b.deletions = append(b.deletions, rows...)
	for _, r := range rows {
		b.pendingBytes += len(r.key)
	}
	if left < 0 {
		return nil
	}
	b.deletions = append(b.deletions, deletion{TablePools, p.key})
	delete(b.pools, p.key)
	b.order = slices.DeleteFunc(b.order, func(x *pool) bool { return x == p })
	return nil
}
