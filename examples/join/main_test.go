package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

func TestJoin(t *testing.T) {
	r := streamtest.New(t, streamtest.Options{Processor: join()})
	add := func(topic, id, value string, minute int64) {
		r.AppendTo(topic, stream.Record{Key: []byte(id), Value: []byte(value), TimeMs: minute * 60_000})
	}
	take := func() (out []string) {
		for _, c := range r.TakeOutputs() {
			out = append(out, fmt.Sprintf("%s: %s: %s", c.To.Output.Name, c.Key, c.Value))
		}
		return out
	}
	add("orders", "1", "a book", 100)
	add("orders", "2", "a pen", 101)
	add("payments", "3", "card", 101) // before its order
	add("payments", "1", "cash", 102)
	r.FoldAll()
	r.Commit(1)
	add("orders", "3", "a desk", 103)
	r.FoldAll()
	r.Commit(2)
	if got, want := take(), []string{"paid: 1: a book paid by cash", "paid: 3: a desk paid by card"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	add("orders", "4", "a lamp", 112) // event time waits for the slower input
	r.FoldAll()
	r.Commit(3)
	if got := take(); got != nil {
		t.Errorf("too early: %q", got)
	}
	add("payments", "9", "card", 112)
	r.FoldAll()
	r.Commit(4)
	if got, want := take(), []string{"unpaid: 2: a pen"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
