// Command sessions groups the clicks of a user into sessions. A session ends when the user has had
// no click for 30 seconds of event time. Then it is written to topic sessions, with the country
// that topic users has for the user:
//
//	clicks (key: user, value: JSON) ─┐
//	                                 ├─▶ sessions ─▶ sessions (key: user, value: JSON)
//	users  (key: user, value: text) ─┘
//
// A durable timer ends the session. It survives restarts and moves with the partition. Clicks may
// come in any order: until event time has passed its end, a session takes a click, and two sessions
// become one if a click joins them.
package main

import (
	"github.com/weirhq/weir/program"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

func main() { program.Main(sessions(0)) }

const (
	gapMs                   = 30_000
	over   stream.TimerKind = "over"   // a session is over by event time
	silent stream.TimerKind = "silent" // a session is over by the clock
)

type click struct {
	Page string `json:"page"`
}

// session is an element of the table, and what is written when it ends.
type session struct {
	Clicks  int    `json:"clicks"`
	FirstMs int64  `json:"first_ms"`
	LastMs  int64  `json:"last_ms"`
	Country string `json:"country,omitempty"`
}

// sessions ends sessions also by the clock, lagMs after their end, if lagMs is not 0.
func sessions(lagMs int64) stream.Processor {
	open := state.Named(1, "open", state.String{}, state.JSON[[]session]{}) // by user
	countries := state.Named(2, "countries", state.String{}, state.String{})
	ended := stream.NewTypedOutput("sessions", state.JSON[session]{})

	// await sets the timers that end a session.
	await := func(c *stream.Context, user []byte, s session) {
		over.Set(c, stream.Timer{AtMs: s.LastMs + gapMs, Key: user})
		if lagMs > 0 {
			silent.Set(c, stream.Timer{Clock: stream.WallTime, AtMs: s.LastMs + gapMs + lagMs, Key: user})
		}
	}
	onClick := func(c *stream.Context, r *stream.Record, v click) error {
		if len(r.Key) == 0 || v.Page == "" {
			return stream.Rejectf("incomplete", "a click needs the user as its key, and a page")
		}
		if r.TimeMs < 0 { // it has no timestamp
			return stream.Rejectf("no_time", "the time of the click is %d, before 1970", r.TimeMs)
		}
		list, _, err := open.Get(c, string(r.Key))
		if err != nil {
			return err
		}
		s := session{Clicks: 1, FirstMs: r.TimeMs, LastMs: r.TimeMs}
		others := list[:0]
		for _, o := range list {
			if s.FirstMs >= o.LastMs+gapMs || o.FirstMs >= s.LastMs+gapMs {
				others = append(others, o)
				continue
			}
			s.Clicks, s.FirstMs, s.LastMs = s.Clicks+o.Clicks, min(s.FirstMs, o.FirstMs), max(s.LastMs, o.LastMs)
		}
		open.Put(c, string(r.Key), append(others, s))
		if s.Clicks == 1 {
			await(c, r.Key, s)
		}
		return nil
	}
	// end writes the sessions of a user that have ended at a time. The others had another click.
	end := func(c *stream.Context, user []byte, atMs int64) error {
		list, exists, err := open.Get(c, string(user))
		if err != nil || !exists {
			return err
		}
		country, _, err := countries.Get(c, string(user))
		if err != nil {
			return err
		}
		others := list[:0]
		for _, s := range list {
			if s.LastMs+gapMs > atMs {
				others = append(others, s)
				await(c, user, s)
				continue
			}
			s.Country = country
			ended.Emit(c, stream.Message{Key: user, TimeMs: s.LastMs}, s)
		}
		if open.Put(c, string(user), others); len(others) == 0 {
			open.Delete(c, string(user))
		}
		return nil
	}
	return stream.Processor{
		App: "sessions", Outputs: stream.OutputTopics("sessions"), Tables: state.Tables(open, countries),
		On: []stream.Callback{
			stream.On("clicks", state.JSON[click]{}, onClick),
			stream.OnTimer(over, func(c *stream.Context, t stream.Timer) error { return end(c, t.Key, t.AtMs) }),
			stream.OnTimer(silent, func(c *stream.Context, t stream.Timer) error { return end(c, t.Key, t.AtMs-lagMs) }),
			state.Keep("users", countries),
		},
	}
}
