package state_test

import (
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

// TestKeep holds that a kept table has the last value of each key, and that bytes of another codec
// are rejected.
func TestKeep(t *testing.T) {
	prices := state.NewTable(1, state.String{}, state.Decimal{})
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{On: []stream.Callback{state.Keep("prices", prices)}}})
	add := func(key string, value []byte) {
		r.AppendTo("prices", stream.Record{Key: []byte(key), Value: value})
	}
	add("pen", []byte("1"))
	add("ink", []byte("2"))
	add("pen", []byte("3"))
	add("pad", []byte("many"))
	add("ink", nil)
	r.AppendTo("prices", stream.Record{Value: []byte("1")})
	r.FoldAll()
	r.Commit(1)
	rows := map[string]int64{}
	if err := prices.Scan(r, func(key string, v int64) error { rows[key] = v; return nil }); err != nil || len(rows) != 1 || rows["pen"] != 3 {
		t.Errorf("%v, %v", rows, err)
	}
	if x := r.TakeRejects(); len(x) != 2 || x[0].Reason != stream.ReasonUndecodable || x[1].Reason != stream.ReasonNoKey {
		t.Errorf("rejected: %+v", x)
	}
}
