package streamtest

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/weirhq/weir/stream"
)

// Core is what the runtime calls. One that has Fire is called for its timers, too.
type Core interface {
	Fold(b *stream.Batch) error
	Flush(c stream.Commit, ch *stream.Changes) error
}

type timerHandler interface {
	OnTimer(nowMs int64, due []stream.Timer) error
}

// Options say what runs.
type Options struct {
	Topic     string
	Partition int32
	Make      func(stream.Task) (Core, error)
}

// Runner is one task. Errors of the core end the test.
type Runner struct {
	tb       testing.TB
	options  Options
	core     Core
	input    []stream.Record
	next     int64 // folded
	done     int64 // committed
	tables   map[byte]map[string][]byte
	timers   timers
	rejects  []stream.Reject // of the open transaction, by offset
	out      []stream.Change
	rejected []stream.Reject
	commits  uint64
	changes  stream.Changes
}

// New makes a task that has seen nothing.
func New(tb testing.TB, o Options) *Runner {
	tb.Helper()
	r := &Runner{tb: tb, options: o, tables: map[byte]map[string][]byte{}, timers: newTimers(tb)}
	r.Crash()
	return r
}

// Append adds records to the input.
func (r *Runner) Append(values ...[]byte) {
	for _, v := range values {
		r.input = append(r.input, stream.Record{Value: v, Offset: int64(len(r.input))})
	}
}

// Remaining is how many records the core has not seen.
func (r *Runner) Remaining() int { return len(r.input) - int(r.next) }

// Fold gives the core up to n records of the input, as one batch.
func (r *Runner) Fold(n int) {
	r.tb.Helper()
	n = min(n, r.Remaining())
	if n <= 0 {
		return
	}
	b := stream.Batch{Topic: r.options.Topic, Partition: r.options.Partition, Records: slices.Clone(r.input[r.next : r.next+int64(n)])}
	for i := range b.Records { // the core may keep nothing of them
		b.Records[i].Value = bytes.Clone(b.Records[i].Value)
	}
	if err := r.core.Fold(&b); err != nil {
		r.tb.Fatalf("fold: %v", err)
	}
	for i := range b.Records {
		clear(b.Records[i].Value)
	}
	for _, x := range b.Rejects {
		x.Index += int(r.next)
		r.rejects = append(r.rejects, x)
	}
	r.next += int64(n)
}

// Commit fires what is due at nowMs, flushes and applies.
func (r *Runner) Commit(nowMs int64) {
	r.tb.Helper()
	r.flush(nowMs)
	for _, c := range r.changes.List {
		switch c.Op {
		case stream.OpEmit:
			r.out = append(r.out, kept(c))
		case stream.OpPut:
			r.table(c.Table)[string(c.Key)] = append([]byte{}, c.Value...)
		case stream.OpDelete:
			delete(r.table(c.Table), string(c.Key))
		case stream.OpDeleteRange:
			maps.DeleteFunc(r.table(c.Table), func(k string, _ []byte) bool { return k >= string(c.Key) && k < string(c.Value) })
		}
	}
	r.timers.commit()
	r.rejected, r.rejects = append(r.rejected, r.rejects...), nil
	r.done = r.next
	r.commits++
}

// kept is a copy of an emitted change that outlives the transaction.
func kept(c stream.Change) stream.Change {
	to := *c.To
	to.Headers = slices.Clone(to.Headers)
	for i := range to.Headers {
		to.Headers[i].Value = bytes.Clone(to.Headers[i].Value)
	}
	c.Key, c.Value, c.To = bytes.Clone(c.Key), bytes.Clone(c.Value), &to
	return c
}

// Abort does what Commit does up to the last moment, and crashes.
func (r *Runner) Abort(nowMs int64) {
	r.tb.Helper()
	r.flush(nowMs)
	r.Crash()
}

// flush is a commit without applying it.
func (r *Runner) flush(nowMs int64) {
	r.tb.Helper()
	const most = 1000
	for n := 0; ; n++ {
		due := r.timers.due(nowMs, 4096)
		if len(due) == 0 {
			break
		}
		if n == most {
			r.tb.Fatalf("after %d rounds timers are due at %d still: %v", most, nowMs, due[0])
		}
		if err := r.core.(timerHandler).OnTimer(nowMs, due); err != nil { //nolint:errcheck // only a core with Fire sets timers
			r.tb.Fatalf("fire: %v", err)
		}
	}
	r.changes.Reset()
	c := stream.Commit{NowMs: nowMs, Sequence: r.commits + 1, Next: map[string]int64{r.options.Topic: r.next}}
	if err := r.core.Flush(c, &r.changes); err != nil {
		r.tb.Fatalf("flush: %v", err)
	}
	if err := r.changes.Err(); err != nil {
		r.tb.Fatalf("flush: %v", err)
	}
}

// Crash throws the core and all that is not committed away, and makes a new one.
func (r *Runner) Crash() {
	r.tb.Helper()
	r.timers.crash()
	r.next, r.rejects = r.done, nil
	t := stream.Task{Partition: r.options.Partition, Next: map[string]int64{r.options.Topic: r.done}, Get: r.get, Scan: r.scan, Range: r.scanRange, Timers: &r.timers}
	var err error
	if r.core, err = r.options.Make(t); err != nil {
		r.tb.Fatalf("make the core: %v", err)
	}
}

func (r *Runner) get(table byte, key []byte) ([]byte, error) {
	return clone(r.tables[table][string(key)]), nil
}

// clone keeps nil and empty apart.
func clone(v []byte) []byte {
	if v == nil {
		return nil
	}
	return append([]byte{}, v...)
}

func (r *Runner) scan(table byte, prefix []byte, fn func(key, value []byte) error) error {
	for _, k := range slices.Sorted(maps.Keys(r.tables[table])) {
		if !bytes.HasPrefix([]byte(k), prefix) {
			continue
		}
		if err := fn([]byte(k), r.tables[table][k]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) scanRange(table byte, from, to []byte, fn func(key, value []byte) error) error {
	return r.scan(table, nil, func(key, value []byte) error {
		if bytes.Compare(key, from) < 0 || to != nil && bytes.Compare(key, to) >= 0 {
			return nil
		}
		return fn(key, value)
	})
}

func (r *Runner) table(n byte) map[string][]byte {
	if r.tables[n] == nil {
		r.tables[n] = map[string][]byte{}
	}
	return r.tables[n]
}

// Core is the core as it was made last.
func (r *Runner) Core() Core { return r.core }

// Table is what is committed of a table. It must not be changed.
func (r *Runner) Table(n byte) map[string][]byte { return r.table(n) }

// Timers are the committed timers, in order of time and key.
func (r *Runner) Timers() []stream.Timer { return r.timers.list() }

// NextTimer is when the next committed timer is due.
func (r *Runner) NextTimer() (ms int64, ok bool) { return r.timers.nextMs() }

// TakeOutputs gives what was written to outputs since the last call, in order.
func (r *Runner) TakeOutputs() []stream.Change {
	out := r.out
	r.out = nil
	return out
}

// TakeRejects gives the records that were refused since the last call; Index is the offset.
func (r *Runner) TakeRejects() []stream.Reject {
	list := r.rejected
	r.rejected = nil
	return list
}
