package streamtest

import (
	"bytes"
	"cmp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/authored"
	"github.com/weirhq/weir/stream/watermark"
)

// Options select what runs.
type Options struct {
	// Processor is what runs. Fields that a test does not need may be empty: App defaults to
	// "test", Inputs to "in" if there is no On. Where Outputs is nil, records may be emitted to any
	// output.
	Processor stream.Processor
	// Partition is the number of the task.
	Partition int32
}

// Runner is one task with its inputs and its state. An error of the handler fails the test.
type Runner struct {
	tb        testing.TB
	processor stream.Processor
	partition int32
	open      bool // any output may be emitted to

	handler   stream.Handler
	inputs    map[string]*input
	state     tables
	timers    timers
	watermark *watermark.Watermark
	markMs    int64 // committed watermark
	nowMs     int64 // wall time, as of the last Commit
	folded    bool  // records are folded in the open transaction
	commits   uint64
	woken     *atomic.Bool // the handler requested a commit
	changes   stream.Changes

	rejects  []Reject // of the open transaction
	rejected []Reject // committed
	outputs  []stream.Change
	counts   map[string]float64 // committed
}

// Reject is a record that the handler refused.
type Reject struct {
	Topic          string
	Offset         int64
	Reason, Detail string
}

// New makes a task without records and state.
func New(tb testing.TB, o Options) *Runner {
	tb.Helper()
	p := o.Processor
	p.App = cmp.Or(p.App, "test")
	if len(p.Inputs) == 0 && len(p.On) == 0 {
		p.Inputs = []string{"in"}
	}
	r := &Runner{
		tb: tb, partition: o.Partition, open: p.Outputs == nil,
		inputs: map[string]*input{}, state: tables{}, timers: newTimers(), counts: map[string]float64{},
	}
	if err := p.Complete(); err != nil {
		tb.Fatal(err)
	}
	for _, topic := range p.Inputs {
		r.inputs[topic] = &input{topic: topic}
	}
	r.processor = p
	r.Crash()
	return r
}

// Append adds records with these values to the first input. They have no key and time 0.
func (r *Runner) Append(values ...[]byte) {
	r.tb.Helper()
	for _, v := range values {
		r.AppendTo(r.processor.Inputs[0], stream.Record{Value: v})
	}
}

// AppendTo adds records to an input. It sets their offsets, from 0 on.
func (r *Runner) AppendTo(topic string, records ...stream.Record) {
	r.tb.Helper()
	in := r.input(topic)
	for _, x := range records {
		x.Offset = int64(len(in.records))
		in.records = append(in.records, x)
	}
}

// Remaining is the number of records that the handler has not seen, of all inputs.
func (r *Runner) Remaining() (n int) {
	for _, in := range r.inputs {
		n += in.remaining()
	}
	return n
}

// FoldAll passes the handler all remaining records: input by input in the order of
// Processor.Inputs, each input as one batch.
func (r *Runner) FoldAll() {
	r.tb.Helper()
	r.Fold(r.Remaining())
}

// Fold passes the handler up to n remaining records: input by input in the order of
// Processor.Inputs, each input as one batch.
func (r *Runner) Fold(n int) {
	r.tb.Helper()
	for _, topic := range r.processor.Inputs {
		n -= r.FoldFrom(topic, n)
	}
}

// FoldFrom passes the handler up to n remaining records of one input, as one batch, and returns how
// many there were. Timers of event time that become due fire between the records.
func (r *Runner) FoldFrom(topic string, n int) int {
	r.tb.Helper()
	records := r.input(topic).take(n)
	now, from := time.UnixMilli(r.nowMs), 0
	if len(records) > 0 {
		r.watermark.Active(topic, now)
		r.folded = true
	}
	for i := range records {
		beforeMs := r.watermark.Ms()
		if r.watermark.Observe(topic, r.processor.Time.Of(topic, &records[i])) && r.watermark.Advance(now) {
			r.fold(topic, records[from:i], beforeMs)
			r.fire(stream.EventTime, r.watermark.Ms())
			from = i
		}
	}
	r.fold(topic, records[from:], r.watermark.Ms())
	return len(records)
}

// fold passes the handler a batch of copies, and overwrites them afterwards: a handler must not
// keep a record's memory.
func (r *Runner) fold(topic string, records []stream.Record, watermarkMs int64) {
	r.tb.Helper()
	if len(records) == 0 {
		return
	}
	b := stream.Batch{Topic: topic, Partition: r.partition, NowMs: r.nowMs, WatermarkMs: watermarkMs, Records: slices.Clone(records)}
	for i := range b.Records {
		x := &b.Records[i]
		x.Key, x.Value, x.Headers = bytes.Clone(x.Key), bytes.Clone(x.Value), slices.Clone(x.Headers)
	}
	if err := r.handler.Fold(&b); err != nil {
		r.tb.Fatalf("fold %s from offset %d: %v", topic, records[0].Offset, err)
	}
	for _, x := range b.Rejects {
		r.rejects = append(r.rejects, Reject{Topic: topic, Offset: records[x.Index].Offset, Reason: x.Reason, Detail: x.Detail})
	}
	for i := range b.Records {
		clear(b.Records[i].Key)
		clear(b.Records[i].Value)
	}
}

// Crash discards the handler and everything that is not committed, and makes a new handler.
func (r *Runner) Crash() {
	r.tb.Helper()
	if c, ok := r.handler.(stream.Closer); ok {
		c.Close()
	}
	r.timers.crash()
	for _, in := range r.inputs {
		in.next = in.committed
	}
	r.rejects, r.folded = nil, false
	times := r.processor.Time
	r.watermark = watermark.New(
		watermark.Config{Grain: times.Grain, Lateness: times.Lateness, Idle: times.Idle},
		r.processor.Inputs, r.markMs, time.UnixMilli(r.nowMs))
	r.changes = stream.Changes{}
	if !r.open {
		r.changes.SetOutputs(r.processor.Outputs)
	}
	woken := &atomic.Bool{} // of this handler: an earlier one has no effect
	r.woken = woken
	var err error
	r.handler, err = r.processor.New(stream.Task{
		Partition: r.partition, OwnerEpoch: 1, Next: r.next(),
		Get: r.state.get, MultiGet: stream.Get(r.state.get).Multi(), Scan: r.state.scan, Range: r.state.scanRange, Timers: &r.timers,
		Wake: func() { woken.Store(true) },
	})
	if err != nil {
		r.tb.Fatalf("make the handler: %v", err)
	}
}

// Handler is the handler that was made last.
func (r *Runner) Handler() stream.Handler { return r.handler }

// Woken reports whether the handler has called Task.Wake since the last Commit or Abort. The
// runtime would commit now; a Runner commits when the test calls Commit.
func (r *Runner) Woken() bool { return r.woken.Load() }

// Ask calls fn with the handler as processors.Ask does: H is the type that Processor.New makes, the
// Source of stream.FromSource, or *stream.Context for stream.EachRecord.
func Ask[H any](r *Runner, fn func(H) error) error { return authored.Ask(r.handler, fn) }

// input returns an input of the processor.
func (r *Runner) input(topic string) *input {
	r.tb.Helper()
	in := r.inputs[topic]
	if in == nil {
		r.tb.Fatalf("topic %q is not an input of the processor: its inputs are %q", topic, r.processor.Inputs)
	}
	return in
}

// next returns the offsets of the next records by topic.
func (r *Runner) next() map[string]int64 {
	next := map[string]int64{}
	for topic, in := range r.inputs {
		next[topic] = in.next
	}
	return next
}
