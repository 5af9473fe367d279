package processorstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/stream"
)

// refold folds all records of each partition with one undisturbed handler, in the transactions of
// the markers, and compares its state and outputs with the topics.
func (h *Harness) refold(ctx context.Context, log []*kgo.Record) error {
	proc := &h.options.Processor
	inputs, err := h.inputs(ctx)
	if err != nil {
		return err
	}
	outputs := map[string]int{} // by output: how many more the handler wrote than the topic has
	for p := range h.parts {
		f := &refolder{proc: proc, p: p, parts: h.parts, state: map[string]string{}, from: map[string]int64{}, inputs: inputs[p], outputs: outputs}
		timed, err := f.run(log)
		if timed || err != nil {
			return err
		}
	}
	for _, topic := range outputTopics(proc) {
		records, err := h.sim.Read(ctx, topic)
		if err != nil {
			return err
		}
		for _, r := range records {
			outputs[output(topic, r.Partition, r.Key, r.Value)]--
		}
	}
	var errs []error
	for _, o := range slices.Sorted(maps.Keys(outputs)) {
		switch n := outputs[o]; {
		case n > 0:
			errs = append(errs, fmt.Errorf("I1: output %s is missing %d times", o, n))
		case n < 0:
			errs = append(errs, fmt.Errorf("I6: output %s exists %d times more than in a run without faults", o, -n))
		}
	}
	return firstErrors(errs)
}

// outputTopics returns the topics of the outputs, each once.
func outputTopics(proc *stream.Processor) (topics []string) {
	for i := range proc.Outputs {
		if !slices.Contains(topics, proc.Outputs[i].Topic) {
			topics = append(topics, proc.Outputs[i].Topic)
		}
	}
	return topics
}

// inputs returns the records to fold, by partition and topic. Dead letters are left out.
func (h *Harness) inputs(ctx context.Context) (map[int32]map[string][]stream.Record, error) {
	letters := map[string]bool{}
	list, err := h.sim.Read(ctx, h.options.Processor.DLQ)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, r := range list {
		if letters[string(r.Key)] {
			errs = append(errs, fmt.Errorf("I1: %s is a dead letter twice", r.Key))
		}
		letters[string(r.Key)] = true
	}
	out := map[int32]map[string][]stream.Record{}
	for p := range h.parts {
		out[p] = map[string][]stream.Record{}
	}
	for _, topic := range h.options.Processor.Inputs {
		list, err := h.sim.Read(ctx, topic)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			rec := stream.Record{Key: r.Key, Value: r.Value, Offset: r.Offset, TimeMs: r.Timestamp.UnixMilli()}
			for _, h := range r.Headers {
				rec.Headers = append(rec.Headers, stream.Header{Key: h.Key, Value: h.Value})
			}
			if name := fmt.Sprintf("%s/%d/%d", topic, r.Partition, r.Offset); !letters[name] {
				out[r.Partition][topic] = append(out[r.Partition][topic], rec)
			} else {
				delete(letters, name)
			}
		}
	}
	return out, firstErrors(errs)
}

// refolder folds the records of one partition.
type refolder struct {
	proc    *stream.Processor
	p       int32
	parts   int32             // of every topic
	state   map[string]string // table and key, local tables too
	from    map[string]int64
	inputs  map[string][]stream.Record
	outputs map[string]int
}

// run folds every transaction. A handler with timers is not folded: timed is true then.
func (f *refolder) run(log []*kgo.Record) (timed bool, err error) {
	task := stream.Task{Partition: f.p, OwnerEpoch: 1, Next: map[string]int64{}, Get: f.get, Scan: f.scan, Range: f.scanRange, Timers: noTimers{}}
	h, err := f.proc.New(task)
	if err != nil {
		return false, fmt.Errorf("partition %d: make a handler to compare with: %w", f.p, err)
	}
	defer handler.Close(h)
	if _, timed := h.(stream.TimerHandler); timed {
		return true, nil
	}
	logged := map[string]string{}
	for _, r := range log {
		if r.Partition != f.p {
			continue
		}
		m, err := changelogpb.DecodeMarker(r.Key, r.Value)
		switch {
		case err != nil:
			return false, err
		case m != nil:
			if err := f.transaction(h, m); err != nil {
				return false, fmt.Errorf("partition %d, transaction %d: %w", f.p, m.GetSequence(), err)
			}
		case changelogpb.IsSystem(r.Key):
		case r.Value == nil:
			delete(logged, string(r.Key))
		default:
			logged[string(r.Key)] = string(r.Value)
		}
	}
	maps.DeleteFunc(f.state, func(k, _ string) bool { return k[0] >= stream.FirstLocalTable })
	return false, f.compare(logged)
}

