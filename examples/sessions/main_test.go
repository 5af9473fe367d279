package main

import (
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

func TestSessions(t *testing.T) {
	r := streamtest.New(t, streamtest.Options{Processor: sessions()})
	click := func(user string, second int64) {
		r.AppendTo("clicks", stream.Record{Key: []byte(user), TimeMs: second * 1000})
	}
	click("ann", 100)
	click("bob", 110)
	click("ann", 125)
	r.FoldAll()
	r.Commit(1)
	if out := r.TakeOutputs(); len(out) != 0 {
		t.Fatalf("%d sessions ended before their time", len(out))
	}
	click("eve", 150) // 40 s after bob's click, 25 s after ann's
	click("", 151)
	r.FoldAll()
	r.Commit(2)
	out := r.TakeOutputs()
	if len(out) != 1 || string(out[0].Key) != "bob" || string(out[0].Value) != `{"clicks":1,"first_ms":110000,"last_ms":110000}` {
		t.Fatalf("bob's session: %v", out)
	}
	if rejects := r.TakeRejects(); len(rejects) != 1 || rejects[0].Reason != "no_user" || rejects[0].Offset != 4 {
		t.Errorf("rejected: %v", rejects)
	}
	click("eve", 160)
	r.FoldAll()
	r.Crash() // the timer that fired is set again
	r.FoldAll()
	r.Commit(3)
	out = r.TakeOutputs()
	if len(out) != 1 || string(out[0].Key) != "ann" || string(out[0].Value) != `{"clicks":2,"first_ms":100000,"last_ms":125000}` {
		t.Errorf("ann's session: %v", out)
	}
}
