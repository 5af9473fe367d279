package state

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/stream/state/packed"
)

// Codec turns values into bytes and back, for tables, for the records of an input (stream.On) and
// for outputs (stream.NewTypedOutput). It is safe for concurrent use.
type Codec[T any] interface {
	// Append appends the encoding of v to dst.
	Append(dst []byte, v T) ([]byte, error)
	// Decode returns the value that b encodes. It must not keep b.
	Decode(b []byte) (T, error)
}

// String stores the bytes of a string.
type String struct{}

// Append implements Codec.
func (String) Append(dst []byte, v string) ([]byte, error) { return append(dst, v...), nil }

// Decode implements Codec.
func (String) Decode(b []byte) (string, error) { return string(b), nil }

// Bytes stores bytes as they are. Decoded slices belong to the caller.
type Bytes struct{}

// Append implements Codec.
func (Bytes) Append(dst, v []byte) ([]byte, error) { return append(dst, v...), nil }

// Decode implements Codec.
func (Bytes) Decode(b []byte) ([]byte, error) { return append(make([]byte, 0, len(b)), b...), nil }

// Uint64 stores 8 bytes, big-endian: keys are in the order of the numbers.
type Uint64 struct{}

// Append implements Codec.
func (Uint64) Append(dst []byte, v uint64) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, v), nil
}

// Decode implements Codec.
func (Uint64) Decode(b []byte) (uint64, error) { return eightBytes(b) }

// Int64 stores 8 bytes, big-endian with the sign bit flipped: keys are in the order of the numbers,
// the negative ones first.
type Int64 struct{}

// Append implements Codec.
func (Int64) Append(dst []byte, v int64) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^signBit), nil
}

// Decode implements Codec.
func (Int64) Decode(b []byte) (int64, error) {
	u, err := eightBytes(b)
	if err != nil {
		return 0, err
	}
	return int64(u ^ signBit), nil
}

// Float64 stores 8 bytes: keys are in the order of the numbers, with -0 before 0 and NaN at an end.
type Float64 struct{}

// Append implements Codec.
func (Float64) Append(dst []byte, v float64) ([]byte, error) {
	u := math.Float64bits(v)
	if u&signBit != 0 {
		u = ^u
	} else {
		u |= signBit
	}
	return binary.BigEndian.AppendUint64(dst, u), nil
}

// Decode implements Codec.
func (Float64) Decode(b []byte) (float64, error) {
	u, err := eightBytes(b)
	if err != nil {
		return 0, err
	}
	if u&signBit != 0 {
		u ^= signBit
	} else {
		u = ^u
	}
	return math.Float64frombits(u), nil
}

const signBit = 1 << 63

func eightBytes(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("the value has %d bytes, 8 are expected: another codec wrote it", len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

// Varint stores 1 to 10 bytes, fewer for numbers near 0. Keys are in no order of the numbers.
type Varint struct{}

// Append implements Codec.
func (Varint) Append(dst []byte, v int64) ([]byte, error) { return packed.AppendInt(dst, v), nil }

// Decode implements Codec.
func (Varint) Decode(b []byte) (int64, error) {
	r := packed.NewReader(b)
	n := r.Int()
	return n, r.End()
}

// Long stores 8 bytes, big-endian, as Kafka's LongSerializer. Keys are in the order of the numbers
// from 0 on, and the negative ones come after them: Int64 has the right order.
type Long struct{}

// Append implements Codec.
func (Long) Append(dst []byte, v int64) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(v)), nil
}

// Decode implements Codec.
func (Long) Decode(b []byte) (int64, error) {
	u, err := eightBytes(b)
	return int64(u), err
}

// Integer stores 4 bytes, big-endian, as Kafka's IntegerSerializer. The order of keys is that of
// Long.
type Integer struct{}

// Append implements Codec.
func (Integer) Append(dst []byte, v int32) ([]byte, error) {
	return binary.BigEndian.AppendUint32(dst, uint32(v)), nil
}

// Decode implements Codec.
func (Integer) Decode(b []byte) (int32, error) {
	if len(b) != 4 {
		return 0, fmt.Errorf("the value has %d bytes, 4 are expected: another codec wrote it", len(b))
	}
	return int32(binary.BigEndian.Uint32(b)), nil
}

// Decimal stores a number as text, such as "-12". Keys are in no order of the numbers.
type Decimal struct{}

// Append implements Codec.
func (Decimal) Append(dst []byte, v int64) ([]byte, error) { return strconv.AppendInt(dst, v, 10), nil }

// Decode implements Codec.
func (Decimal) Decode(b []byte) (int64, error) { return strconv.ParseInt(string(b), 10, 64) }

// JSON stores what encoding/json makes of T.
type JSON[T any] struct{}

// Append implements Codec.
func (JSON[T]) Append(dst []byte, v T) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

// Decode implements Codec.
func (JSON[T]) Decode(b []byte) (v T, err error) { return v, json.Unmarshal(b, &v) }

// Proto stores the wire format of a generated message: Proto[*pb.Order]{}. Equal messages of one
// program have equal bytes.
type Proto[M proto.Message] struct{}

// Append implements Codec.
func (Proto[M]) Append(dst []byte, m M) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(dst, m)
}

// Decode implements Codec.
func (Proto[M]) Decode(b []byte) (M, error) {
	var none M
	m := none.ProtoReflect().New().Interface().(M) //nolint:errcheck // a message makes messages of its type
	return m, proto.Unmarshal(b, m)
}

// Func is a Codec of two functions. Package packed helps to write them.
type Func[T any] struct {
	// AppendFunc appends the encoding of v to dst.
	AppendFunc func(dst []byte, v T) []byte
	// DecodeFunc returns the value that b encodes. It must not keep b.
	DecodeFunc func(b []byte) (T, error)
}

// Append implements Codec.
func (f Func[T]) Append(dst []byte, v T) ([]byte, error) { return f.AppendFunc(dst, v), nil }

// Decode implements Codec.
func (f Func[T]) Decode(b []byte) (T, error) { return f.DecodeFunc(b) }
