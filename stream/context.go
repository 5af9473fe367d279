package stream

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/weirhq/weir/stream/internal/plumbing"
)

// ErrStopScan ends a scan without an error: the function of Context.Scan, Context.Range or a scan
// of state.Table returns it.
var ErrStopScan = errors.New("stop the scan")

// Context is what a record function works with: the state of its task, its outputs and timers. It
// is valid until the function returns. See EachRecord.
//
// Everything done through a Context is part of the open transaction: it is committed together with
// the record, or not at all. What the function did for a record that it refuses is undone.
//
// Package stream/state has typed tables. Get, Put, Delete, Scan and Range know tables by numbers
// from 1 to 126.
type Context struct {
	tableNames
	task        Task
	topic       string
	nowMs       int64
	watermarkMs int64                                     // of the batch; 0: unknown
	timed       bool                                      // timers without a kind have a function
	kinds       map[TimerKind]func(*Context, Timer) error // of the functions of OnTimer; nil: timers have no kind

	state    openTables
	out      Changes // records to be written
	outStart int     // of the current record, in out.List
	timers   []timerChange
	past     []Timer // set at or below watermarkMs: they fire next
	counts   []count
	encoded  []byte // of TypedOutput: room
	err      error  // misuse in the current record
}

// tableNames is for package state.
type tableNames = plumbing.TableNames

type count struct {
	name string
	n    float64
}

type timerChange struct {
	timer Timer
	set   bool
}

// Partition is the number of the task, and of the record's partition.
func (c *Context) Partition() int32 { return c.task.Partition }

// Topic is the input topic of the record, "" in a timer function and in a question.
func (c *Context) Topic() string { return c.topic }

// NowMs is a time in Unix ms. In a record function it is the time of day when the record was
// polled: use it for health figures only, never for state or outputs, because another attempt at
// the same record has another time. In a timer function it is the watermark or the time of day by
// which the timer fires. In a question it is 0.
func (c *Context) NowMs() int64 { return c.nowMs }

// Get returns the value of key in table, nil if it has none. It sees what earlier records and this
// one changed. The slice must not be modified. It is valid until the function changes the key or
// returns.
func (c *Context) Get(table byte, key []byte) ([]byte, error) {
	if err := c.check(table); err != nil {
		return nil, err
	}
	v, err := c.state.get(table, key)
	if err != nil {
		return nil, fmt.Errorf("read table %d: %w", table, err)
	}
	return v, nil
}

// Put sets key in table to value. Both are copied.
func (c *Context) Put(table byte, key, value []byte) {
	if c.check(table) == nil {
		c.state.change(table, key, rowPut, value)
	}
}

// Delete removes key from table. It is not an error if table does not have it.
func (c *Context) Delete(table byte, key []byte) {
	if c.check(table) == nil {
		c.state.change(table, key, rowDeleted, nil)
	}
}

// Scan calls fn for each key of table that begins with prefix, in order of the keys, until fn
// returns an error, which it returns; ErrStopScan ends it without an error. It sees what earlier
// records and this one changed. Key and value are valid during the call only.
//
// fn may change the table. The scan sees changes of keys after the current one, and not those of
// keys before it.
func (c *Context) Scan(table byte, prefix []byte, fn func(key, value []byte) error) error {
	return c.Range(table, prefix, PrefixEnd(prefix), fn)
}

// Range is Scan for the keys from from up to, not including, to. A nil to is the end of the table.
func (c *Context) Range(table byte, from, to []byte, fn func(key, value []byte) error) error {
	if err := c.check(table); err != nil {
		return err
	}
	if to != nil && bytes.Compare(from, to) >= 0 {
		return nil
	}
	err := c.state.scan(table, from, to, fn)
	if errors.Is(err, ErrStopScan) {
		return nil
	}
	return err
}

// Emit writes a record to an output of the processor, by its name. The output's partitioner chooses
// the partition by the key; a record without a key goes to the task's partition, modulo the number
// of partitions. Key, value and headers are copied. Records of one output and partition are written
// in the order of the calls. An output that the processor does not declare fails the transaction.
func (c *Context) Emit(output string, m Message) { c.out.Emit(output, m) }

// EmitTo writes a record to a partition of an output. A partition that the topic does not have
// fails the transaction.
func (c *Context) EmitTo(output string, partition int32, m Message) {
	c.out.EmitTo(output, partition, m)
}

