package stream_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

// TestCount holds that figures count with the transaction, once, and not for rejected records.
func TestCount(t *testing.T) {
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{On: []stream.Callback{
		stream.On("in", state.String{}, func(c *stream.Context, _ *stream.Record, v string) error {
			c.Log().Info("a record", "value", v) // without a runtime there is no log
			c.Count("records", 1)
			c.Count("bytes", float64(len(v)))
			if v == "bad" {
				return stream.Rejectf("bad", "it is")
			}
			return nil
		}),
	}}})
	r.Append([]byte("a"), []byte("bad"), []byte("bb"))
	r.FoldAll()
	r.Crash()
	r.Fold(2)
	if r.Count("records") != 0 {
		t.Error("it counts before the commit")
	}
	r.Commit(1)
	r.FoldAll()
	r.Commit(2)
	r.Commit(3)
	if n, bytes := r.Count("records"), r.Count("bytes"); n != 2 || bytes != 3 {
		t.Errorf("%g records, %g bytes", n, bytes)
	}
	var ch stream.Changes
	if ch.Count("x", -1); ch.Err() == nil || !strings.Contains(ch.Err().Error(), "a counter does not fall") {
		t.Errorf("error %v", ch.Err())
	}
}
