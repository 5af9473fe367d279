package processors

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir/processors/changelogpb"
)

// Pin gives a partition to a process while that is in the group. Without the process, the partition
// is assigned as others are.
type Pin struct {
	Partition int32
	Instance  string    // of the process; empty: the pin before is withdrawn, and this one ends when that would have
	At        time.Time // of the order, in ms: of two pins of a partition the later one holds
	Until     time.Time // when it ends, in ms
}

// Pins are the pins that a process knows. It publishes them to the group, whose leader plans with
// the pins of all members. The process that a pin names asks for the plan, at the begin of the pin
// and at its end. Pins is safe for concurrent use, and its zero value is ready to use.
type Pins struct {
	mu      sync.Mutex
	list    map[int32]Pin
	changed chan struct{} // closed by the next Set
}

// Set adds a pin. It has no effect if a later one of the partition is known.
func (p *Pins) Set(pin Pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !pin.At.After(p.list[pin.Partition].At) {
		return
	}
	if p.list == nil {
		p.list = map[int32]Pin{}
	}
	p.list[pin.Partition] = pin
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// InForce returns the processes that partitions are pinned to, by partition.
func (p *Pins) InForce() map[int32]string {
	to, _, _ := p.inForce(time.Now())
	return to
}

// inForce returns the pins in force, the time at which the first of them ends, zero without one,
// and a channel that the next Set closes.
func (p *Pins) inForce(now time.Time) (to map[int32]string, ends time.Time, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	to = map[int32]string{}
	for partition, pin := range p.list {
		if pin.Instance == "" || !pin.Until.After(now) {
			continue
		}
		to[partition] = pin.Instance
		if ends.IsZero() || pin.Until.Before(ends) {
			ends = pin.Until
		}
	}
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return to, ends, p.changed
}

// metadata returns the pins for the group, without those that have ended. p may be nil.
func (p *Pins) metadata() (list []*changelogpb.Pin) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for partition, pin := range p.list {
		if pin.Until.After(time.Now()) {
			list = append(list, &changelogpb.Pin{
				Partition: partition, Instance: pin.Instance, AtMs: pin.At.UnixMilli(), UntilMs: pin.Until.UnixMilli(),
			})
		}
	}
	return list
}

// watch calls request when the partitions that are pinned to a process change, until ctx ends.
func (p *Pins) watch(ctx context.Context, instance string, request func()) {
	before := map[int32]string{}
	for ctx.Err() == nil {
		now := time.Now()
		to, ends, changed := p.inForce(now)
		if differ(before, to, instance) {
			request()
		}
		before = to
		timer := time.NewTimer(ends.Sub(now))
		if ends.IsZero() {
			timer.Stop()
		}
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// differ reports whether two sets of pins differ in what is pinned to a process.
func differ(a, b map[int32]string, instance string) bool {
	for partition, to := range a {
		if (to == instance) != (b[partition] == instance) {
			return true
		}
	}
	for partition, to := range b {
		if to == instance && a[partition] != instance {
			return true
		}
	}
	return false
}
