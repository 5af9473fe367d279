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

// pick gives up to n resources of a pool that are available in a region and not in flight, the longest available first. The
// store may or may not have what changed of late: that comes from memory alone.
func (b *Balancer) pick(p *pool, from, n int, nowMs int64) (list []candidate, err error) {
	if n <= 0 {
		return nil, nil
	}
	late := p.unflushedCandidates(b.cfg.Regions[from], nowMs)
	add := func(c candidate) error {
		if _, flies := p.transfers[c.resource]; !flies {
			list = append(list, c)
		}
		if len(list) == n {
			return errEnough
		}
		return nil
	}
	// addLate gives the late ones that come before c.
	addLate := func(c candidate) (err error) {
		for len(late) > 0 && err == nil && order(late[0], c) < 0 {
			late, err = late[1:], add(late[0])
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
		if p.changedRows[resource] != nil || p.flushedRows[resource] != nil {
			return nil
		}
		c := candidate{resource, at, int64(version)}
		if err := addLate(c); err != nil {
			return err
		}
		return add(c)
	})
	if err == nil || errors.Is(err, errEnough) && len(list) < n {
		err = addLate(candidate{availableMs: nowMs + 1})
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, err
}

// unflushedCandidates are the resources that became available in a region and that the store may not have yet, in order.
func (p *pool) unflushedCandidates(region string, nowMs int64) (list []candidate) {
	add := func(name string, r *row) {
		if r.free() && r.owner == region && r.available <= nowMs {
			list = append(list, candidate{name, r.available, r.version})
		}
	}
	for name, e := range p.flushedRows {
		if p.changedRows[name] == nil {
			add(name, &e.row)
		}
	}
	for name, e := range p.changedRows {
		add(name, &e.row)
	}
	slices.SortFunc(list, order)
	return list
}

func order(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.availableMs, b.availableMs), cmp.Compare(a.resource, b.resource))
}
