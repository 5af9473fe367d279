package spendsim

import (
	"fmt"
	"slices"
)

// FaultKind is a kind of fault.
type FaultKind uint8

// The faults.
const (
	KillCounter FaultKind = iota // the counter restarts repeatedly, and loses what is not committed
	StopCounter                  // the counter does nothing
	SlowCounter                  // the counter applies fewer records than arrive
	WipeCounter                  // the state is deleted, and the counter begins again
	OverCount                    // the counter charges a quarter too much for the clicks of this time
	StopMirror                   // no events and heartbeats are copied to the datacentre
	AbortMirror                  // most transactions of the mirror abort
	LoseCopies                   // records are not copied to the datacentre, and never will be
	StopPush                     // the datacentre writes its dataset to no other one
	SlowPush                     // it is written some seconds late
	CutLink                      // no connections between the datacentre and its peer
	CutOneWay                    // the datacentre can open no connection to its peer
	LossyLink                    // connections between the two stall again and again
	StopKafka                    // the datacentre's brokers do not answer
	StopReader                   // the cache restarts repeatedly
	faultKinds
)

//nolint:gochecknoglobals // a table: internal/lint complains about writes to it
var faultNames = [...]string{
	"counter killed", "counter stopped", "counter slow", "counter wiped", "counter charges too much", "mirror stopped",
	"mirror's transactions aborted", "copies lost", "push stopped", "push slow", "link cut", "link cut one way", "link lossy",
	"Kafka stopped", "reader killed",
}

// String returns the name of the fault.
func (k FaultKind) String() string { return faultNames[k] }

// link reports whether the fault is one of a link between two datacentres.
func (k FaultKind) link() bool { return k == CutLink || k == CutOneWay || k == LossyLink }

// Fault is a fault of a datacentre for a time.
type Fault struct {
	Kind     FaultKind
	DC       int
	Peer     int // of a fault of a link
	From, To int64
}

// String returns the fault as text.
func (f Fault) String() string {
	where := names[f.DC]
	if f.Kind.link() {
		where = "from " + where + " to " + names[f.Peer]
	}
	return fmt.Sprintf("%v, %s, from %.1f s to %.1f s", f.Kind, where, float64(f.From)/1000, float64(f.To)/1000)
}

// faults are the faults of a run.
type faults struct {
	w       *simulation
	begun   []bool  // of each fault
	stalled []int64 // until when the link of each fault stalls
	seen    [faultKinds]bool
}

// active reports whether a fault is under way.
func (f *faults) active(x *Fault) bool { return x.From <= f.w.now && f.w.now < x.To }

// on reports whether a datacentre has a fault now.
func (f *faults) on(k FaultKind, dc int) bool {
	for i := range f.w.s.Faults {
		if x := &f.w.s.Faults[i]; x.Kind == k && x.DC == dc && f.active(x) {
			f.seen[k] = true
			return true
		}
	}
	return false
}

// connects reports whether a datacentre can open a connection to another one, and use those that it
// has.
func (f *faults) connects(from, to int) bool {
	for i := range f.w.s.Faults {
		x := &f.w.s.Faults[i]
		if !x.Kind.link() || !f.active(x) {
			continue
		}
		there, back := x.DC == from && x.Peer == to, x.DC == to && x.Peer == from
		if there && x.Kind == CutOneWay || (there || back) && (x.Kind == CutLink || x.Kind == LossyLink && f.w.now < f.stalled[i]) {
			f.seen[x.Kind] = true
			return false
		}
	}
	return true
}

// step begins what happens once, and the stalls of links.
func (f *faults) step() {
	for i := range f.w.s.Faults {
		x := &f.w.s.Faults[i]
		if !f.active(x) {
			continue
		}
		if x.Kind == WipeCounter && !f.begun[i] {
			f.w.dcs[x.DC].counter.wipe()
			f.seen[x.Kind] = true
		}
		// When 5 % of the packets are lost, a connection often waits until one is sent again:
		// 200 ms, and then twice as long each time.
		if x.Kind == LossyLink && f.w.now >= f.stalled[i] && f.w.chance.IntN(5) == 0 {
			f.stalled[i] = f.w.now + 200 + f.w.chance.Int64N(2001)
		}
		f.begun[i] = true
	}
}

// overCounts reports whether a counter charges too much for a click at a time.
func (f *faults) overCounts(dc int, at int64) bool {
	over := slices.ContainsFunc(f.w.s.Faults, func(x Fault) bool {
		return x.Kind == OverCount && x.DC == dc && x.From <= at && at < x.To
	})
	f.seen[OverCount] = f.seen[OverCount] || over
	return over
}
