package processors

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/processors/changelogpb"
)

// Pin gives a partition to a process while that is in the group. Without the process, the partition
// is assigned as others are.
type Pin struct {
	Partition int32
	Instance  string    // of the process
	At        time.Time // when it was given, in ms
	Until     time.Time // when it ends, in ms; not after At: it ends the pin before
}

// Pins are the pins that a process knows. It publishes them to the group, whose leader plans with
// the pins of all members. The process that a pin names asks for the plan, at the begin of the pin
// and at its end. Pins is safe for concurrent use, and its zero value is ready to use.
type Pins struct {
	mu      sync.Mutex
	list    map[int32]knownPin
	changed chan struct{} // closed by the next Set
}

// knownPin is the last pin of a partition.
type knownPin struct {
	Pin
	publish time.Time // until when members may know a pin that this one has replaced
}

// Set replaces the pin of a partition. It counts as given after the one that it replaces, so that
// it holds in the whole group, whatever the clocks.
func (p *Pins) Set(pin Pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.list[pin.Partition]
	if ok && !pin.At.After(known.At) {
		pin.At = known.At.Add(time.Millisecond)
	}
	last := pin.Until
	if known.publish.After(last) {
		last = known.publish
	}
	if p.list == nil {
		p.list = map[int32]knownPin{}
	}
	p.list[pin.Partition] = knownPin{pin, last}
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// metadata returns the pins for the group, in the order of the partitions. p may be nil.
func (p *Pins) metadata() (list []*changelogpb.Pin) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for partition, pin := range p.list {
		if pin.publish.After(now) {
			list = append(list, &changelogpb.Pin{
				Partition: partition, Instance: pin.Instance, AtMs: pin.At.UnixMilli(), UntilMs: pin.Until.UnixMilli(),
			})
		}
	}
	slices.SortFunc(list, func(a, b *changelogpb.Pin) int { return int(a.Partition - b.Partition) })
	return list
}

const (
	// pinRepeat is the time after which the plan is asked for once more: the clock of the group's
	// leader may be behind, so that a pin has not ended there.
	pinRepeat = 5 * time.Second
	// pinRecent is the age of the end of a pin of which a process that starts asks for a plan. A
	// process that is killed and is back in time gets its partitions without a plan.
	pinRecent = time.Minute
)

// pinState is what a process knows of a pin that names it.
type pinState struct {
	at      time.Time
	inForce bool
}

// watch calls request when a pin that names a process begins or ends, until ctx ends.
func (p *Pins) watch(ctx context.Context, instance string, request func()) {
	var before map[int32]pinState
	var repeat time.Time // zero: no request is to be repeated
	for ctx.Err() == nil {
		now := time.Now()
		states, ends, changed := p.of(instance, now)
		due := !repeat.IsZero() && !now.Before(repeat)
		if due {
			repeat = time.Time{}
		}
		if news := differ(before, states); news || due {
			request()
			if news {
				repeat = now.Add(pinRepeat)
			}
		}
		before = states
		timer := time.NewTimer(next(now, ends, repeat))
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// next returns the time until the first of several times, those that are zero left out: an hour if
// all are.
func next(now time.Time, times ...time.Time) time.Duration {
	wait := time.Hour
	for _, t := range times {
		if !t.IsZero() {
			wait = min(wait, max(0, t.Sub(now)))
		}
	}
	return wait
}

// of returns the state of the pins that name a process, without those that have ended long ago,
// when the first of them ends, zero without one, and a channel that the next Set closes.
func (p *Pins) of(instance string, now time.Time) (states map[int32]pinState, ends time.Time, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	states = map[int32]pinState{}
	for partition, pin := range p.list {
		if pin.Instance != instance || now.Sub(pin.Until) > pinRecent {
			continue
		}
		inForce := pin.Until.After(now)
		states[partition] = pinState{pin.At, inForce}
		if inForce && (ends.IsZero() || pin.Until.Before(ends)) {
			ends = pin.Until
		}
	}
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return states, ends, p.changed
}

// differ reports whether a pin has begun or ended from one map of states to the next.
func differ(before, now map[int32]pinState) bool {
	for partition, state := range now {
		if before[partition] != state {
			return true
		}
	}
	for partition, state := range before {
		if _, ok := now[partition]; !ok && state.inForce { // another pin has replaced it
			return true
		}
	}
	return false
}
