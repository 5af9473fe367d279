package stream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// memTask is a task over a map. Nothing is committed.
func memTask(rows map[string]string, timers Timers) Task {
	return Task{
		Partition: 3, Timers: timers,
		Get: func(_ byte, key []byte) ([]byte, error) {
			if string(key) == "unreadable" {
				return nil, errors.New("the disk is gone")
			}
			if v, ok := rows[string(key)]; ok {
				return []byte(v), nil
			}
			return nil, nil
		},
		Scan: func(byte, []byte, func(key, value []byte) error) error { return errors.New("the disk is gone") },
	}
}

// timerLog records the timers that were set and cancelled.
type timerLog []string

func (l *timerLog) Set(t Timer)    { *l = append(*l, fmt.Sprintf("set %d %s", t.AtMs, t.Key)) }
func (l *timerLog) Cancel(t Timer) { *l = append(*l, fmt.Sprintf("cancel %d %s", t.AtMs, t.Key)) }

func foldOne(t *testing.T, build func(Task) (Handler, error), timers Timers, values ...string) (Handler, *Batch, error) {
	t.Helper()
	h, err := build(memTask(map[string]string{"a": "1"}, timers))
	if err != nil {
		t.Fatal(err)
	}
	b := &Batch{Topic: "in", Partition: 3, NowMs: 5}
	for i, v := range values {
		b.Records = append(b.Records, Record{Value: []byte(v), Offset: int64(10 + i)})
	}
	return h, b, h.Fold(b)
}

// TestRecordErrors holds that an error that abandons the transaction names the record and the
// cause.
func TestRecordErrors(t *testing.T) {
	for _, x := range []struct {
		what string
		fn   func(c *Context) error
		want string
	}{
		{"plain", func(*Context) error { return errors.New("no luck") }, "record at offset 11: no luck"},
		{"unreadable", func(c *Context) error { _, err := c.Get(1, []byte("unreadable")); return err }, "record at offset 11: read table 1: the disk is gone"},
		{"scan", func(c *Context) error { return c.Scan(1, nil, nil) }, "the disk is gone"},
		{"table of the runtime", func(c *Context) error { c.Put(TimerTable, nil, nil); return nil }, "table 127: the tables of a record function are numbered from 1 to 126"},
		{"table 0", func(c *Context) error { c.Delete(0, nil); return nil }, "table 0: the tables"},
		{"local table", func(c *Context) error { _, err := c.Get(FirstLocalTable, nil); return err }, "table 128: the tables"},
		{"misuse, though the record is refused", func(c *Context) error { c.Put(0, nil, nil); return Rejectf("r", "d") }, "table 0: the tables"},
		{"timer", func(c *Context) error { c.SetTimer(Timer{}); return nil }, "use EachRecordWithTimers"},
		{"cancelled timer", func(c *Context) error { c.CancelTimer(Timer{}); return nil }, "use EachRecordWithTimers"},
		{"partition", func(c *Context) error { c.EmitTo("out", -1, Message{}); return nil }, `record at offset 11: emit to partition -1 of output "out"`},
		{"wrong partition, though the record is refused", func(c *Context) error { c.EmitTo("out", -1, Message{}); return Rejectf("r", "d") }, `emit to partition -1`},
	} {
		fn := EachRecord(func(c *Context, r *Record) error {
			if string(r.Value) == "good" {
				return nil
			}
			return x.fn(c)
		})
		if _, _, err := foldOne(t, fn, nil, "good", "bad"); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.what, err)
		}
	}
	h, _, err := foldOne(t, EachRecord(func(c *Context, _ *Record) error { c.Emit("nowhere", Message{}); return nil }), nil, "x")
	var ch Changes
	ch.SetOutputs(OutputTopics("out"))
	if err = errors.Join(err, h.Flush(Commit{}, &ch)); err != nil || ch.Err() == nil || !strings.Contains(ch.Err().Error(), `its outputs are "out"`) {
		t.Errorf("an output that is not declared: %v, %v", err, ch.Err())
	}
}

// TestRejectedRecords holds that rejected records are in the batch with reason and detail, and set
// no timers.
func TestRejectedRecords(t *testing.T) {
	var timers timerLog
	fn := EachRecordWithTimers(func(c *Context, r *Record) error {
		c.SetTimer(Timer{AtMs: 1, Key: r.Value})
		c.CancelTimer(Timer{AtMs: 2, Key: r.Value})
		c.Put(1, []byte("a"), r.Value)
		if string(r.Value) == "good" {
			return nil
		}
		return fmt.Errorf("parse: %w", Rejectf("bad_value", "%q is no value", r.Value))
	}, func(*Context, Timer) error { return nil })
	h, b, err := foldOne(t, fn, &timers, "bad", "good", "worse")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(b.Rejects); got != `[{0 bad_value "bad" is no value} {2 bad_value "worse" is no value}]` {
		t.Errorf("refused: %s", got)
	}
	if got := fmt.Sprint(timers); got != "[set 1 good cancel 2 good]" {
		t.Errorf("timers: %s", got)
	}
	var ch Changes
	if err := h.Flush(Commit{}, &ch); err != nil || len(ch.List) != 1 || string(ch.List[0].Value) != "good" {
		t.Errorf("%d changes, %v", len(ch.List), err)
	}
}