// Wake requests a commit soon, see Task.Wake.
func (c *Context) Wake() { c.task.Wake() }

// Log returns the log of the runtime, with the fields app, worker and partition. What it writes is
// not part of the transaction: a record that is tried again writes again.
func (c *Context) Log() *slog.Logger {
	if c.task.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.task.Log
}

// Count adds n to a counter, see Changes.Count. What a function counts for a record that it refuses
// is undone. A name or a number that a counter does not take fails the transaction.
func (c *Context) Count(name string, n float64) {
	if err := checkCount(name, n); err != nil {
		c.Fail(err)
		return
	}
	c.counts = append(c.counts, count{name, n})
}

// SetTimer makes t fire once: it is passed to the timer function of EachRecordWithTimers. Clock,
// time and key identify a timer; setting it again changes nothing. Key is copied. Where the
// functions are those of Processor.On, timers have a kind, see TimerKind, or the function of
// OnTimerWithoutKind takes them.
func (c *Context) SetTimer(t Timer) { c.changeTimer(t, true) }

// CancelTimer removes t. It is not an error if t is not set.
func (c *Context) CancelTimer(t Timer) { c.changeTimer(t, false) }

func (c *Context) changeTimer(t Timer, set bool) {
	kind, _ := t.Kind()
	switch {
	case !c.timed && c.kinds != nil:
		c.Fail(errors.New("a timer is set without a kind: set it with TimerKind.Set, or add OnTimerWithoutKind to Processor.On"))
		return
	case !c.timed:
		c.Fail(errors.New("a timer is set, and no function takes it: use EachRecordWithTimers"))
		return
	case kind != "":
		c.Fail(fmt.Errorf("a timer is set with key %q, which begins as that of a timer of kind %q: set it with TimerKind.Set", t.Key, kind))
		return
	}
	t.Key = bytes.Clone(t.Key)
	c.timers = append(c.timers, timerChange{t, set})
}

func (c *Context) check(table byte) error {
	if table >= FirstTable && table < TimerTable {
		return nil
	}
	err := fmt.Errorf("table %d: the tables of a record function are numbered from %d to %d", table, FirstTable, TimerTable-1)
	c.Fail(err)
	return err
}

// Fail abandons the transaction with err once the function returns, whatever it returns. It is for
// helpers whose methods return no error, such as state.Table.Put.
func (c *Context) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// begin starts a record or timer.
func (c *Context) begin(topic string, nowMs int64) {
	c.topic, c.nowMs, c.err, c.timers, c.counts, c.outStart = topic, nowMs, nil, c.timers[:0], c.counts[:0], len(c.out.List)
	c.state.begin()
}

// end makes what the function did part of the transaction, unless it has misused the Context.
func (c *Context) end() error {
	if c.err = cmp.Or(c.err, c.out.Err()); c.err != nil {
		return c.err
	}
	for _, x := range c.counts {
		c.out.Count(x.name, x.n)
	}
	for _, x := range c.timers {
		same := func(t Timer) bool { return x.timer.Clock == t.Clock && compareTimers(x.timer, t) == 0 }
		c.past = slices.DeleteFunc(c.past, same)
		switch past := x.timer.Clock == EventTime && x.timer.AtMs <= c.watermarkMs; {
		case !x.set:
			c.task.Timers.Cancel(x.timer)
		case past && c.watermarkMs > 0:
			x.timer.AtMs = max(0, x.timer.AtMs)
			c.task.Timers.Cancel(x.timer) // a question may have set it
			c.past = append(c.past, x.timer)
		default:
			c.task.Timers.Set(x.timer)
		}
	}
	return nil
}

// undo takes back what the function did.
func (c *Context) undo() error {
	c.err = cmp.Or(c.err, c.out.Err())
	c.state.undo()
	c.out.truncate(c.outStart)
	return c.err
}

func (c *Context) flush(ch *Changes) {
	c.state.flush(ch)
	for i := range c.out.List {
		x := &c.out.List[i]
		ch.emit(x.To.Output.Name, x.To.Partition, Message{Key: x.Key, Value: x.Value, Headers: x.To.Headers, TimeMs: x.To.TimeMs})
	}
	for name, n := range c.out.Counts {
		ch.Count(name, n)
	}
	c.out.Reset()
}
