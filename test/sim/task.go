package sim

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/weirhq/weir/stream"
)

// record is a record of a topic.
type record struct {
	value []byte
	at    int64
}

// topics holds the records of the only partition, without compaction.
type topics struct {
	changes, results []record
	commands         [][]record // by region
}

// core is the interface of a core to the runtime.
type core interface {
	Fold(b *stream.Batch) error
	OnTimer(nowMs int64, due []stream.Timer) error
	Flush(c stream.Commit, ch *stream.Changes) error
}

// task is a model of the runtime: it runs a core in transactions. An abort discards the core and
// everything uncommitted.
type task struct {
	w      *simulation
	name   string
	inputs []input
	make   func(stream.Task) (core, error)
	emit   func(c *stream.Change)
	rng    *rand.Rand
	off    int64

	core    core
	tables  map[byte]map[string][]byte
	timers  map[string]bool // committed
	open    map[string]bool // uncommitted: true if set, false if cancelled or fired
	changes stream.Changes
	commits uint64
	last    int64 // time of the last commit
}

// input is a topic that a task reads.
type input struct {
	name       string
	of         *[]record
	next, done int // next offset to fold; committed offset
}

// start creates the core and runs its transactions.
func (t *task) start() {
	t.tables, t.timers = map[byte]map[string][]byte{}, map[string]bool{}
	t.crash()
	t.w.each(t.rng, 150, 250, t.cycle)
}

// crash replaces the core by a new one on another machine.
func (t *task) crash() {
	w := t.w
	if t.core != nil {
		w.h.mark("core restarted")
		w.transcribe(t.name, "restarts")
	}
	t.open = map[string]bool{}
	next := map[string]int64{}
	for i := range t.inputs {
		t.inputs[i].next = t.inputs[i].done
		next[t.inputs[i].name] = int64(t.inputs[i].done)
	}
	t.off = w.off(t.rng)
	var err error
	if t.core, err = t.make(stream.Task{Next: next, Get: t.get, Scan: t.scan, Timers: t, Wake: func() {}}); err != nil {
		w.h.fail(err)
	}
}

// cycle runs one transaction.
func (t *task) cycle() {
	w := t.w
	for i := range t.inputs {
		if err := t.fold(&t.inputs[i]); err != nil {
			w.h.fail(err)
			return
		}
	}
	now := w.now + t.off
	for range 100 {
		due := t.due(now)
		if len(due) == 0 {
			break
		}
		if err := t.core.OnTimer(now, due); err != nil {
			w.h.fail(err)
			return
		}
	}
	t.changes.Reset()
	if err := t.core.Flush(stream.Commit{NowMs: now, Sequence: t.commits + 1}, &t.changes); err != nil {
		w.h.fail(err)
		return
	}
	if t.rng.IntN(40) == 0 && w.time() < w.s.Heal {
		w.h.mark("transaction aborted")
		w.transcribe(t.name, "aborts a transaction")
		if w.mutation == "aborted commands are delivered" {
			t.produce()
		}
		t.crash()
		return
	}
	t.commit()
}

func (t *task) fold(in *input) error {
	list := (*in.of)[in.next:]
	if len(list) == 0 {
		return nil
	}
	if t.rng.IntN(4) == 0 {
		list = list[:t.rng.IntN(len(list))+1]
	}
	b := stream.Batch{Topic: in.name, NowMs: t.w.now + t.off, Records: make([]stream.Record, len(list))}
	for i := range list {
		b.Records[i] = stream.Record{Value: list[i].value, Offset: int64(in.next + i), TimeMs: list[i].at}
	}
	in.next += len(list)
	err := t.core.Fold(&b)
	for _, r := range b.Rejects {
		t.w.h.Rejects = append(t.w.h.Rejects, t.name+": "+r.Reason+": "+r.Detail)
	}
	return err
}

// commit applies the changes of the core.
func (t *task) commit() {
	for i := range t.changes.List {
		c := &t.changes.List[i]
		if c.Op != stream.OpPut && c.Op != stream.OpDelete {
			continue
		}
		key, table := string(c.Key), t.tables[c.Table]
		if table == nil {
			table = map[string][]byte{}
			t.tables[c.Table] = table
		}
		if c.Op == stream.OpDelete {
			delete(table, key)
		} else {
			table[key] = append([]byte{}, c.Value...)
		}
	}
	for id, set := range t.open {
		if set {
			t.timers[id] = true
		} else {
			delete(t.timers, id)
		}
	}
	clear(t.open)
	for i := range t.inputs {
		t.inputs[i].done = t.inputs[i].next
	}
	t.commits++
	t.last = t.w.now
	t.produce()
	if t.w.mutation == "balancer forgets transfers" && t.name == "balancer" {
		clear(t.tables[tableTransfers])
		t.crash()
	}
}

func (t *task) produce() {
	for i := range t.changes.List {
		if c := &t.changes.List[i]; c.Op == stream.OpEmit {
			t.emit(c)
		}
	}
}

func (t *task) get(table byte, key []byte) ([]byte, error) {
	v := t.tables[table][string(key)]
	if v == nil {
		return nil, nil
	}
	return append([]byte{}, v...), nil
}

func (t *task) scan(table byte, prefix []byte, fn func(key, value []byte) error) error {
	for _, k := range slices.Sorted(maps.Keys(t.tables[table])) {
		if bytes.HasPrefix([]byte(k), prefix) {
			if err := fn([]byte(k), t.tables[table][k]); err != nil {
				return err
			}
		}
	}
	return nil
}

func timerID(x stream.Timer) string {
	return string(append(binary.BigEndian.AppendUint64(nil, uint64(max(0, x.AtMs))), x.Key...))
}

// Set implements stream.Timers.
func (t *task) Set(x stream.Timer) { t.open[timerID(x)] = true }

// Cancel implements stream.Timers.
func (t *task) Cancel(x stream.Timer) { t.open[timerID(x)] = false }

// due returns the expired timers in order and removes them.
func (t *task) due(now int64) (due []stream.Timer) {
	var ids []string
	limit := timerID(stream.Timer{AtMs: now + 1})
	for id, set := range t.open {
		if set && id < limit {
			ids = append(ids, id)
		}
	}
	for id := range t.timers {
		if _, known := t.open[id]; !known && id < limit {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		t.open[id] = false
		due = append(due, stream.Timer{Clock: stream.WallTime, AtMs: int64(binary.BigEndian.Uint64([]byte(id))), Key: []byte(id[8:])})
	}
	return due
}
