package events

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events/eventspb"
)

func TestAppendEventRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendEvent([]byte("before"), e); !bytes.Equal(got, append([]byte("before"), want...)) {
			t.Fatalf("%v:\n got  %x\n want %x", e, got[6:], want)
		}
	})
}

// TestAppendEventAtVarintEdges tests lengths and numbers at which a varint takes one byte more.
func TestAppendEventAtVarintEdges(t *testing.T) {
	for bit := range 63 {
		for _, x := range []int64{1<<bit - 1, 1 << bit, -1 << bit} {
			e := &eventspb.AdEvent{PriceMicros: x, BudgetDay: int32(x), Type: eventspb.EventType(x), Arm: strings.Repeat("a", int(x&0x81ff))}
			want, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
			if got := AppendEvent(nil, e); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d: got %x, want %x, %v", x, got, want, err)
			}
		}
	}
}

func TestAppendEventAllocatesNothing(t *testing.T) {
	e, buf := typicalEvent(), make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { buf = AppendEvent(buf[:0], e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if empty := AppendEvent(nil, new(eventspb.AdEvent)); len(empty) != 0 {
		t.Errorf("an empty event is %x", empty)
	}
}

// BenchmarkEncode compares AppendEvent with the generated code.
func BenchmarkEncode(b *testing.B) {
	e, buf := typicalEvent(), make([]byte, 0, 256)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = AppendEvent(buf[:0], e)
		}
	})
	b.Run("generated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var err error
			if buf, err = (proto.MarshalOptions{}).MarshalAppend(buf[:0], e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
