package balancer

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// deletion is a row to delete.
type deletion struct {
	table byte
	key   string
}

var errHasResources = errors.New("the pool has resources")

// isEmpty reports whether a pool can be forgotten: it has no settings, as it was deleted or its
// settings were never seen, and no resource that is leased or available. Retired resources do not
// count: they stay in the table.
func (p *pool) isEmpty() bool {
	for i := range p.regions {
		if s := &p.regions[i]; s.free > 0 || len(s.freeLater) > 0 || s.leases > 0 {
			return false
		}
	}
	return len(p.transfers) == 0 && unset(&p.settings)
}

// unset reports whether no setting has a value: see foldSettings.
func unset(s *eventspb.LeasePool) bool {
	return proto.Equal(s, &eventspb.LeasePool{Version: s.Version})
}

// forget removes an empty pool from the headroom topic, and a minute later from memory and store, a
// bounded number of rows a tick. The rows are of resources that moved to other pools. Old changes
// of these are no longer recognized as old; they occur only in a replay that also has the moves.
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
		if p.stock() > 0 || len(p.changedRows) > 0 { // rows of the open transaction are not in the store
			return nil
		}
		return b.deleteRows(p)
	}
	return nil
}

// drop retracts the published headroom of a pool in region i.
func (b *Balancer) drop(p *pool, i int) {
	s := &p.regions[i]
	s.published, s.tableStale, s.commandedMs = nil, false, 0
	b.touch(s)
	key := joinNames(p.key, b.cfg.Regions[i])
	b.out = append(b.out, output{events.LeaseHeadroomTopic, key, nil})
	b.pendingBytes += len(key)
}

// deleteRows deletes the rows of a pool, up to a bound, and forgets the pool when none is left.
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
				case !r.gone: // a resource of an undeclared region, which is in no count
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
