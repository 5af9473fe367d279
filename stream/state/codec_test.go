package state

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// encode returns the encoding of v, and holds that Append keeps the bytes before it.
func encode[T any](t *testing.T, c Codec[T], v T) []byte {
	t.Helper()
	b, err := c.Append([]byte("xy"), v)
	if err != nil || !bytes.HasPrefix(b, []byte("xy")) {
		t.Fatalf("%T: encode %v: %q, %v", c, v, b, err)
	}
	return b[2:]
}

// ordered holds that a codec decodes what it encodes, and that the order of the encodings is that
// of the values.
func ordered[T cmp.Ordered](t *testing.T, c Codec[T], values []T) {
	t.Helper()
	for _, a := range values {
		x := encode(t, c, a)
		if got, err := c.Decode(x); err != nil || cmp.Compare(got, a) != 0 {
			t.Errorf("%T: %v is decoded as %v, %v", c, a, got, err)
		}
		for _, b := range values {
			if y := encode(t, c, b); a != b && bytes.Compare(x, y) != cmp.Compare(a, b) {
				t.Errorf("%T: the order of %v and %v is not that of %x and %x", c, a, b, x, y)
			}
		}
	}
}

func TestOrderedCodecs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "a", "aa", "b", "\x00", "\xff\xff", "ä"}
	unsigned := []uint64{0, 1, 255, 256, math.MaxInt64, math.MaxUint64}
	signed := []int64{math.MinInt64, -256, -255, -1, 0, 1, 255, 256, math.MaxInt64}
	floats := []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, 1.5, math.MaxFloat64, math.Inf(1)}
	for range 100 {
		u := rng.Uint64() >> rng.IntN(64)
		texts, unsigned, signed = append(texts, fmt.Sprint(u)), append(unsigned, u), append(signed, int64(rng.Uint64())>>rng.IntN(64))
		floats = append(floats, rng.NormFloat64()*math.Pow(10, float64(rng.IntN(40)-20)))
	}
	ordered(t, String{}, texts)
	ordered(t, Uint64{}, unsigned)
	ordered(t, Int64{}, signed)
	ordered(t, Float64{}, floats)
	if bytes.Compare(encode(t, Float64{}, math.Copysign(0, -1)), encode(t, Float64{}, 0)) >= 0 {
		t.Error("-0 is not before 0")
	}
	if got, err := (Float64{}).Decode(encode(t, Float64{}, math.NaN())); err != nil || !math.IsNaN(got) {
		t.Errorf("NaN is decoded as %v, %v", got, err)
	}
	for _, v := range signed {
		if got, err := (Varint{}).Decode(encode(t, Varint{}, v)); err != nil || got != v {
			t.Errorf("Varint: %d is decoded as %d, %v", v, got, err)
		}
		if got, err := (Long{}).Decode(encode(t, Long{}, v)); err != nil || got != v {
			t.Errorf("Long: %d is decoded as %d, %v", v, got, err)
		}
		if got, err := (Decimal{}).Decode(encode(t, Decimal{}, v)); err != nil || got != v {
			t.Errorf("Decimal: %d is decoded as %d, %v", v, got, err)
		}
		if got, err := (Integer{}).Decode(encode(t, Integer{}, int32(v))); err != nil || got != int32(v) {
			t.Errorf("Integer: %d is decoded as %d, %v", int32(v), got, err)
		}
	}
}

// TestValueCodecs holds that codecs decode what they encode, and that decoded values share no
// memory with the encoding.
func TestValueCodecs(t *testing.T) {
	b := []byte("abc")
	got, err := (Bytes{}).Decode(b)
	clear(b)
	if err != nil || string(got) != "abc" {
		t.Errorf("Bytes: %q, %v", got, err)
	}
	if got, err := (Bytes{}).Decode(encode(t, Bytes{}, []byte{})); err != nil || got == nil || len(got) != 0 {
		t.Errorf("empty Bytes: %v, %v", got, err)
	}
	type order struct {
		Name  string
		Lines []int
		Until *int64
	}
	o := order{"n", []int{1, 2}, new(int64(7))}
	b = encode(t, JSON[order]{}, o)
	decoded, err := (JSON[order]{}).Decode(b)
	clear(b)
	if err != nil || !reflect.DeepEqual(decoded, o) {
		t.Errorf("JSON: %v, %v", decoded, err)
	}
	m := wrapperspb.String("text")
	b = encode(t, Proto[*wrapperspb.StringValue]{}, m)
	message, err := (Proto[*wrapperspb.StringValue]{}).Decode(b)
	clear(b)
	if err != nil || !proto.Equal(message, m) {
		t.Errorf("Proto: %v, %v", message, err)
	}
}

// TestKafkaNumbers holds that Long and Integer are what Kafka's serializers in Java write.
func TestKafkaNumbers(t *testing.T) {
	if got := encode(t, Long{}, -2); !bytes.Equal(got, []byte{255, 255, 255, 255, 255, 255, 255, 254}) {
		t.Errorf("Long: %v", got)
	}
	if got := encode(t, Integer{}, 258); !bytes.Equal(got, []byte{0, 0, 1, 2}) {
		t.Errorf("Integer: %v", got)
	}
}

// TestCodecErrors holds that bytes of another codec are an error.
func TestCodecErrors(t *testing.T) {
	if v, err := (Uint64{}).Decode([]byte("1234567")); err == nil || v != 0 || !strings.Contains(err.Error(), "7 bytes, 8 are expected") {
		t.Errorf("Uint64: %v, %v", v, err)
	}
	if v, err := (Int64{}).Decode(nil); err == nil || v != 0 {
		t.Errorf("Int64: %v, %v", v, err)
	}
	if v, err := (Float64{}).Decode(make([]byte, 9)); err == nil || v != 0 {
		t.Errorf("Float64: %v, %v", v, err)
	}
	if v, err := (Long{}).Decode([]byte("123")); err == nil || v != 0 {
		t.Errorf("Long: %v, %v", v, err)
	}
	if v, err := (Integer{}).Decode(make([]byte, 8)); err == nil || !strings.Contains(err.Error(), "8 bytes, 4 are expected") {
		t.Errorf("Integer: %v, %v", v, err)
	}
	if _, err := (Decimal{}).Decode([]byte("12x")); err == nil {
		t.Error("Decimal takes letters")
	}
	if _, err := (Varint{}).Decode([]byte{0x80}); err == nil {
		t.Error("Varint takes half a number")
	}
	if _, err := (JSON[int]{}).Decode([]byte("{")); err == nil {
		t.Error("JSON takes half an object")
	}
	if _, err := (JSON[float64]{}).Append(nil, math.NaN()); err == nil {
		t.Error("JSON takes NaN")
	}
	if _, err := (Proto[*wrapperspb.StringValue]{}).Decode([]byte{0xff}); err == nil {
		t.Error("Proto takes junk")
	}
}
