package events

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events/eventspb"
)

// sameAsGenerated compares Decode with the generated code. FuzzDecode, TestDecodeRandom and the
// table of cases use it.
func sameAsGenerated(t interface {
	Helper()
	Fatalf(string, ...any)
}, b []byte,
) error {
	t.Helper()
	var m eventspb.AdEvent
	wantErr := proto.Unmarshal(b, &m)
	v := View{EventID: []byte("left from before"), PriceMicros: 7, Currency: 1, BudgetDay: 2, Type: 3}
	err := v.Decode(b)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%x: Decode returned %v, proto.Unmarshal %v", b, err, wantErr)
	}
	if err != nil {
		var de DecodeError
		if !errors.As(err, &de) || strings.Contains(err.Error(), "undecodable") {
			t.Fatalf("%x: error %#v is not a DecodeError", b, err)
		}
		m.Reset() // after an error the view must be zero
	}
	if string(v.EventID) != m.EventId || string(v.Account) != m.Account || string(v.Campaign) != m.Campaign ||
		string(v.ServingDC) != m.ServingDc || string(v.LineItem) != m.LineItem || string(v.Arm) != m.Arm || v.PriceMicros != m.PriceMicros || v.EventMs != m.EventMs ||
		v.IngestMs != m.IngestMs || v.BudgetDay != m.BudgetDay || v.Type != m.Type ||
		v.Currency != wantCurrency(m.Currency) {
		t.Fatalf("%x:\n view    %+v\n message %v", b, v, &m)
	}
	return err
}

// wantCurrency returns the same as packCurrency, computed in another way.
func wantCurrency(s string) Currency {
	if s == "" {
		return 0
	}
	if len(s) != 3 || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return CurrencyInvalid
	}
	var c Currency
	for _, r := range s {
		c = c*256 + Currency(r)
	}
	return c
}

type wireCase struct {
	name string
	in   []byte
	want error
}

