package state

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/stream"
)

// Session is a session of a key. Its times are those of its first and its last value, Unix ms.
type Session[V any] struct {
	FirstMs int64 `json:"first_ms"`
	LastMs  int64 `json:"last_ms"`
	Value   V     `json:"value"`
}

// Sessions is a table of the open sessions of each key. A session is a run of values of which each
// is nearer than a gap to the next one. It ends when event time has passed its last value by the
// gap:
//
//	visits := state.NewSessions(1, "visits", state.String{}, 30*time.Second, func(a, b int) int { return a + b })
//
//	err := visits.Add(c, string(r.Key), r.TimeMs, 1) // in the function of an input
//
//	Tables: state.Tables(visits)
//	On:     visits.OnEnd(func(c *stream.Context, user string, s state.Session[int]) error { ... })
//
// Values may come in any order, and with any number of inputs: until event time has passed its end,
// a session takes a value, and two sessions become one if a value joins them. A value that comes
// later is a session of its own.
type Sessions[K, V any] struct {
	open  *Table[K, []Session[V]]
	gapMs int64
	merge func(a, b V) V
	over  stream.TimerKind
}

// NewSessions describes the sessions with this number and name of their table, see Named. The name
// is also the kind of their timers, which are stored with it: it does not change. A session with
// several values has what merge makes of them: a and b are the values of two runs, and a is the run
// that begins first. Values are stored as JSON.
//
// Let merge be associative and commutative, such as a sum, a maximum or a union of sets. Values
// come in any order, and a late one can lie inside of a run: any other merge, such as the first
// value or a list, depends on the order in which the values came.
//
// A processor does not start with a gap below 1 ms or without merge.
func NewSessions[K, V any](number byte, name string, keys Codec[K], gap time.Duration, //nolint:revive // each has a type of its own
	merge func(a, b V) V,
) *Sessions[K, V] {
	return &Sessions[K, V]{Named(number, name, keys, JSON[[]Session[V]]{}), gap.Milliseconds(), merge, stream.TimerKind(name)}
}

// Info describes the table for Processor.Tables: see Tables.
func (s *Sessions[K, V]) Info() stream.TableInfo { return s.open.Info() }

// ReasonSessionTime is the reason for which a record is rejected whose time no session can have.
const ReasonSessionTime = "session_time"

// Add adds a value at a time, Unix ms. Return its error from the record function: of a time before
// 1970, such as the -1 of a record without a timestamp, or of one near the greatest number it is a
// stream.RejectError.
func (s *Sessions[K, V]) Add(c *stream.Context, key K, atMs int64, v V) error {
	if atMs < 0 || atMs > math.MaxInt64-s.gapMs {
		return stream.Rejectf(ReasonSessionTime, "the time is %d: sessions take Unix ms from 0 to %d", atMs, math.MaxInt64-s.gapMs)
	}
	list, _, err := s.open.Get(c, key)
	if err != nil {
		return err
	}
	all := Session[V]{atMs, atMs, v}
	others := list[:0]
	for _, o := range list {
		if all.FirstMs >= o.LastMs+s.gapMs || o.FirstMs >= all.LastMs+s.gapMs {
			others = append(others, o)
			continue
		}
		if a, b := o, all; a.FirstMs <= b.FirstMs {
			all.Value = s.merge(a.Value, b.Value)
		} else {
			all.Value = s.merge(b.Value, a.Value)
		}
		all.FirstMs, all.LastMs = min(all.FirstMs, o.FirstMs), max(all.LastMs, o.LastMs)
	}
	if len(others) == len(list) { // it joins no session, of which each has a timer
		if err := s.await(c, key, all); err != nil {
			return err
		}
	}
	// In the order of their times, so that the row does not depend on the order of the values.
	others = append(others, all)
	slices.SortFunc(others, func(a, b Session[V]) int { return cmp.Compare(a.FirstMs, b.FirstMs) })
	s.open.Put(c, key, others)
	return nil
}

// Get returns the open sessions of a key in the order of their times, and whether there are any. A
// session is open until event time has passed its end.
func (s *Sessions[K, V]) Get(r Reader, key K) (open []Session[V], ok bool, err error) {
	return s.open.Get(r, key)
}

func (s *Sessions[K, V]) await(c *stream.Context, key K, x Session[V]) error {
	b, err := s.open.keys.Append(nil, key)
	if err != nil {
		return s.open.failed("encode", key, err)
	}
	s.over.Set(c, stream.Timer{AtMs: x.LastMs + s.gapMs, Key: b})
	return nil
}

// OnEnd makes fn the function for sessions that have ended. Each is passed to it once, and is not
// in the table any more: fn may call Add. Errors of fn mean what they mean in stream.OnTimer.
func (s *Sessions[K, V]) OnEnd(fn func(c *stream.Context, key K, ended Session[V]) error) stream.Callback {
	cb := stream.OnTimer(s.over, func(c *stream.Context, t stream.Timer) error {
		key, err := s.open.keys.Decode(t.Key)
		if err != nil {
			return fmt.Errorf("sessions %s: decode the key of a timer: %w", s.open, err)
		}
		list, ok, err := s.open.Get(c, key)
		if err != nil || !ok {
			return err
		}
		var others, ended []Session[V]
		for _, x := range list {
			if x.LastMs+s.gapMs <= t.AtMs {
				ended = append(ended, x)
				continue
			}
			others = append(others, x)
			if err := s.await(c, key, x); err != nil {
				return err
			}
		}
		if s.open.Put(c, key, others); len(others) == 0 {
			s.open.Delete(c, key)
		}
		for _, x := range ended { // the table is complete: fn may add to it
			if err := fn(c, key, x); err != nil {
				return err
			}
		}
		return nil
	})
	if cb.Err == nil && (s.gapMs < 1 || s.merge == nil || fn == nil) {
		cb.Err = fmt.Errorf(
			"sessions %s have a gap of %d ms, merge is set: %t, and the function of OnEnd: %t: give a gap of at least 1ms and both functions", s.open, s.gapMs, s.merge != nil, fn != nil)
	}
	return cb
}
