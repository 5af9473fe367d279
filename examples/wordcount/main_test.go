package main

import (
	"slices"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

func TestCount(t *testing.T) {
	r := streamtest.New(t, streamtest.Options{Processor: count()})
	for _, word := range []string{"to", "be", "or", "not", "to", "be"} {
		r.AppendTo("words", stream.Record{Key: []byte(word)})
	}
	r.Fold(4)
	r.Commit(1000)
	r.FoldAll()
	r.Crash() // the transaction is lost: its records come again
	r.FoldAll()
	r.Commit(2000)

	counts := state.Named(1, "counts", state.String{}, state.Uint64{})
	for word, want := range map[string]uint64{"to": 2, "be": 2, "or": 1, "not": 1} {
		if n, _, err := counts.Get(r, word); n != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", word, n, err, want)
		}
	}
	if out := r.TakeOutputs(); len(out) != 6 || string(out[5].Key) != "be" || string(out[5].Value) != "2" {
		t.Errorf("%d counts were written, the last is %s=%s", len(out), out[5].Key, out[5].Value)
	}
}

// TestChangeOfKey writes lines, and counts the words that the first processor has written: the
// topic between the two has another key than the lines.
func TestChangeOfKey(t *testing.T) {
	first := streamtest.New(t, streamtest.Options{Processor: split()})
	second := streamtest.New(t, streamtest.Options{Processor: count()})
	for _, line := range []string{"to be or", "not to be"} {
		first.AppendTo("lines", stream.Record{Value: []byte(line)})
	}
	first.FoldAll()
	first.Commit(1000)
	for _, word := range first.TakeOutputs() {
		second.AppendTo(word.To.Output.Topic, stream.Record{Key: word.Key, Value: word.Value})
	}
	second.FoldAll()
	second.Commit(2000)
	var got []string
	for _, c := range second.TakeOutputs() {
		got = append(got, string(c.Key)+"="+string(c.Value))
	}
	if want := []string{"to=1", "be=1", "or=1", "not=1", "to=2", "be=2"}; !slices.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
}
