package stream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

// TestChangesKeep holds that List has all changes in order and unchanged, although the caller
// reuses its memory, and that the same holds after a Reset.
func TestChangesKeep(t *testing.T) {
	var ch Changes
	ch.SetOutputs([]Output{{Name: "a", Topic: "topic-a"}, {Name: "b", Topic: "topic-b"}})
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var want []string
		buf := make([]byte, 64)
		fill := func(n int) []byte {
			for i := range n {
				buf[i] = byte('a' + rng.IntN(26))
			}
			return buf[:n]
		}
		for range rng.IntN(3000) {
			key := bytes.Clone(fill(rng.IntN(20)))
			switch rng.IntN(5) {
			case 0:
				want = append(want, fmt.Sprintf("delete 1 %s", key))
				ch.Delete(1, key)
			case 1:
				value := fill(rng.IntN(60))
				want = append(want, fmt.Sprintf("put 2 %s=%s", key, value))
				ch.Put(2, key, value)
			case 2:
				end := fill(9)
				want = append(want, fmt.Sprintf("range 200 %s-%s", key, end))
				ch.DeleteRange(200, key, end)
			case 3:
				value := fill(rng.IntN(60))
				want = append(want, fmt.Sprintf("emit a topic-a -1 %s=%s [] 0", key, value))
				ch.Emit("a", Message{Key: key, Value: value})
			case 4:
				value := fill(rng.IntN(60))
				head := []Header{{Key: "h", Value: bytes.Clone(value)}}
				want = append(want, fmt.Sprintf("emit b topic-b 7 %s=%s %s 5", key, value, head))
				ch.EmitTo("b", 7, Message{Key: key, Value: value, Headers: head, TimeMs: 5})
				clear(head[0].Value)
				head[0] = Header{}
			}
			clear(key)
			clear(buf)
		}
		if err := ch.Err(); err != nil || len(ch.List) != len(want) {
			t.Fatalf("seed %d: %d changes, want %d; %v", seed, len(ch.List), len(want), err)
		}
		for i := range ch.List {
			if got := describe(&ch.List[i]); got != want[i] {
				t.Fatalf("seed %d, change %d is %q, want %q", seed, i, got, want[i])
			}
		}
		if ch.Reset(); len(ch.List) != 0 || ch.Bytes() != 0 {
			t.Fatalf("%d changes of %d bytes after Reset", len(ch.List), ch.Bytes())
		}
	}
}

func describe(c *Change) string {
	switch c.Op {
	case OpPut:
		return fmt.Sprintf("put %d %s=%s", c.Table, c.Key, c.Value)
	case OpDelete:
		return fmt.Sprintf("delete %d %s", c.Table, c.Key)
	case OpDeleteRange:
		return fmt.Sprintf("range %d %s-%s", c.Table, c.Key, c.Value)
	case OpEmit:
		return fmt.Sprintf("emit %s %s %d %s=%s %s %d", c.Output(), c.To.Output.Topic, c.To.Partition, c.Key, c.Value, c.To.Headers, c.To.TimeMs)
	}
	return "unknown"
}

// TestEmitErrors holds that a wrong Emit adds nothing to List, and that its error names the
// declared outputs.
func TestEmitErrors(t *testing.T) {
	for _, x := range []struct {
		what string
		emit func(*Changes)
		want string
	}{
		{"unknown output", func(c *Changes) { c.Emit("cuonts", Message{}) }, `emit to output "cuonts", which the processor does not declare: its outputs are "counts", "alerts"`},
		{"a topic is not a name", func(c *Changes) { c.EmitTo("topic-of-counts", 0, Message{}) }, `does not declare`},
		{"negative partition", func(c *Changes) { c.EmitTo("counts", -1, Message{}) }, `emit to partition -1 of output "counts"`},
		{"time", func(c *Changes) { c.Emit("alerts", Message{TimeMs: -1}) }, `emit to output "alerts" with timestamp -1`},
	} {
		var ch Changes
		ch.SetOutputs([]Output{{Name: "counts", Topic: "topic-of-counts"}, {Name: "alerts", Topic: "alerts"}})
		x.emit(&ch)
		ch.Emit("counts", Message{})
		ch.Emit("other", Message{})
		if ch.Err() == nil || !strings.Contains(ch.Err().Error(), x.want) || len(ch.List) != 1 {
			t.Errorf("%s: %v, %d changes", x.what, ch.Err(), len(ch.List))
		}
		if ch.Reset(); ch.Err() != nil {
			t.Errorf("%s: after Reset: %v", x.what, ch.Err())
		}
	}
	var none, zero Changes
	none.SetOutputs(nil)
	if none.Emit("x", Message{}); none.Err() == nil || !strings.Contains(none.Err().Error(), "its outputs are none") {
		t.Errorf("a processor without outputs: %v", none.Err())
	}
	if zero.Emit("x", Message{}); zero.Err() != nil || zero.List[0].To.Output.Topic != "x" {
		t.Errorf("the zero value: %v", zero.Err())
	}
}

// TestChangeIsSmall bounds the size of a Change, because a transaction holds millions of them.
func TestChangeIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Change{}); n > 88 {
		t.Errorf("a change takes %d bytes", n)
	}
}

// BenchmarkEmit emits transactions of 10,000 records.
func BenchmarkEmit(b *testing.B) {
	var ch Changes
	ch.SetOutputs([]Output{{Name: "a", Topic: "a"}, {Name: "b", Topic: "b"}})
	key, value := []byte("a key of 20 bytes..."), []byte("a value")
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if ch.Emit("b", Message{Key: key, Value: value}); n%10_000 == 0 {
			ch.Reset()
		}
	}
}
