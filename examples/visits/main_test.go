package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// site is the processor in memory.
type site struct{ *streamtest.Runner }

func newSite(t *testing.T) site {
	p, _ := visits()
	return site{streamtest.New(t, streamtest.Options{Processor: p})}
}

// add adds a record at a minute of event time.
func (s site) add(topic, user, value string, minute int64) {
	s.AppendTo(topic, stream.Record{Key: []byte(user), Value: []byte(value), TimeMs: minute * 60_000})
	s.FoldAll()
}

// visits returns the visits that were committed since the last call.
func (s site) visits() (list []string) {
	for _, c := range s.TakeOutputs() {
		list = append(list, fmt.Sprintf("%s %s", c.Key, c.Value))
	}
	return list
}

// TestVisits: a visit ends after 30 minutes, once, with the country that the user has at its end.
func TestVisits(t *testing.T) {
	s := newSite(t)
	s.add("users", "ann", `{"name":"Ann","country":"at"}`, 0)
	s.add("views", "ann", `{"page":"/"}`, 10)
	s.add("views", "ann", `{"page":"/a"}`, 39)
	s.Commit(1000)
	s.add("users", "ann", `{"name":"Ann","country":"be"}`, 40)
	s.Commit(2000)
	s.Crash()
	if got := s.visits(); got != nil {
		t.Errorf("before its end: %q", got)
	}
	s.Commit(8000) // topic users has been quiet for more than 5 seconds, so event time is that of the views
	s.add("views", "ann", `{"page":"/"}`, 69)
	s.Commit(9000)
	want := []string{`ann {"name":"Ann","country":"be","views":2,"first_ms":600000,"last_ms":2340000}`}
	if got := s.visits(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	_, queries := visits()
	if got, err := queries[0].Read(s.Get, "ann"); err != nil || string(got) != `[{"first_ms":4140000,"last_ms":4140000,"value":1}]` {
		t.Errorf("open: %s, %v", got, err)
	}
	if got, err := queries[0].Read(s.Get, "bob"); err != nil || got != nil {
		t.Errorf("open: %s, %v", got, err)
	}
}

// TestRejected: each record that cannot be used is rejected with its reason.
func TestRejected(t *testing.T) {
	s := newSite(t)
	s.add("users", "ann", `{"name":"Ann"}`, 1)
	s.add("users", "bob", `{"name":`, 1)
	s.add("views", "bob", `{"page":"/"}`, 1)
	s.add("views", "", `{"page":"/"}`, 1)
	s.add("views", "ann", `{}`, 1)
	s.add("views", "ann", `{"page":`, 1)
	s.Commit(1)
	var got []string
	for _, x := range s.TakeRejects() {
		got = append(got, fmt.Sprint(x.Topic, x.Offset, " ", x.Reason))
	}
	want := []string{"users1 undecodable", "views0 unknown_user", "views1 unknown_user", "views2 no_page", "views3 undecodable"}
	if !slices.Equal(got, want) {
		t.Errorf("rejected %q, want %q", got, want)
	}
}