// TestTimerErrors holds that any error of a timer function abandons the transaction, also a
// RejectError.
func TestTimerErrors(t *testing.T) {
	for _, bad := range []error{errors.New("no luck"), Rejectf("reason", "no luck")} {
		h, _, err := foldOne(t, EachRecordWithTimers(nil, func(*Context, Timer) error { return bad }), &timerLog{})
		if err != nil {
			t.Fatal(err)
		}
		err = h.(TimerHandler).OnTimer(100, []Timer{{AtMs: 7, Key: []byte("k")}})
		if !errors.Is(err, bad) || !strings.Contains(err.Error(), `timer "k" due at 7`) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	h, _, _ := foldOne(t, EachRecordWithTimers(nil, func(c *Context, _ Timer) error { c.Put(0, nil, nil); return nil }), &timerLog{})
	if err := h.(TimerHandler).OnTimer(100, []Timer{{}}); err == nil || !strings.Contains(err.Error(), "table 0") {
		t.Errorf("misuse in a timer: %v", err)
	}
}

// TestPendingBytes holds that PendingBytes counts what the next Flush hands over, without what was
// undone or only read.
func TestPendingBytes(t *testing.T) {
	h, _, err := foldOne(t, EachRecord(func(c *Context, r *Record) error {
		switch string(r.Value) {
		case "read":
			_, err := c.Get(1, []byte("a"))
			return err
		case "put":
			c.Put(1, []byte("a"), []byte("22"))
			c.Put(1, []byte("bb"), []byte("333"))
			c.Emit("out", Message{Key: []byte("k"), Value: []byte("v")})
		case "delete":
			c.Delete(1, []byte("bb"))
		case "refuse":
			c.Put(2, make([]byte, 100), make([]byte, 100))
			c.Delete(1, []byte("a"))
			return Rejectf("r", "")
		}
		return nil
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		value string
		want  int
	}{{"read", 0}, {"put", 1 + 2 + 16 + 2 + 3 + 16 + 2}, {"refuse", 42}, {"delete", 39}, {"read", 39}} {
		if err := h.Fold(&Batch{Records: []Record{{Value: []byte(x.value)}}}); err != nil {
			t.Fatal(err)
		}
		if got := h.(PendingSizer).PendingBytes(); got != x.want {
			t.Errorf("after %s: %d bytes, want %d", x.value, got, x.want)
		}
	}
	var ch Changes
	if err := h.Flush(Commit{}, &ch); err != nil || len(ch.List) != 3 {
		t.Fatalf("%d changes, %v", len(ch.List), err)
	}
	if got := h.(PendingSizer).PendingBytes(); got != 0 {
		t.Errorf("after Flush: %d bytes", got)
	}
}

// TestLargeTransactions holds that a transaction of many keys, whose memory is reused, leaves no
// row for the next one.
func TestLargeTransactions(t *testing.T) {
	fn := EachRecord(func(c *Context, r *Record) error {
		v, err := c.Get(1, r.Value)
		if err != nil || v != nil {
			return fmt.Errorf("key %s is %q, %w", r.Value, v, err)
		}
		c.Put(1, r.Value, []byte("value of "+string(r.Value)))
		return nil
	})
	h, err := fn(memTask(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{10, maxFree + 5, 3, maxFree - 1, 50_000, 7} {
		b := &Batch{}
		for i := range n {
			b.Records = append(b.Records, Record{Value: fmt.Appendf(nil, "%07d", i), Offset: int64(i)})
		}
		if err := h.Fold(b); err != nil {
			t.Fatal(err)
		}
		var ch Changes
		if err := h.Flush(Commit{}, &ch); err != nil || len(ch.List) != n {
			t.Fatalf("%d changes, want %d; %v", len(ch.List), n, err)
		}
		for i, c := range ch.List {
			if want := fmt.Sprintf("%07d", i); string(c.Key) != want || string(c.Value) != "value of "+want {
				t.Fatalf("change %d is %s=%s", i, c.Key, c.Value)
			}
		}
	}
}
