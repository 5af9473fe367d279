package spendsim

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// counter is the process of one datacentre's spend counter, and the topics and the disk that
// outlive it. The Counter itself is real.
type counter struct {
	w      *simulation
	dc     int
	inputs []*log // read by the counter
	cfg    spendcounter.Config

	tables      map[byte]map[string][]byte
	next        map[string]int64 // committed
	localNext   map[string]int64
	sequence    uint64
	epoch       uint64
	incarnation uint64
	rows        map[string]*row // of the dataset
	dataset     []commit
	audits      []*eventspb.SpendAudit // emitted by transactions
	wroteAt     int64                  // time of the last commit

	real *spendcounter.Counter // nil: the process does not run
	read map[string]int64      // folded, not committed
	down int64                 // until when no process is started
}

// outOfOrderness is how far the ingest time of an event may be behind the greatest of its origin.
// It is half of the default, so that events are late after the longest outages of a run.
const outOfOrderness = time.Minute

func newCounter(w *simulation, dc int) *counter {
	c := &counter{w: w, dc: dc, incarnation: 1}
	c.empty()
	c.cfg = spendcounter.Config{
		DC: names[dc], Shard: func([]byte) int32 { return 0 }, MaxIDs: 1 << 16, CacheEntries: 64, OutOfOrderness: outOfOrderness,
		Inputs: spendcounter.Inputs{
			Events: events.EventsTopic, Adjustments: events.AdjustmentsTopic, Copied: map[string]string{},
			CopiedAdjustments: map[string]string{},
		},
	}
	if w.mutation == "counter has another rule for late events" {
		c.cfg.OutOfOrderness = 0 // the default
	}
	return c
}

// empty is the state of a counter that has read nothing.
func (c *counter) empty() {
	c.tables, c.rows = map[byte]map[string][]byte{}, map[string]*row{}
	c.next, c.localNext, c.sequence, c.epoch = map[string]int64{}, map[string]int64{}, 0, 0
}

// configure makes the copies that the datacentre has the inputs of the next process.
func (c *counter) configure() {
	c.crash(true)
	c.inputs = []*log{&c.w.dcs[c.dc].events, &c.w.dcs[c.dc].adjustments}
	for _, m := range c.w.dcs[c.dc].mirrors {
		c.inputs = append(c.inputs, &m.copies)
		if m.adjustments {
			c.cfg.Inputs.CopiedAdjustments[m.copies.topic] = names[m.origin]
		} else {
			c.cfg.Inputs.Copied[m.copies.topic] = names[m.origin]
		}
	}
}

// task is the task of a new owner of the shard.
func (c *counter) task() stream.Task {
	t := stream.Task{OwnerEpoch: c.epoch, Next: maps.Clone(c.next), LocalNext: maps.Clone(c.localNext)}
	t.Get = func(table byte, key []byte) ([]byte, error) { return bytes.Clone(c.tables[table][string(key)]), nil }
	t.Scan = func(table byte, prefix []byte, fn func(key, value []byte) error) error {
		return t.Range(table, prefix, stream.PrefixEnd(prefix), fn)
	}
	t.Range = func(table byte, from, to []byte, fn func(key, value []byte) error) error {
		for _, k := range slices.Sorted(maps.Keys(c.tables[table])) {
			if k < string(from) || to != nil && k >= string(to) {
				continue
			}
			if err := fn([]byte(k), c.tables[table][k]); err != nil {
				return err
			}
		}
		return nil
	}
	return t
}

// start begins a process: it reads again what the duplicate window needs.
func (c *counter) start() {
	c.epoch++
	var err error
	if c.real, err = spendcounter.New(c.cfg, c.task()); err != nil {
		c.w.fail("ERROR", "%v", err)
		return
	}
	c.read = maps.Clone(c.next)
	if c.w.mutation == "counter does not rebuild" {
		return
	}
	from := c.real.RebuildFrom()
	for _, l := range c.inputs {
		at, to := l.from(from[l.topic]), l.from(c.next[l.topic])
		if at >= to {
			continue
		}
		b := &stream.Batch{Topic: l.topic, NowMs: c.w.wall(c.dc), Records: c.records(l.slice(at, to-at))}
		if err := c.real.Rebuild(b); err != nil {
			c.w.fail("ERROR", "%v", err)
		}
	}
}

