//go:build synctests

package mirror

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// TestLostRecords: the brokers of a peer lose copied records, and take others at their offsets. The
// partition of that topic stops, until an operator lets it begin where the logs differ. No copy of
// the others is taken for one of the lost records. A mirror that forgets that the log is another
// one is noticed.
func TestLostRecords(t *testing.T) {
	for name, mutate := range map[string]func(*position){
		"none":                  nil,
		"the log is the former": func(p *position) { p.Log = logreader.TopicID{} },
	} {
		t.Run(name, func(t *testing.T) {
			var wrong []string
			err := inRuntime(t, 1, nil, func(x *fixture) { wrong = lostRecords(x, mutate) })
			if err != nil || (len(wrong) > 0) != (mutate != nil) {
				t.Errorf("error %v, the checker found %q", err, wrong)
			}
		})
	}
}

// lostRecords returns what judgeLogs finds after a loss, and after a restart with changed
// positions.
func lostRecords(x *fixture, mutate func(*position)) []string {
	x.without["events.from.us"] = true
	p, us, after := x.start("a"), x.peers["us"], processorstest.NewRemote(x.T, partitions, "events", "refunds")
	after.Replaces(us, "events", "refunds")
	former := x.messages(5)
	us.Produce("events", 2, former...)
	x.awaitStatus("us", "events", 2, "five copies", func(s Status) bool { return s.Next == 5 })
	x.k.CaughtUp()
	p.Stop()

	after.Produce("events", 2, former[:3]...)
	after.Lost("events", 2, 3)
	after.Produce("events", 2, x.messages(1)...)
	x.peers["us"] = after
	p = x.start("a")
	x.awaitStatus("us", "events", 2, "it stops", func(s Status) bool { return s.Stopped })
	after.Produce("events", 2, x.messages(4)...) // the log is longer than the copies
	after.Produce("events", 1, x.messages(2)...)
	x.awaitStatus("us", "events", 1, "another partition continues", func(s Status) bool { return s.Next == 2 })
	x.k.CaughtUp()
	p.Stop()
	x.start("a")
	s := x.awaitStatus("us", "events", 2, "it stops again", func(s Status) bool { return s.Stopped })
	if !strings.Contains(s.Problem, "events[2] was read up to offset 5, and from offset 3 on") || s.Resume == nil || s.Resume.To != 3 || len(x.copies("events.from.us", 2)) != 5 {
		x.Fatalf("status %+v", s)
	}
	i := *s.Resume
	i.Who, i.Why, i.AtMs = "op", "test", 1
	x.instruct(2, i)
	x.awaitStatus("us", "events", 2, "it continues", func(s Status) bool { return s.Next == 8 })
	x.instruct(2, i) // late: changes nothing
	x.k.CaughtUp()
	x.procs["a"].Stop()

	x.mutate = mutate
	x.start("a")
	after.Produce("events", 2, x.messages(1)...)
	x.k.WaitFor("eleven copies", time.Minute, func() bool { return len(x.copies("events.from.us", 2)) == 11 })
	copies, source := x.copies("events.from.us", 2), after.Records("events")[2]
	for n, offset := range []int64{0, 1, 2, 3, 4, 3, 4, 5, 6, 7, 8} {
		o, _ := events.ParseOrigin(copies[n].Headers[len(copies[n].Headers)-1].Value)
		if o.Offset != offset || o.Previous != offset-1 || n >= 5 && string(copies[n].Value) != string(source[offset].Value) {
			x.Errorf("copy %d is of %+v, want offset %d", n, o, offset)
		}
	}
	return judgeLogs(copies)
}

// TestJudgeLogs: the checker notices copies after a loss whose log is that of the copies before.
func TestJudgeLogs(t *testing.T) {
	copyOf := func(log byte, offset int64) stream.Record {
		o := events.Origin{Topic: [16]byte{log}, Offset: offset, Previous: offset - 1}
		return stream.Record{Headers: []stream.Header{{Key: events.OriginHeader, Value: events.AppendOrigin(nil, o)}}}
	}
	if wrong := judgeLogs([]stream.Record{copyOf(1, 0), copyOf(1, 1), copyOf(2, 1), copyOf(2, 2)}); len(wrong) > 0 {
		t.Error(wrong)
	}
	for name, copies := range map[string][]stream.Record{
		"a lost record and another one have one place": {copyOf(1, 0), copyOf(1, 1), copyOf(1, 1)},
		"the log of the lost records continues":        {copyOf(1, 0), copyOf(1, 1), copyOf(2, 1), copyOf(2, 2), copyOf(1, 3)},
	} {
		if len(judgeLogs(copies)) == 0 {
			t.Errorf("%s: the checker does not notice it", name)
		}
	}
}

// TestInstructionAfterLoss: an instruction to copy lost offsets again is carried out once, also if
// the position comes by the same offset again.
func TestInstructionAfterLoss(t *testing.T) {
	topic := logreader.TopicID{7}
	at := position{Position: logreader.Position{Topic: topic, Next: 5, Epoch: 2}, Last: 4}
	i := Instruction{From: 5, To: 3, TopicID: lostLog(topic, 5, 3)}
	after, ok := i.apply(at)
	want := position{Position: logreader.Position{Topic: topic, Next: 3, Epoch: -1}, Last: 2, Log: i.TopicID}
	if !ok || after != want {
		t.Fatalf("%+v, %t", after, ok)
	}
	if after.Next, after.Last = 5, 4; after.log() != i.TopicID {
		t.Fatalf("%+v", after)
	}
	if again, ok := i.apply(after); ok {
		t.Errorf("it is carried out twice: %+v", again)
	}
	second := Instruction{From: 5, To: 3, TopicID: lostLog(after.log(), 5, 3)}
	if again, ok := second.apply(after); !ok || again.Log == after.Log || again.Topic != topic {
		t.Errorf("a second loss: %+v, %t", again, ok)
	}
	forward := Instruction{From: 5, To: 9, TopicID: topic}
	if again, ok := forward.apply(after); !ok || again.Log != after.Log || again.Next != 9 {
		t.Errorf("a skip forward: %+v, %t", again, ok)
	}
	if again, ok := (Instruction{From: 5, To: 3, TopicID: topic}).apply(after); ok {
		t.Errorf("a skip to lower offsets of the same log: %+v", again)
	}
}
