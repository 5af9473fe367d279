package events

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"buf.build/go/hyperpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

// typicalEvent returns an event as an ad server sends it: 88 bytes on the wire.
func typicalEvent() *eventspb.AdEvent {
	return &eventspb.AdEvent{
		EventId: "0193f2a4c8e17b3d5f60", Type: eventspb.EventType_EVENT_TYPE_IMPRESSION,
		Account: "acct-000123", Campaign: "cmp-0012345", PriceMicros: 1234, Currency: "CNY", BudgetDay: 20261121,
		EventMs: 1795219200123, IngestMs: 1795219200456, ServingDc: "eu-west-1",
	}
}

func wire(t testing.TB, e *eventspb.AdEvent) []byte {
	b, err := proto.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mixedEvents returns n events that differ in the length of every field, so that a branch predictor
// cannot learn them.
func mixedEvents(t testing.TB, n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	id := func(prefix string, lo, hi int) string {
		return prefix + "0123456789abcdef0123456789abcdef"[:lo+r.IntN(hi-lo+1)]
	}
	out := make([][]byte, n)
	for i := range out {
		e := typicalEvent()
		e.EventId, e.Account, e.Campaign = id("", 16, 24), id("a-", 4, 12), id("c-", 4, 12)
		e.PriceMicros = 1 + r.Int64N(1<<(4+r.IntN(20)))
		e.EventMs -= r.Int64N(1e6)
		if r.IntN(4) == 0 {
			e.Type, e.IngestMs = eventspb.EventType_EVENT_TYPE_CLICK, 0
		}
		if r.IntN(4) == 0 {
			e.InsertionId, e.LineItem = id("i-", 8, 16), id("", 4, 8)
		}
		out[i] = wire(t, e)
	}
	return out
}

// BenchmarkDecode compares Decode with other decoders: "same" repeats one typical event, "mixed"
// cycles through 4,096 events.
func BenchmarkDecode(b *testing.B) {
	for name, in := range map[string][][]byte{"same": {wire(b, typicalEvent())}, "mixed": mixedEvents(b, 4096)} {
		b.Run(name, func(b *testing.B) { benchmarkDecoders(b, in) })
	}
}

func benchmarkDecoders(b *testing.B, in [][]byte) {
	run := func(name string, f func(in []byte) (int64, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if p, err := f(in[i%len(in)]); err != nil || p == 0 {
					b.Fatal(p, err)
				}
			}
		})
	}
	var v View
	run("view", func(in []byte) (int64, error) { err := v.Decode(in); return v.PriceMicros, err })
	run("protowire", func(in []byte) (int64, error) { err := protowireDecode(&v, in); return v.PriceMicros, err })
	var m eventspb.AdEvent
	run("generated", func(in []byte) (int64, error) { m.Reset(); err := proto.Unmarshal(in, &m); return m.PriceMicros, err })
	// hyperpb returns fields by reflection only; a caller needs eight more fields than the one read
	// here.
	typ := hyperpb.CompileMessageDescriptor(m.ProtoReflect().Descriptor())
	price := typ.Descriptor().Fields().ByName("price_micros")
	var shared hyperpb.Shared
	run("hyperpb", func(in []byte) (int64, error) {
		h := shared.NewMessage(typ)
		err := h.Unmarshal(in)
		p := h.Get(price).Int()
		shared.Free()
		return p, err
	})
}

// protowireDecode is a plain decoder on the functions of protowire. It accepts and reads the same
// as Decode.
func protowireDecode(v *View, b []byte) error {
	*v = View{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if num > protowire.MaxValidNumber {
			return ErrMalformed
		}
		b = b[n:]
		tag := protowire.EncodeTag(num, typ)
		switch tag {
		case tagType, tagPriceMicros, tagBudgetDay, tagEventMs, tagIngestMs:
			x, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			v.setNumber(tag, x)
			b = b[n:]
		case tagEventID, tagAccount, tagCampaign, tagCurrency, tagServingDC, tagInsertionID, tagLineItem, tagArm:
			s, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			if !utf8.Valid(s) {
				return ErrUTF8
			}
			v.setString(tag, s)
			b = b[n:]
		default:
			n := protowire.ConsumeFieldValue(num, typ, b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
		}
	}
	return nil
}

func (v *View) setString(tag uint64, s []byte) {
	switch tag {
	case tagEventID:
		v.EventID = s
	case tagAccount:
		v.Account = s
	case tagCampaign:
		v.Campaign = s
	case tagCurrency:
		v.Currency = packCurrency(s)
	case tagServingDC:
		v.ServingDC = s
	case tagLineItem:
		v.LineItem = s
	case tagArm:
		v.Arm = s
	}
}
