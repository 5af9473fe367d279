package stream

import "fmt"

// Encoder makes bytes of a value: it appends them to dst. The codecs of package stream/state are
// Encoders. It is used by several goroutines at once.
type Encoder[V any] interface {
	Append(dst []byte, v V) ([]byte, error)
}

// TypedOutput is an output of a processor with the codec of its values.
//
//	sessions := stream.NewTypedOutput("sessions", state.JSON[session]{})
//	sessions.Emit(c, stream.Message{Key: r.Key}, s)
type TypedOutput[V any] struct {
	name  string
	codec Encoder[V]
}

// NewTypedOutput returns the output with this name in Processor.Outputs, for values of codec.
func NewTypedOutput[V any](name string, codec Encoder[V]) TypedOutput[V] {
	return TypedOutput[V]{name, codec}
}

// Emit writes m with v as its value, as Context.Emit. If the codec fails, the transaction is
// abandoned: refuse the record before, if the record is the cause.
func (o TypedOutput[V]) Emit(c *Context, m Message, v V) {
	b, err := o.codec.Append(c.encoded[:0], v)
	if c.encoded = b; err != nil {
		c.Fail(fmt.Errorf("encode a value for output %q: %w", o.name, err))
		return
	}
	if m.Value = b; b == nil { // nil would be a tombstone
		m.Value = []byte{}
	}
	c.Emit(o.name, m)
}
