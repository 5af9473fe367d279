package balancer

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// candidate is an available resource.
type candidate struct {
	resource    string
	availableMs int64
	version     int64
}

var errEnough = errors.New("enough")

// pick returns up to n resources of a pool that are available in a region and have no transfer, the
// longest available first. It merges the resources in the store with those that changed since the
// last Flush.
func (b *Balancer) pick(p *pool, from, n int, nowMs int64) (list []candidate, err error) {
	if n <= 0 {
		return nil, nil
	}
	changed := p.unflushedCandidates(b.cfg.Regions[from], nowMs)
	add := func(c candidate) error {
		if _, inTransit := p.transfers[c.resource]; !inTransit {
			list = append(list, c)
		}
		if len(list) == n {
			return errEnough
		}
		return nil
	}
	// addChanged adds the changed candidates that sort before c.
	addChanged := func(c candidate) (err error) {
		for len(changed) > 0 && err == nil && order(changed[0], c) < 0 {
			changed, err = changed[1:], add(changed[0])
		}
		return err
	}
	prefix := freePrefix(p.key, b.cfg.Regions[from])
	err = b.task.Scan(TableFree, prefix, func(key, value []byte) error {
		at, resource, ok := freeAt(key[len(prefix):])
		version, read := binary.Uvarint(value)
		if !ok || read <= 0 {
			return fmt.Errorf("available resource %q: %w", key, errRow)
		}
		if at > nowMs {
			return errEnough
		}
		if p.changedRows[resource] != nil {
			return nil
		}
		c := candidate{resource, at, int64(version)}
		if err := addChanged(c); err != nil {
			return err
		}
		return add(c)
	})
	if err == nil || errors.Is(err, errEnough) && len(list) < n {
		err = addChanged(candidate{availableMs: nowMs + 1})
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, err
}

// unflushedCandidates returns the resources that changed since the last Flush and are available in
// a region, in order.
func (p *pool) unflushedCandidates(region string, nowMs int64) (list []candidate) {
	for name, e := range p.changedRows {
		if e.free() && e.owner == region && e.available <= nowMs {
			list = append(list, candidate{name, e.available, e.version})
		}
	}
	slices.SortFunc(list, order)
	return list
}

func order(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.availableMs, b.availableMs), cmp.Compare(a.resource, b.resource))
}
