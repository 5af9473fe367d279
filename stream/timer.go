package stream

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// TimerTable is the table of the runtime's timers. A handler's own tables have lower numbers, or
// are local.
const TimerTable byte = 127

// Clock is what a timer goes by.
type Clock uint8

const (
	// EventTime is the watermark of the task's inputs. It advances in grains, so that which timers
	// fire between which records depends on the records alone, not on how they were fetched.
	EventTime Clock = iota
	// WallTime is the time of day. Its timers fire at the end of a transaction, whose marker holds
	// the time by which they fired.
	WallTime
)

// Timer is one deadline. Clock, time and key are its identity: a timer that is set twice fires
// once.
type Timer struct {
	Clock Clock
	AtMs  int64 // Unix ms
	Key   []byte
}

// TimerKind names the timers of one sort, so that two sorts can have timers of one key. OnTimer
// makes a function the one of a kind:
//
//	const quiet stream.TimerKind = "quiet"
//
//	quiet.Set(c, stream.Timer{AtMs: r.TimeMs + gapMs, Key: r.Key})
//
// The kind is a part of the timer's identity. The store has it before the key, see Timer.Kind.
// Timers of one clock and one time fire in the order of their kinds, and those of a kind in the
// order of their keys.
//
// A processor that had a handler of EachRecordWithTimers has timers without a kind:
// OnTimerWithoutKind takes them. The other way, back to an earlier version of a program, a handler
// of EachRecordWithTimers stops the partition at a timer with a kind, so that none is lost.
type TimerKind string

// Set makes t fire once, as Context.SetTimer: it is passed to the function of the kind.
func (k TimerKind) Set(c *Context, t Timer) { k.change(c, t, true) }

// Cancel removes t. It is not an error if t is not set.
func (k TimerKind) Cancel(c *Context, t Timer) { k.change(c, t, false) }

func (k TimerKind) change(c *Context, t Timer, set bool) {
	if k == "" || c.kinds[k] == nil {
		c.Fail(
			fmt.Errorf("a timer of kind %q is set, and no function takes it: add OnTimer to Processor.On, which has the kinds %q", k,
				slices.Sorted(maps.Keys(c.kinds))))
		return
	}
	t.Key = fmt.Appendf(nil, "%s%s%c%s", kindPrefix, k, kindEnd, t.Key)
	c.timers = append(c.timers, timerChange{t, set})
}

// The key of a timer with a kind begins with kindPrefix, which no text does, the kind and kindEnd,
// which is less than all that a kind contains: so kinds are in order.
const (
	kindPrefix = "\xffkind/"
	kindEnd    = '\x00'
)

// Kind returns the kind and the key of a timer as the store has it, for handlers that are not those
// of Processor.On. A timer without a kind has kind "" and its own key.
func (t Timer) Kind() (kind TimerKind, key []byte) {
	if rest, ok := bytes.CutPrefix(t.Key, []byte(kindPrefix)); ok {
		if name, key, ok := bytes.Cut(rest, []byte{kindEnd}); ok {
			return TimerKind(name), key
		}
	}
	return "", t.Key
}

// compareTimers orders timers of one clock as they fire.
func compareTimers(a, b Timer) int {
	return cmp.Or(cmp.Compare(max(0, a.AtMs), max(0, b.AtMs)), bytes.Compare(a.Key, b.Key))
}

// Timers sets timers, from Fold, OnTimer and Flush. Timers are committed with the handler's changes
// and survive the handler.
//
// A timer of WallTime whose time has passed fires at the end of the transaction. A timer of
// EventTime fires when the watermark reaches its time. If it is set at or below the watermark, it
// fires when the watermark advances, or after a second without records. Record functions have the
// timers that they set in the past fired at once: see EachRecordWithTimers.
//
// The time is part of a timer's identity: to move a timer is to cancel it at its old time and to
// set it at the new one. A state with a time to live needs one timer per key instead: OnTimer
// checks whether the state was used since, and then sets the timer again.
//
// An error or a panic of OnTimer abandons the transaction. After more than five failures in a row
// the partition stops, because a timer cannot go to the dead-letter topic. Handle what a timer
// finds in the state as data; return errors of Get and Scan only.
type Timers interface {
	// Set makes t fire once. Key is copied. A time before 1970 counts as 1970.
	Set(t Timer)
	// Cancel removes t. It is not an error if t is not set.
	Cancel(t Timer)
}