// crash ends the process. keepLocal: its disk is that of the next one.
func (c *counter) crash(keepLocal bool) {
	c.real = nil
	if !keepLocal {
		c.localNext = nil
		for _, table := range []byte{spendcounter.TableIDs, spendcounter.TableRings} {
			delete(c.tables, table)
		}
	}
}

// wipe deletes the state and the dataset, and begins again at the first record.
func (c *counter) wipe() {
	c.crash(false)
	c.empty()
	c.incarnation++
	c.dataset = append(c.dataset, commit{at: c.w.now, cleared: true})
}

// step folds what has arrived, at most some records of each input, and commits unless the process
// dies before.
func (c *counter) step(most int, dies bool) {
	if c.real == nil {
		c.start()
	}
	for _, l := range c.inputs {
		list := l.slice(l.from(c.read[l.topic]), most)
		if len(list) == 0 {
			continue
		}
		b := &stream.Batch{Topic: l.topic, NowMs: c.w.wall(c.dc), Records: c.records(list)}
		if err := c.real.Fold(b); err != nil || len(b.Rejects) > 0 {
			c.w.fail("ERROR", "the counter of %s refuses %v: %v", names[c.dc], b.Rejects, err)
			return
		}
		c.read[l.topic] = list[len(list)-1].Offset + 1
	}
	if !dies {
		c.commit()
	}
}

// charge is what a counter may read in another way than it was written.
type charge struct {
	price int64
	typ   eventspb.EventType
}

// records returns records as the counter reads them: one that charges too much reads other prices.
func (c *counter) records(list []entry) []stream.Record {
	recs := make([]stream.Record, 0, len(list))
	for i := range list {
		rec := list[i].Record
		if e := list[i].event; e != nil && e.Campaign != "" {
			changed := charge{c.w.priceOf(c.dc, e), e.Type}
			if c.w.mutation == "counter confuses types" && len(e.EventId)%2 == 0 {
				changed.typ = eventspb.EventType_EVENT_TYPE_CLICK
			}
			if changed.price != e.PriceMicros || changed.typ != e.Type {
				e = proto.CloneOf(e)
				e.PriceMicros, e.Type = changed.price, changed.typ
				rec.Value = events.AppendEvent(nil, e)
			}
		}
		recs = append(recs, rec)
	}
	return recs
}

// commit ends a transaction.
func (c *counter) commit() {
	var ch stream.Changes
	cm := stream.Commit{
		NowMs: c.w.wall(c.dc), Incarnation: c.incarnation, OwnerEpoch: c.epoch, Sequence: c.sequence + 1, Next: maps.Clone(c.read),
	}
	if err := c.real.Flush(cm, &ch); err != nil {
		c.w.fail("ERROR", "%v", err)
		return
	}
	out := commit{at: c.w.now}
	for _, x := range ch.List {
		c.apply(&out, x)
	}
	c.sequence++
	c.next, c.localNext, c.wroteAt = maps.Clone(c.read), maps.Clone(c.read), c.w.now
	if len(out.changes) > 0 {
		c.dataset = append(c.dataset, out)
	}
}

// apply applies a change to the state, and adds it to a commit if it is one of the dataset.
func (c *counter) apply(out *commit, x stream.Change) {
	table := c.tables[x.Table]
	if table == nil {
		table = map[string][]byte{}
		c.tables[x.Table] = table
	}
	key := string(x.Key)
	switch x.Op {
	case stream.OpPut:
		table[key] = bytes.Clone(x.Value)
		c.publish(out, x.Table, key, table[key])
	case stream.OpDelete:
		delete(table, key)
		c.publish(out, x.Table, key, nil)
	case stream.OpDeleteRange:
		for k := range table {
			if k >= key && k < string(x.Value) {
				delete(table, k)
			}
		}
	case stream.OpEmit:
		c.emit(x)
	}
}
