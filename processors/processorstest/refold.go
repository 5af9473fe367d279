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
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/watermark"
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
		f := &refolder{proc: proc, p: p, parts: h.parts, inputs: inputs[p], outputs: outputs}
		if err := f.run(log); err != nil {
			return err
		}
	}
	for _, topic := range outputTopics(proc) {
		records, err := h.sim.Read(ctx, topic)
		if err != nil {
			return err
		}
		for _, r := range records {
			if h.options.Own == nil || h.options.Own(r) {
				outputs[output(topic, r.Partition, r.Key, r.Value)]--
			}
		}
	}
	var errs []error
	for _, o := range slices.Sorted(maps.Keys(outputs)) {
		switch n := outputs[o]; {
		case n > 0:
			errs = append(errs, fmt.Errorf("RUN-1: output %s is missing %d times", o, n))
		case n < 0:
			errs = append(errs, fmt.Errorf("RUN-6: output %s exists %d times more than in a run without faults", o, -n))
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

// refoldRecord is a record of an input.
type refoldRecord struct {
	stream.Record
	letter   bool // it is a dead letter
	panicked bool // because the handler panicked
}

// inputs returns the records of the inputs, by partition and topic.
func (h *Harness) inputs(ctx context.Context) (map[int32]map[string][]refoldRecord, error) {
	letters := map[string]string{} // by origin: the reason
	list, err := h.sim.Read(ctx, h.options.Processor.DLQ)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, r := range list {
		if letters[string(r.Key)] != "" {
			errs = append(errs, fmt.Errorf("RUN-1: %s is a dead letter twice", r.Key))
		}
		letters[string(r.Key)] = header(r, processors.HeaderReason)
	}
	out := map[int32]map[string][]refoldRecord{}
	for p := range h.parts {
		out[p] = map[string][]refoldRecord{}
	}
	for _, topic := range h.options.Processor.Inputs {
		list, err := h.sim.Read(ctx, topic)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			rec := refoldRecord{Record: stream.Record{Key: r.Key, Value: r.Value, Offset: r.Offset, TimeMs: r.Timestamp.UnixMilli()}}
			for _, h := range r.Headers {
				rec.Headers = append(rec.Headers, stream.Header{Key: h.Key, Value: h.Value})
			}
			reason := letters[fmt.Sprintf("%s/%d/%d", topic, r.Partition, r.Offset)]
			rec.letter, rec.panicked = reason != "", reason == "panic"
			out[r.Partition][topic] = append(out[r.Partition][topic], rec)
		}
	}
	return out, firstErrors(errs)
}

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// refolder folds the records of one partition.
type refolder struct {
	proc    *stream.Processor
	p       int32
	parts   int32                     // of every topic
	state   map[string]string         // table and key, local tables too
	logged  map[string]string         // the state by the changelog
	changed map[string]bool           // keys that the open transaction changes in state or in logged
	inputs  map[string][]refoldRecord // those not folded yet
	outputs map[string]int
	timers  refoldTimers
	began   time.Time
}

// run folds every transaction, and compares what it changes with the changelog.
func (f *refolder) run(log []*kgo.Record) error {
	f.state, f.logged, f.changed, f.began = map[string]string{}, map[string]string{}, map[string]bool{}, time.Now()
	c := watermark.Config{Grain: f.proc.Time.Grain, Lateness: f.proc.Time.Lateness, Idle: f.proc.Time.Idle}
	f.timers = refoldTimers{
		refolder: f, set: map[string]bool{}, fresh: map[string]bool{}, watermark: watermark.New(c, f.proc.Inputs, 0, f.began),
	}
	task := stream.Task{
		Partition: f.p, OwnerEpoch: 1, Next: map[string]int64{}, Get: f.get, MultiGet: stream.Get(f.get).Multi(), Scan: f.scan,
		Range: f.scanRange, Timers: &f.timers, Wake: func() {},
	}
	h, err := f.proc.New(task)
	if err != nil {
		return fmt.Errorf("partition %d: make a handler to compare with: %w", f.p, err)
	}
	defer handler.Close(h)
	removed := map[string]bool{} // by the open transaction
	for _, r := range log {
		if r.Partition != f.p {
			continue
		}
		m, err := changelogpb.DecodeMarker(r.Key, r.Value)
		switch key := string(r.Key); {
		case err != nil:
			return err
		case m != nil:
			if err := f.transaction(h, m, removed); err != nil {
				return fmt.Errorf("partition %d, transaction %d: %w", f.p, m.GetSequence(), err)
			}
			clear(removed)
		case changelogpb.IsSystem(r.Key):
		case r.Value == nil:
			delete(f.logged, key)
			f.changed[key], removed[key] = true, true
		default:
			f.logged[key] = string(r.Value)
			f.changed[key] = true
		}
	}
	return f.compare("the end")
}

// transaction folds the records of one transaction, fires its timers, applies the changes of the
// handler, and compares them with the changelog.
func (f *refolder) transaction(h stream.Handler, m *changelogpb.Marker, removed map[string]bool) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("RUN-1: the handler panics, and the dead-letter topic has no such record: %v\n%s", v, debug.Stack())
		}
	}()
	next := positions(m)
	folded, err := f.fold(h, m, next)
	if err != nil {
		return err
	}
	if err := f.timers.endTransaction(h, m, folded, removed); err != nil {
		return fmt.Errorf("OnTimer: %w", err)
	}
	var ch stream.Changes
	ch.SetOutputs(f.proc.Outputs)
	if err := h.Flush(
		stream.Commit{
			NowMs: m.GetWrittenAtMs(), Incarnation: m.GetIncarnation(), OwnerEpoch: m.GetOwnerEpoch(), Sequence: m.GetSequence(),
			Next: next,
		}, &ch); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if err := ch.Err(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	f.apply(&ch)
	f.timers.committed(m)
	if l, ok := h.(stream.CommitListener); ok {
		l.Committed(m.GetSequence())
	}
	return f.compare(fmt.Sprintf("transaction %d", m.GetSequence()))
}

