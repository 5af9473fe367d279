// Command sessions groups the events of a user into sessions. A session ends when the user has had
// no event for 30 seconds of event time; then it is written to topic sessions:
//
//	clicks (key: user) ─▶ sessions ─▶ sessions (key: user, value: JSON)
//
// A durable timer ends the session. It survives restarts and moves with the partition.
package main

import (
	"encoding/json"

	"github.com/weirhq/weir/examples/internal/program"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

func main() { program.Main(sessions()) }

const gapMs = 30_000

// session is a value of the table, and what is written when it ends.
type session struct {
	Clicks  int   `json:"clicks"`
	FirstMs int64 `json:"first_ms"`
	LastMs  int64 `json:"last_ms"`
}

func sessions() stream.Processor {
	open := state.NewTable(1, state.String{}, state.JSON[session]{})
	onClick := func(c *stream.Context, click *stream.Record) error {
		if len(click.Key) == 0 {
			return stream.Rejectf("no_user", "a click needs the user as its key")
		}
		s, exists, err := open.Get(c, string(click.Key))
		if err != nil {
			return err
		}
		if !exists {
			s.FirstMs = click.TimeMs
			c.SetTimer(stream.Timer{AtMs: click.TimeMs + gapMs, Key: click.Key})
		}
		s.Clicks++
		s.LastMs = max(s.LastMs, click.TimeMs)
		open.Put(c, string(click.Key), s)
		return nil
	}
	onTimer := func(c *stream.Context, t stream.Timer) error {
		s, exists, err := open.Get(c, string(t.Key))
		if err != nil || !exists {
			return err
		}
		if end := s.LastMs + gapMs; end > t.AtMs { // there was another click
			c.SetTimer(stream.Timer{AtMs: end, Key: t.Key})
			return nil
		}
		value, err := json.Marshal(s)
		if err != nil {
			return err
		}
		c.Emit("sessions", stream.Message{Key: t.Key, Value: value, TimeMs: s.LastMs})
		open.Delete(c, string(t.Key))
		return nil
	}
	return stream.Processor{
		App: "sessions", Inputs: []string{"clicks"}, Outputs: stream.OutputTopics("sessions"),
		Tables: []stream.TableInfo{open.Describe("open")},
		New:    stream.EachRecordWithTimers(onClick, onTimer),
	}
}