func wireCases(t testing.TB) []wireCase {
	typical := wire(t, typicalEvent())
	field := func(num protowire.Number, typ protowire.Type, value ...byte) []byte {
		return append(protowire.AppendTag(nil, num, typ), value...)
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	nest := func(depth int) []byte {
		return join(bytes.Repeat([]byte{20<<3&0x7f | 3 | 0x80, 1}, depth), bytes.Repeat([]byte{20<<3&0x7f | 4 | 0x80, 1}, depth))
	}
	everything := typicalEvent()
	everything.InsertionId, everything.LineItem, everything.Arm = "i1", "l1", "größer"
	everything.EventMs, everything.BudgetDay, everything.PriceMicros = math.MinInt64, -1, math.MaxInt64
	everything.Type = -5
	return []wireCase{
		{"empty", nil, nil},
		{"typical", typical, nil},
		{"all fields, extreme numbers", wire(t, everything), nil},
		{"last value wins", join(typical, wire(t, &eventspb.AdEvent{Account: "b", PriceMicros: 9, Currency: "EUR"})), nil},
		{"explicit empty string overwrites", join(typical, field(3, 2, 0), field(6, 2, 0)), nil},
		{"enum number beyond 32 bits", field(2, 0, 0x81, 0x80, 0x80, 0x80, 0x10), nil},
		{"budget day beyond 32 bits", field(7, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), nil},
		{"tag written long", []byte{0x8a, 0x80, 0x00, 1, 'x'}, nil},
		{"length written long", []byte{10, 0x81, 0x00, 'x'}, nil},
		{"number written long", join([]byte{40, 0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, typical), nil},
		{"number of eight bytes", join(field(8, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), typical), nil},
		{"number at the very end", join(typical, field(5, 0, 0x85, 0x01)), nil},
		{"unknown fields of every type", join(field(20, 0, 0xff, 1), field(21, 5, 1, 2, 3, 4), field(22, 1, 1, 2, 3, 4, 5, 6, 7, 8),
			field(23, 2, 2, 0xff, 0xfe), field(24, 3), field(1, 0, 5), field(24, 4), typical), nil},
		{"known fields of a wrong type", join(field(1, 0, 5), field(5, 2, 1, 0xff), field(3, 5, 1, 2, 3, 4), field(8, 1, 1, 2, 3, 4, 5, 6, 7, 8),
			field(6, 3), field(6, 4)), nil},
		{"currency of two letters", field(6, 2, 2, 'E', 'U'), nil},
		{"currency in small letters", field(6, 2, 3, 'e', 'u', 'r'), nil},
		{"currency of one wide letter", field(6, 2, 3, 0xe2, 0x82, 0xac), nil},
		{"groups as deep as allowed", nest(10001), nil},
		{"greatest field number", field(1<<29-1, 0, 1), nil},

		{"not UTF-8: event id", field(1, 2, 1, 0xff), ErrUTF8},
		{"not UTF-8: a long id", field(3, 2, append([]byte{17}, "0123456789abcdef\xff"...)...), ErrUTF8},
		{"not UTF-8: currency", field(6, 2, 3, 'E', 'U', 0xff), ErrUTF8},
		{"not UTF-8: a field the view leaves out", field(12, 2, 1, 0xc0), ErrUTF8},
		{"not UTF-8, overwritten later", join(field(1, 2, 1, 0xff), field(1, 2, 1, 'x')), ErrUTF8},
		{"cut in a tag", []byte{0x8a}, ErrTruncated},
		{"cut before the value", []byte{40}, ErrTruncated},
		{"cut in a number", []byte{40, 0x80}, ErrTruncated},
		{"cut in a string", []byte{10, 5, 'a'}, ErrTruncated},
		{"cut in a length", []byte{10, 0x85}, ErrTruncated},
		{"cut in an unknown field", field(21, 5, 1, 2), ErrTruncated},
		{"group without an end", field(24, 3), ErrTruncated},
		{"length of 2^63", []byte{10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, ErrTruncated},
		{"number of eleven bytes", []byte{40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, ErrMalformed},
		{"number beyond 64 bits", []byte{40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, ErrMalformed},
		{"field number 0", []byte{0x02, 0}, ErrMalformed},
		{"field number 0 with an impossible type", []byte{0x07}, ErrMalformed},
		{"field number 2^29", protowire.AppendVarint(nil, 1<<29<<3), ErrMalformed},
		{"wire type 6", []byte{8 | 6}, ErrMalformed},
		{"wire type 7", []byte{8 | 7}, ErrMalformed},
		{"end of a group that never began", []byte{24<<3&0x7f | 4 | 0x80, 1}, ErrMalformed},
		{"group ended by another", join(field(24, 3), field(25, 4)), ErrMalformed},
		{"groups too deep", nest(10002), ErrMalformed},
	}
}

func TestDecode(t *testing.T) {
	for _, c := range wireCases(t) {
		t.Run(c.name, func(t *testing.T) {
			if err := sameAsGenerated(t, c.in); !errors.Is(err, c.want) {
				t.Fatalf("Decode: %v, want %v", err, c.want)
			}
		})
	}
}

// TestDecodeDamaged: Decode and the generated code agree on every prefix and every flipped byte of
// an event.
func TestDecodeDamaged(t *testing.T) {
	b := wire(t, typicalEvent())
	refused := 0
	for i := range b {
		if sameAsGenerated(t, b[:i]) != nil {
			refused++
		}
		for bit := range 8 {
			b[i] ^= 1 << bit
			sameAsGenerated(t, b)
			b[i] ^= 1 << bit
		}
	}
	if refused < len(b)/2 {
		t.Fatalf("only %d of %d prefixes refused: the event lacks fields", refused, len(b))
	}
}

// TestDecodeUTF8Everywhere: Decode refuses a byte that is not UTF-8 at every index of every length
// of every string field, and accepts valid text of the same lengths.
func TestDecodeUTF8Everywhere(t *testing.T) {
	for _, num := range []protowire.Number{1, 3, 4, 6, 10, 11, 12, 13} {
		for n := range 34 {
			text := bytes.Repeat([]byte("x"), n)
			for at := range text {
				for _, c := range []byte{0x7f, 0x80, 0xff} {
					text[at] = c
					var want error
					if c >= 0x80 {
						want = ErrUTF8
					}
					in := protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), text)
					if err := sameAsGenerated(t, in); !errors.Is(err, want) {
						t.Fatalf("field %d, byte %#x at %d of %d: %v", num, c, at, n, err)
					}
				}
				text[at] = 'x'
			}
		}
	}
}

func TestDecodeRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		b, err := proto.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := sameAsGenerated(t, b); err != nil {
			t.Fatalf("%v: %v", e, err)
		}
	})
}

func drawEvent(t *rapid.T) *eventspb.AdEvent {
	s := func(name string) string { return rapid.String().Draw(t, name) }
	return &eventspb.AdEvent{
		EventId: s("event_id"), Account: s("account"), Campaign: s("campaign"), ServingDc: s("serving_dc"),
		InsertionId: s("insertion_id"), LineItem: s("line_item"), Arm: s("arm"),
		Currency:    rapid.OneOf(rapid.StringMatching(`[A-Z]{3}`), rapid.String()).Draw(t, "currency"),
		Type:        eventspb.EventType(rapid.Int32().Draw(t, "type")),
		PriceMicros: rapid.Int64().Draw(t, "price"), EventMs: rapid.Int64().Draw(t, "event_ms"),
		IngestMs: rapid.Int64().Draw(t, "ingest_ms"), BudgetDay: rapid.Int32().Draw(t, "budget_day"),
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	var v View
	for _, c := range wireCases(t) {
		if n := testing.AllocsPerRun(20, func() { _ = v.Decode(c.in) }); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

// TestDecodeSlicesAreClipped: an append to a field of the view does not overwrite the next field,
// because each slice ends at its capacity.
func TestDecodeSlicesAreClipped(t *testing.T) {
	in := wire(t, typicalEvent())
	before := bytes.Clone(in)
	var v View
	if err := v.Decode(in); err != nil {
		t.Fatal(err)
	}
	for _, s := range [][]byte{v.EventID, v.Account, v.Campaign, v.ServingDC, v.LineItem, v.Arm} {
		_ = append(s, "overwritten"...)
	}
	if !bytes.Equal(in, before) {
		t.Fatal("an append to a field of the view changed the record")
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range wireCases(f) {
		if len(c.in) < 1<<10 {
			f.Add(c.in)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { _ = sameAsGenerated(t, b) })
}