// transaction folds the records of one transaction and applies the changes of the handler.
func (f *refolder) transaction(h stream.Handler, m *changelogpb.Marker) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("I1: the handler panics, and the dead-letter topic has no such record: %v\n%s", v, debug.Stack())
		}
	}()
	next := positions(m)
	for _, topic := range f.proc.Inputs {
		for _, r := range f.inputs[topic] {
			if r.Offset < f.from[topic] || r.Offset >= next[topic] {
				continue
			}
			// One record a batch: the result must not depend on how records are batched.
			b := &stream.Batch{Topic: topic, Partition: f.p, NowMs: m.GetWrittenAtMs(), Records: []stream.Record{r}}
			if err := h.Fold(b); err != nil {
				return fmt.Errorf("fold: %w", err)
			}
			if len(b.Rejects) > 0 {
				return fmt.Errorf("I1: the handler rejects %s[%d]@%d (%s), and the dead-letter topic does not have it", topic, f.p, r.Offset, b.Rejects[0].Reason)
			}
		}
		f.from[topic] = next[topic]
	}
	var ch stream.Changes
	ch.SetOutputs(f.proc.Outputs)
	if err := h.Flush(stream.Commit{NowMs: m.GetWrittenAtMs(), OwnerEpoch: m.GetOwnerEpoch(), Sequence: m.GetSequence(), Next: next}, &ch); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if err := ch.Err(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	f.apply(&ch)
	return nil
}

func (f *refolder) apply(ch *stream.Changes) {
	for i := range ch.List {
		c := &ch.List[i]
		key := changelogKey(c.Table, c.Key)
		switch c.Op {
		case stream.OpPut:
			f.state[key] = string(c.Value)
		case stream.OpDelete:
			delete(f.state, key)
		case stream.OpDeleteRange:
			end := changelogKey(c.Table, c.Value)
			maps.DeleteFunc(f.state, func(k, _ string) bool { return k >= key && k < end })
		case stream.OpEmit:
			f.outputs[output(c.To.Output.Topic, c.To.PartitionOf(c.Key, f.p, f.parts), c.Key, c.Value)]++
		}
	}
}

func (f *refolder) compare(logged map[string]string) error {
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(f.state)) {
		if got, ok := logged[k]; !ok || got != f.state[k] {
			errs = append(errs, fmt.Errorf("I2: partition %d, table %d, key %q is %q, and a run without faults ends with %q", f.p, k[0], k[1:], got, f.state[k]))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(logged)) {
		if _, ok := f.state[k]; !ok {
			errs = append(errs, fmt.Errorf("I2: partition %d, table %d, key %q is %q, and a run without faults ends without it", f.p, k[0], k[1:], logged[k]))
		}
	}
	return firstErrors(errs)
}

func (f *refolder) get(table byte, key []byte) ([]byte, error) {
	if v, ok := f.state[changelogKey(table, key)]; ok {
		return append([]byte{}, v...), nil
	}
	return nil, nil
}

func (f *refolder) scan(table byte, prefix []byte, fn func(key, value []byte) error) error {
	from := changelogKey(table, prefix)
	for _, k := range slices.Sorted(maps.Keys(f.state)) {
		if strings.HasPrefix(k, from) {
			if err := fn([]byte(k[1:]), []byte(f.state[k])); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *refolder) scanRange(table byte, from, to []byte, fn func(key, value []byte) error) error {
	return f.scan(table, nil, func(key, value []byte) error {
		if string(key) < string(from) || to != nil && string(key) >= string(to) {
			return nil
		}
		return fn(key, value)
	})
}

// noTimers is for handlers without OnTimer, which set none.
type noTimers struct{}

func (noTimers) Set(stream.Timer)    {}
func (noTimers) Cancel(stream.Timer) {}

// output describes an output record.
func output(topic string, p int32, key, value []byte) string {
	return topic + "[" + strconv.Itoa(int(p)) + "] " + strconv.Quote(string(key)) + "=" + strconv.Quote(string(value))
}

// firstErrors keeps the first eight errors: one bug can break thousands of keys.
func firstErrors(errs []error) error {
	if len(errs) > 8 {
		errs = append(errs[:8:8], fmt.Errorf("and %d more", len(errs)-8))
	}
	return errors.Join(errs...)
}
