package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// oneInput is the processor without topic users.
func oneInput(p stream.Processor) stream.Processor {
	p.On = p.On[:3]
	return p
}

func addClick(r *streamtest.Runner, user string, second int64) {
	r.AppendTo("clicks", stream.Record{Key: []byte(user), Value: []byte(`{"page":"/"}`), TimeMs: second * 1000})
}

// taken returns the sessions that were committed since the last call: user, clicks and seconds.
func taken(t *testing.T, r *streamtest.Runner) (list []string) {
	t.Helper()
	for _, c := range r.TakeOutputs() {
		var s session
		if err := json.Unmarshal(c.Value, &s); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s: %d from %d to %d %s", c.Key, s.Clicks, s.FirstMs/1000, s.LastMs/1000, s.Country))
	}
	return list
}

func TestSessions(t *testing.T) {
	late := sessions(0)
	late.Time.Lateness = 500 * time.Second
	for name, x := range map[string]struct {
		processor stream.Processor
		seconds   []int64
	}{
		"one input":                  {oneInput(sessions(0)), []int64{100, 110, 500, 510, 900}},
		"two, of which one is quiet": {sessions(0), []int64{100, 110, 500, 510, 900}},
		"late clicks":                {late, []int64{110, 500, 100, 900, 510}},
	} {
		t.Run(name, func(t *testing.T) {
			r := streamtest.New(t, streamtest.Options{Processor: x.processor})
			for _, second := range x.seconds {
				addClick(r, "ann", second)
				r.FoldAll()
			}
			r.Crash() // all clicks come again
			r.FoldAll()
			r.Commit(6000)
			addClick(r, "bob", 2000) // six seconds later by the clock: a quiet input waits no longer
			r.FoldAll()
			r.Commit(7000)
			want := []string{"ann: 1 from 900 to 900 ", "ann: 2 from 100 to 110 ", "ann: 2 from 500 to 510 "}
			got := taken(t, r)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestJoinedSessions: a click between two sessions makes one of them.
func TestJoinedSessions(t *testing.T) {
	p := oneInput(sessions(0))
	p.Time.Lateness = time.Minute
	r := streamtest.New(t, streamtest.Options{Processor: p})
	for _, second := range []int64{100, 140, 120, 170, 300} { // 170 is 30 seconds after 140
		addClick(r, "ann", second)
	}
	r.FoldAll()
	r.Commit(1)
	if got, want := taken(t, r), []string{"ann: 3 from 100 to 140 ", "ann: 1 from 170 to 170 "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCountry: the country is that of the time when the session is written.
func TestCountry(t *testing.T) {
	r := streamtest.New(t, streamtest.Options{Processor: sessions(0)})
	user := func(name string, country []byte, second int64) {
		r.AppendTo("users", stream.Record{Key: []byte(name), Value: country, TimeMs: second * 1000})
	}
	addClick(r, "ann", 100)
	addClick(r, "bob", 100)
	addClick(r, "eve", 200)
	user("ann", []byte("at"), 105) // after her click
	user("bob", []byte("fr"), 105)
	user("bob", nil, 106)
	user("eve", []byte("gr"), 200)
	r.FoldAll()
	r.Commit(1)
	if got, want := taken(t, r), []string{"ann: 1 from 100 to 100 at", "bob: 1 from 100 to 100 "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRejected: clicks that cannot be used are rejected, each with its reason.
func TestRejected(t *testing.T) {
	r := streamtest.New(t, streamtest.Options{Processor: sessions(0)})
	for _, x := range []stream.Record{{Value: []byte(`{"page":"/"}`)}, {Key: []byte("ann"), Value: []byte(`{"page":`)}, {Key: []byte("ann"), Value: []byte(`{}`)}, {Key: []byte("ann")}, {Key: []byte("ann"), Value: []byte(`{"page":"/"}`), TimeMs: -1}} {
		r.AppendTo("clicks", x)
	}
	r.FoldAll()
	r.Commit(1)
	var reasons []string
	for _, x := range r.TakeRejects() {
		reasons = append(reasons, x.Reason)
	}
	if want := []string{"incomplete", "undecodable", "incomplete", "no_value", "no_time"}; !slices.Equal(reasons, want) {
		t.Errorf("rejected %q, want %q", reasons, want)
	}
}

// TestSilence: without further records the clock ends a session, once.
func TestSilence(t *testing.T) {
	const lagMs = 60_000
	r := streamtest.New(t, streamtest.Options{Processor: sessions(lagMs)})
	addClick(r, "ann", 100)
	addClick(r, "ann", 125)
	r.FoldAll()
	for _, second := range []int64{189, 190, 214} { // 190: the first click's timer
		r.Commit(second * 1000)
		if got := taken(t, r); got != nil {
			t.Errorf("at %d s: %q", second, got)
		}
	}
	r.Commit(215_000)
	if got, want := taken(t, r), []string{"ann: 2 from 100 to 125 "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	addClick(r, "bob", 500)
	r.FoldAll()
	r.Commit(300_000)
	if got := taken(t, r); got != nil || len(r.Timers()) != 2 {
		t.Errorf("written again: %q; timers %v", got, r.Timers())
	}
}
