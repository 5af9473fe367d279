package balancer

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/stream"
)

// PendingBytes estimates the size of the next Flush.
func (b *Balancer) PendingBytes() int { return b.pendingBytes }

// Flush returns the changes of the state since the last Flush, and the output records.
func (b *Balancer) Flush(_ stream.Commit, ch *stream.Changes) error {
	if b.broken != nil {
		return b.broken
	}
	b.setTimer(0)
	for _, d := range b.deletions { // first: a pool that was added again may have rows with these keys
		ch.Delete(d.table, []byte(d.key))
	}
	clear(b.deletions)
	b.deletions = b.deletions[:0]
	b.flushResources(ch)
	if err := b.flushPools(ch); err != nil {
		return b.fail(err)
	}
	for i := range b.regions {
		r := &b.regions[i]
		if !r.changed {
			continue
		}
		value, err := r.state()
		if err != nil {
			return b.fail(fmt.Errorf("row of region %q: %w", b.cfg.Regions[i], err))
		}
		ch.Put(TableRegions, []byte(b.cfg.Regions[i]), value)
		r.changed = false
	}
	if b.changed {
		value, err := proto.Marshal(&balancerpb.Task{FiredMs: b.firedMs, PlannedMs: b.plannedMs})
		if err != nil {
			return b.fail(fmt.Errorf("the task's row: %w", err))
		}
		ch.Put(TableTask, []byte(taskKey), value)
		b.changed = false
	}
	for _, o := range b.out {
		ch.EmitTo(o.to, b.task.Partition, stream.Message{Key: []byte(o.key), Value: o.value})
	}
	clear(b.out)
	b.out, b.pendingBytes = b.out[:0], 0
	return nil
}

// flushResources adds the changed resources.
func (b *Balancer) flushResources(ch *stream.Changes) {
	var value []byte
	for _, p := range b.touched {
		for _, name := range slices.Sorted(maps.Keys(p.changedRows)) {
			e := p.changedRows[name]
			value = e.encode(value[:0])
			ch.Put(TableResources, []byte(joinNames(p.key, name)), value)
			if e.known && e.before.free() {
				ch.Delete(TableFree, freeKey(p.key, &e.before, name))
			}
			if e.free() {
				ch.Put(TableFree, freeKey(p.key, &e.row, name), binary.AppendUvarint(value[:0], uint64(e.version)))
			}
		}
		clear(p.changedRows)
		p.touched = false
	}
	clear(b.touched)
	b.touched = b.touched[:0]
}

func (b *Balancer) flushPools(ch *stream.Changes) error {
	slices.Sort(b.endedTransfers)
	for _, key := range b.endedTransfers {
		ch.Delete(TableTransfers, []byte(key))
	}
	b.endedTransfers = b.endedTransfers[:0]
	for _, p := range b.order {
		if p.changed {
			value, err := p.state()
			if err != nil {
				return fmt.Errorf("row of pool %q: %w", p.key, err)
			}
			ch.Put(TablePools, []byte(p.key), value)
			p.changed = false
		}
		for i := range p.regions {
			if err := b.flushPoolRegion(p, i, ch); err != nil {
				return fmt.Errorf("pool %q in %q: %w", p.key, b.cfg.Regions[i], err)
			}
		}
		if err := b.flushTransfers(p, ch); err != nil {
			return fmt.Errorf("transfers of pool %q: %w", p.key, err)
		}
	}
	return nil
}

func (b *Balancer) flushPoolRegion(p *pool, i int, ch *stream.Changes) error {
	s, key := &p.regions[i], []byte(joinNames(p.key, b.cfg.Regions[i]))
	if s.profile.TakeChanged() {
		ch.Put(TableProfiles, key, s.profile.Encode(nil))
	}
	if !s.changed {
		return nil
	}
	s.changed = false
	value, err := s.state()
	if err == nil {
		ch.Put(TablePoolRegions, key, value)
	}
	return err
}

func (b *Balancer) flushTransfers(p *pool, ch *stream.Changes) error {
	var names []string
	for name, f := range p.transfers {
		if f.changed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		f := p.transfers[name]
		value, err := b.transferState(f)
		if err != nil {
			return err
		}
		ch.Put(TableTransfers, []byte(joinNames(p.key, name)), value)
		f.changed = false
	}
	return nil
}
