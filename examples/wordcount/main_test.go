package main

import (
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

	counts := state.Named("counts", state.String{}, state.Uint64{})
	for word, want := range map[string]uint64{"to": 2, "be": 2, "or": 1, "not": 1} {
		if n, _, err := counts.Get(r, word); n != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", word, n, err, want)
		}
	}
	if out := r.TakeOutputs(); len(out) != 6 || string(out[5].Key) != "be" || string(out[5].Value) != "2" {
		t.Errorf("%d counts were written, the last is %s=%s", len(out), out[5].Key, out[5].Value)
	}
}
