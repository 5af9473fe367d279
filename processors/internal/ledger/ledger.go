package ledger

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/weirhq/weir/internal/invariant"
	"github.com/weirhq/weir/stream"
)

// App is the application id, Table the table of the sums.
const (
	App   = "ledger"
	Table = 1
)

// Processor returns the processor for some input topics, with handlers of New.
func Processor(inputs ...string) stream.Processor {
	return stream.Processor{App: App, Inputs: inputs, Changelog: "log", Outputs: stream.OutputTopics("out"), New: New}
}

// TimedProcessor returns the processor with handlers of NewTimed.
func TimedProcessor(inputs ...string) stream.Processor {
	p := Processor(inputs...)
	p.Outputs, p.New = stream.OutputTopics("out", "fired"), NewTimed
	return p
}

// Handler keeps a sum per key. Its fields are for handlers that inject a bug.
type Handler struct {
	Task    stream.Task
	Sums    map[string]int64 // of the keys in the open transaction
	Changed map[string]bool
	outputs []string
}

// New makes a Handler.
func New(t stream.Task) (stream.Handler, error) { return newHandler(t), nil }

func newHandler(t stream.Task) *Handler {
	return &Handler{Task: t, Sums: map[string]int64{}, Changed: map[string]bool{}}
}

// RebuildFrom implements stream.Rebuilder: it reads a few records again.
func (h *Handler) RebuildFrom() map[string]int64 {
	return map[string]int64{"in": max(0, h.Task.Next["in"]-10), "in2": max(0, h.Task.Next["in2"]-5)}
}

// Rebuild implements stream.Rebuilder. It returns an error for a record that the state does not
// have.
func (h *Handler) Rebuild(b *stream.Batch) error {
	for _, r := range b.Records {
		if r.Offset >= h.Task.Next[b.Topic] {
			return fmt.Errorf("rebuilt with %s@%d, and the state is at %d", b.Topic, r.Offset, h.Task.Next[b.Topic])
		}
	}
	return nil
}

// Fold implements stream.Handler.
func (h *Handler) Fold(b *stream.Batch) error {
	for i, r := range b.Records {
		if string(r.Value) == "bad" {
			b.Reject(i, "bad", "the value is \"bad\"")
			continue
		}
		key := string(r.Key)
		if err := h.Load(key); err != nil {
			return err
		}
		if string(r.Value) == "poison" {
			h.Sums[key] += 1 << 40 // a half-done fold, which must not survive
			panic("poison")        //nolint:forbidigo // it injects a poison record
		}
		n, err := strconv.ParseInt(string(r.Value), 10, 64)
		if err != nil {
			return err
		}
		h.Sums[key] += n
		h.Changed[key] = true
		h.outputs = append(h.outputs, Origin(b.Topic, b.Partition, r.Offset))
	}
	return nil
}

// Load reads the sum of a key into Sums, unless it is there.
func (h *Handler) Load(key string) error {
	if _, ok := h.Sums[key]; ok {
		return nil
	}
	v, err := h.Task.Get(Table, []byte(key))
	if err != nil || v == nil {
		return err
	}
	h.Sums[key], err = Decode(string(v))
	return err
}

// Flush implements stream.Handler.
func (h *Handler) Flush(_ stream.Commit, ch *stream.Changes) error {
	for k := range h.Changed {
		ch.Put(Table, []byte(k), Encode(h.Sums[k]))
	}
	for _, o := range h.outputs {
		ch.EmitTo("out", h.Task.Partition, stream.Message{Key: []byte(o), Value: []byte(o)})
	}
	clear(h.Sums) // Get returns what this Flush handed over
	clear(h.Changed)
	h.outputs = h.outputs[:0]
	return nil
}

// Encode returns the state of a key with sum n.
func Encode(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// Decode returns the sum that a value of the state holds.
func Decode(value string) (int64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("the sum %q has %d bytes, not 8", value, len(value))
	}
	return int64(binary.BigEndian.Uint64([]byte(value))), nil
}

// Origin returns the value of a record's output.
func Origin(topic string, partition int32, offset int64) string {
	return fmt.Sprintf("%s/%d/%d", topic, partition, offset)
}

// ParseOrigin reads what Origin returns. It is the key of a dead letter, too.
func ParseOrigin(s string) invariant.Position {
	f := strings.Split(s, "/")
	if len(f) != 3 {
		return invariant.Position{Topic: s}
	}
	partition, _ := strconv.Atoi(f[1])
	offset, _ := strconv.ParseInt(f[2], 10, 64)
	return invariant.Position{Topic: f[0], Partition: int32(partition), Offset: offset}
}