// fold folds the records of the transaction of m. It returns how many the runtime has folded.
func (f *refolder) fold(h stream.Handler, m *changelogpb.Marker, next map[string]int64) (folded int, err error) {
	for _, topic := range f.proc.Inputs {
		for list := f.inputs[topic]; len(list) > 0 && list[0].Offset < next[topic]; list = list[1:] {
			r := &list[0]
			f.inputs[topic] = list[1:]
			if err := f.timers.observe(h, topic, &r.Record); err != nil {
				return 0, fmt.Errorf("OnTimer: %w", err)
			}
			if !r.panicked {
				folded++
			}
			if r.letter {
				continue
			}
			// One record per batch: the result must not depend on how records are batched.
			b := &stream.Batch{
				Topic: topic, Partition: f.p, NowMs: m.GetWrittenAtMs(), WatermarkMs: f.timers.watermarkMs(),
				Records: []stream.Record{r.Record},
			}
			if err := h.Fold(b); err != nil {
				return 0, fmt.Errorf("fold: %w", err)
			}
			if len(b.Rejects) > 0 {
				return 0, fmt.Errorf("RUN-1: the handler rejects %s[%d]@%d (%s), and the dead-letter topic does not have it", topic, f.p,
					r.Offset, b.Rejects[0].Reason)
			}
		}
	}
	return folded, nil
}

func (f *refolder) put(key, value string) { f.state[key], f.changed[key] = value, true }

func (f *refolder) remove(key string) {
	delete(f.state, key)
	f.changed[key] = true
}

func (f *refolder) apply(ch *stream.Changes) {
	for i := range ch.List {
		c := &ch.List[i]
		key := changelogKey(c.Table, c.Key)
		switch c.Op {
		case stream.OpPut:
			f.put(key, string(c.Value))
		case stream.OpDelete:
			f.remove(key)
		case stream.OpDeleteRange:
			end := changelogKey(c.Table, c.Value)
			for k := range f.state {
				if k >= key && k < end {
					f.remove(k)
				}
			}
		case stream.OpEmit:
			f.outputs[output(c.To.Output.Topic, c.To.PartitionOf(c.Key, f.p, f.parts), c.Key, c.Value)]++
		}
	}
}

// compare compares the changed keys with the changelog, and forgets them.
func (f *refolder) compare(at string) error {
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(f.changed)) {
		got, logged := f.logged[k]
		want, exists := f.state[k]
		switch where := fmt.Sprintf("RUN-2: partition %d, table %d, key %q, at %s", f.p, k[0], k[1:], at); {
		case k[0] >= stream.FirstLocalTable, logged == exists && got == want:
		case !exists:
			errs = append(errs, fmt.Errorf("%s: it is %q, and a run without faults ends without it", where, got))
		case !logged:
			errs = append(errs, fmt.Errorf("%s: it does not exist, and a run without faults ends with %q", where, want))
		default:
			errs = append(errs, fmt.Errorf("%s: it is %q, and a run without faults ends with %q", where, got, want))
		}
	}
	clear(f.changed)
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
