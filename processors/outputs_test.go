//go:build synctests

package processors_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// echo calls emit for each record, at the next Flush.
type echo struct {
	emit func(ch *stream.Changes, r stream.Record)
	open []stream.Record
}

func (h *echo) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		h.open = append(h.open, stream.Record{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)})
	}
	return nil
}

func (h *echo) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, r := range h.open {
		h.emit(ch, r)
	}
	h.open = nil
	return nil
}

func echoing(outputs []stream.Output, emit func(ch *stream.Changes, r stream.Record)) stream.Processor {
	return stream.Processor{App: ledger.App, Inputs: []string{"in"}, Changelog: "log", Outputs: outputs, New: func(stream.Task) (stream.Handler, error) {
		return &echo{emit: emit}, nil
	}}
}

// TestOutputs checks the partition of every output record: by Java's partitioner or by the output's
// own for records with a key, the task's partition modulo the number of partitions for records
// without a key, and the partition of EmitTo. Headers, timestamps and order arrive as they were
// emitted.
func TestOutputs(t *testing.T) {
	o := ledgerOptions(5)
	o.NoRefold = true // it takes all topics to have 5 partitions
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		cl := h.Client()
		if _, err := kadm.NewClient(cl).CreateTopics(context.Background(), 3, 1, nil, "keyed", "own"); err != nil {
			t.Fatal(err)
		}
		own := func(key []byte, n int32) int32 { return int32(key[len(key)-1]-'0') % n }
		outputs := []stream.Output{{Name: "by key", Topic: "keyed"}, {Name: "by digit", Topic: "own", Partitioner: own}, {Topic: "out"}}
		proc := h.StartWith("a", processors.Config{Workers: 2}, echoing(outputs, func(ch *stream.Changes, r stream.Record) {
			ch.Emit("by key", stream.Message{Key: r.Key, Value: r.Value, Headers: []stream.Header{{Key: "h", Value: r.Value}}, TimeMs: 1_000_000})
			ch.Emit("by digit", stream.Message{Key: r.Key, Value: r.Value})
			ch.Emit("by key", stream.Message{Value: r.Value})
			ch.EmitTo("out", 4, stream.Message{Key: r.Key, Value: r.Value})
		}))
		began, total := time.Now(), 0
		for p := range int32(5) {
			for i := range 20 {
				r := &kgo.Record{Topic: "in", Partition: p, Key: fmt.Appendf(nil, "key-%d", i%7), Value: fmt.Appendf(nil, "%d/%02d", p, i)}
				h.Send(r)
				total++
			}
		}
		h.WaitFor("all outputs are written", time.Minute, func() bool { return len(h.Records("out")) == total })
		proc.Stop()
		keyed, digits, explicit := h.Records("keyed"), h.Records("own"), h.Records("out")
		if len(keyed) != 2*total || len(digits) != total {
			t.Fatalf("%d and %d records, want %d and %d", len(keyed), len(digits), 2*total, total)
		}
		last := map[string]string{} // by topic, partition and source
		for _, r := range slices.Concat(keyed, digits, explicit) {
			task := int32(r.Value[0] - '0')
			want := int32(4)
			switch {
			case r.Topic == "keyed" && r.Key == nil:
				want = task % 3
			case r.Topic == "keyed":
				want = stream.Murmur2(r.Key, 3)
				if len(r.Headers) != 1 || r.Headers[0].Key != "h" || string(r.Headers[0].Value) != string(r.Value) || r.Timestamp.UnixMilli() != 1_000_000 {
					t.Errorf("%s has headers %v and time %d", r.Value, r.Headers, r.Timestamp.UnixMilli())
				}
			case r.Topic == "own":
				want = own(r.Key, 3)
			}
			if r.Partition != want {
				t.Errorf("%s: record %s with key %q is in partition %d, want %d", r.Topic, r.Value, r.Key, r.Partition, want)
			}
			if r.Topic != "keyed" && (len(r.Headers) > 0 || r.Timestamp.Before(began.Truncate(time.Millisecond)) || r.Timestamp.After(time.Now())) {
				t.Errorf("%s: record %s has headers %v and time %s", r.Topic, r.Value, r.Headers, r.Timestamp)
			}
			from := fmt.Sprintf("%s/%d/%q/%d", r.Topic, r.Partition, r.Key, task)
			if string(r.Value) <= last[from] {
				t.Errorf("%s: %s comes after %s", from, r.Value, last[from])
			}
			last[from] = string(r.Value)
		}
	})
}

// TestOutputErrors: an output that no broker will ever accept stops its partition alone. The reason
// states what to change.
func TestOutputErrors(t *testing.T) {
	for what, x := range map[string]struct {
		emit func(ch *stream.Changes)
		want string
	}{
		"unknown output": {func(ch *stream.Changes) { ch.Emit("in", stream.Message{}) }, `emit to output "in", which the processor does not declare: its outputs are "results", "wild"`},
		"out of range":   {func(ch *stream.Changes) { ch.EmitTo("results", 2, stream.Message{}) }, `emit to partition 2 of output "results": its topic out has 2 partitions`},
		"negative":       {func(ch *stream.Changes) { ch.EmitTo("results", -2, stream.Message{}) }, `emit to partition -2 of output "results"`},
		"partitioner":    {func(ch *stream.Changes) { ch.Emit("wild", stream.Message{Key: []byte("k")}) }, `the partitioner of output "wild" (topic in2) chose partition 7 of 2`},
	} {
		t.Run(what, func(t *testing.T) {
			outputs := []stream.Output{{Name: "results", Topic: "out"}, {Name: "wild", Topic: "in2", Partitioner: func([]byte, int32) int32 { return 7 }}}
			o := ledgerOptions(2)
			o.Processor = echoing(outputs, func(ch *stream.Changes, r stream.Record) {
				if string(r.Value) == "wrong" {
					x.emit(ch)
				}
			})
			processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
				p := h.Start("a")
				h.Produce("in", 0, "k", "wrong")
				h.WaitFor("partition 0 is stopped", time.Minute, func() bool { return p.Status(0).State == "stopped" })
				h.Produce("in", 1, "k", "fine")
				h.WaitFor("partition 1 continues", time.Minute, func() bool { return p.Status(1).Next["in"] == 1 })
				if why := p.Status(0).Reason; !strings.Contains(why, x.want) {
					t.Errorf("the reason is %s", why)
				}
			})
		})
	}
}
