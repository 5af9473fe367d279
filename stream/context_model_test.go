package stream_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// TestContextAgainstModel runs random record and timer functions on a task and on a model of maps:
// they put, delete, scan, emit, set timers, reject their records and fail. Reads, state, timers and
// outputs must be equal, across commits, aborts and crashes.
func TestContextAgainstModel(t *testing.T) {
	total := seen{}
	for seed := range uint64(300) {
		m := &model{t: t, seed: seed, committed: newModelState(), total: total}
		m.run(rand.New(rand.NewPCG(seed, 1)))
	}
	for _, what := range []string{
		"rejected", "failed", "crash", "abort", "commit", "timer fired", "timer cancelled while due", "timer set while due",
		"scan sees a change ahead", "row of the transaction in a scan", "row of the store in a scan", "hidden row of the store", "undone",
	} {
		if total[what] < 20 {
			t.Errorf("%s: only %d times in all runs", what, total[what])
		}
	}
}

type seen map[string]int

// modelState is the state of a task, with its timers and outputs.
type modelState struct {
	tables  [3]map[string]string
	timers  map[string]bool
	out     []string
	rejects []string
}

func newModelState() *modelState {
	s := &modelState{timers: map[string]bool{}}
	for i := range s.tables {
		s.tables[i] = map[string]string{}
	}
	return s
}

func (s *modelState) clone() *modelState {
	n := &modelState{timers: maps.Clone(s.timers), out: slices.Clone(s.out), rejects: slices.Clone(s.rejects)}
	for i := range s.tables {
		n.tables[i] = maps.Clone(s.tables[i])
	}
	return n
}

// model is one run. The record and timer functions work on the task and on the model.
type model struct {
	t     *testing.T
	seed  uint64
	r     *streamtest.Runner
	total seen

	committed, open *modelState
	due             []string // timers of the round that fires, those before the current one left out
	nowMs           int64
	failed          bool // a function returned a plain error

	handed []handed // slices that the current function got
}

// handed is a slice that Get returned, and the value that it must keep until the function changes
// the key or returns.
type handed struct {
	table     byte
	key       string
	got, want []byte
}

var errPlain = errors.New("plain")

// tolerant records plain errors of the handler. The test then crashes the task, as the runtime
// does.
type tolerant struct {
	h stream.TimerHandler
	m *model
}

func (x tolerant) Fold(b *stream.Batch) error { return x.m.note(x.h.(stream.Handler).Fold(b)) }
func (x tolerant) OnTimer(now int64, due []stream.Timer) error {
	if x.m.failed { // the transaction is lost already
		return nil
	}
	x.m.due = nil
	for _, t := range due {
		x.m.due = append(x.m.due, timerID(t))
	}
	return x.m.note(x.h.OnTimer(now, due))
}

func (x tolerant) Flush(c stream.Commit, ch *stream.Changes) error {
	return x.h.(stream.Handler).Flush(c, ch)
}

func (m *model) note(err error) error {
	if errors.Is(err, errPlain) {
		m.failed = true
		return nil
	}
	return err
}

func (m *model) run(rng *rand.Rand) {
	m.open = m.committed.clone()
	m.r = streamtest.New(m.t, streamtest.Options{Partition: 3, Processor: stream.Processor{New: func(t stream.Task) (stream.Handler, error) {
		h, err := stream.EachRecordWithTimers(m.onRecord, m.onTimer)(t)
		return tolerant{h.(stream.TimerHandler), m}, err
	}}})
	for range 150 {
		m.r.Append(binary.BigEndian.AppendUint64(nil, rng.Uint64()))
	}
	m.nowMs = 1000
	for m.r.Remaining() > 0 {
		m.nowMs += rng.Int64N(20)
		m.r.Fold(1 + rng.IntN(12))
		switch x := rng.IntN(8); {
		case m.failed || x == 0:
			m.r.Crash()
			m.restart("crash")
		case x == 1:
			m.r.Abort(m.nowMs)
			m.restart("abort")
		case x < 5:
			m.commit()
		}
	}
	m.commit()
}

func (m *model) restart(what string) {
	m.total[what]++
	m.open, m.failed = m.committed.clone(), false
}

func (m *model) commit() {
	round := m.total["timer fired"]
	if m.r.Commit(m.nowMs); m.failed {
		// The runner commits although a timer function failed, and the model does not. Timer
		// functions fail in TestTimerErrors instead.
		m.t.Fatalf("seed %d: a timer function failed", m.seed)
	}
	m.total["commit"]++
	for id := range m.open.timers {
		if timerAt(id) <= m.nowMs {
			m.t.Fatalf("seed %d: timer %q is due at %d and did not fire; %d fired", m.seed, id, m.nowMs, m.total["timer fired"]-round)
		}
	}
	for n, want := range m.open.tables {
		got := map[string]string{}
		for k, v := range m.r.Table(byte(n + 1)) {
			got[k] = string(v)
		}
		if !maps.Equal(got, want) {
			m.t.Fatalf("seed %d: table %d is %v, want %v", m.seed, n+1, got, want)
		}
	}
	var timers, out, rejects []string
	for _, t := range m.r.Timers() {
		timers = append(timers, timerID(t))
	}
	for _, c := range m.r.TakeOutputs() {
		out = append(out, outputText(c.Output(), c.To.Partition, stream.Message{Key: c.Key, Value: c.Value, Headers: c.To.Headers, TimeMs: c.To.TimeMs}))
	}
	for _, x := range m.r.TakeRejects() {
		rejects = append(rejects, fmt.Sprintf("%d %s %s", x.Offset, x.Reason, x.Detail))
	}
	if want := slices.Sorted(maps.Keys(m.open.timers)); !slices.Equal(slices.Sorted(slices.Values(timers)), want) {
		m.t.Fatalf("seed %d: timers %q, want %q", m.seed, timers, want)
	}
	if !slices.Equal(out, m.open.out) {
		m.t.Fatalf("seed %d: outputs\n%v, want\n%v", m.seed, out, m.open.out)
	}
	if !slices.Equal(rejects, m.open.rejects) {
		m.t.Fatalf("seed %d: rejects %q, want %q", m.seed, rejects, m.open.rejects)
	}
	m.open.out, m.open.rejects = nil, nil
	m.committed = m.open.clone()
}

func outputText(name string, partition int32, x stream.Message) string {
	return fmt.Sprintf("%s/%d %q=%q %q %d", name, partition, x.Key, x.Value, x.Headers, x.TimeMs)
}

func timerID(t stream.Timer) string {
	return fmt.Sprintf("%012d %s", max(0, t.AtMs), t.Key)
}

func timerAt(id string) (ms int64) {
	_, _ = fmt.Sscanf(id, "%d", &ms)
	return ms
}

func (m *model) onRecord(c *stream.Context, r *stream.Record) error {
	if c.Partition() != 3 || c.Topic() != "in" {
		m.t.Fatalf("partition %d, topic %s", c.Partition(), c.Topic())
	}
	seed := binary.BigEndian.Uint64(r.Value)
	rng := rand.New(rand.NewPCG(seed, 2))
	before := m.open.clone()
	m.work(c, rng)
	switch rng.IntN(12) {
	case 0:
		before.rejects = append(before.rejects, fmt.Sprintf("%d bad seed %d", r.Offset, seed))
		m.open = before
		m.total["rejected"]++
		return fmt.Errorf("wrapped: %w", stream.Rejectf("bad", "seed %d", seed))
	case 1:
		if m.total["failed"]++; m.total["failed"]%2 == 0 { // not each time, or no try would come through
			return errPlain
		}
	}
	return nil
}

func (m *model) onTimer(c *stream.Context, t stream.Timer) error {
	id := timerID(t)
	for len(m.due) > 0 && m.due[0] != id { // cancelled by an earlier one
		if m.open.timers[m.due[0]] {
			m.t.Fatalf("seed %d: %q fires before %q", m.seed, id, m.due[0])
		}
		m.due = m.due[1:]
		m.total["timer cancelled while due"]++
	}
	if len(m.due) == 0 || !m.open.timers[id] || t.AtMs > m.nowMs || c.NowMs() != m.nowMs || c.Topic() != "" {
		m.t.Fatalf("seed %d: timer %q fires at %d; it is set: %t", m.seed, id, m.nowMs, m.open.timers[id])
	}
	m.due = m.due[1:]
	delete(m.open.timers, id)
	m.total["timer fired"]++
	m.work(c, rand.New(rand.NewPCG(uint64(m.total["timer fired"]), m.seed)))
	return nil
}

// work makes random calls on the task and on the model, and compares what they read.
func (m *model) work(c *stream.Context, rng *rand.Rand) {
	m.handed = nil
	for range rng.IntN(8) {
		switch table, key := byte(1+rng.IntN(3)), m.key(rng); rng.IntN(10) {
		case 0, 1:
			m.get(c, table, key)
		case 2, 3:
			m.put(c, rng, table, key)
		case 4:
			m.remove(c, table, key)
		case 5, 6:
			m.scan(c, rng, table)
		case 7:
			m.emit(c, rng, key)
		default:
			m.timer(c, rng)
		}
	}
	m.take(func(handed) bool { return true })
}

// take checks the slices that Get returned for some keys, and forgets them.
func (m *model) take(which func(handed) bool) {
	m.handed = slices.DeleteFunc(m.handed, func(h handed) bool {
		if which(h) && !bytes.Equal(h.got, h.want) {
			m.t.Fatalf("seed %d: the value of %q that was handed out changed from %q to %q", m.seed, h.key, h.want, h.got)
		}
		return which(h)
	})
}

func (m *model) remove(c *stream.Context, table byte, key string) {
	m.take(func(h handed) bool { return h.table == table && h.key == key })
	c.Delete(table, []byte(key))
	delete(m.open.tables[table-1], key)
}

func (m *model) key(rng *rand.Rand) string {
	key := make([]byte, rng.IntN(3))
	for i := range key {
		key[i] = []byte{0, 'a', 'b', 0xff}[rng.IntN(4)]
	}
	return string(key)
}

func (m *model) get(c *stream.Context, table byte, key string) {
	v, err := c.Get(table, []byte(key))
	want, ok := m.open.tables[table-1][key]
	if err != nil || ok != (v != nil) || string(v) != want {
		m.t.Fatalf("seed %d: table %d, key %q is %q, %v; want %q, %t", m.seed, table, key, v, err, want, ok)
	}
	m.handed = append(m.handed, handed{table, key, v, bytes.Clone(v)})
}

func (m *model) put(c *stream.Context, rng *rand.Rand, table byte, key string) {
	value := make([]byte, rng.IntN(6))
	for i := range value {
		value[i] = byte('0' + rng.IntN(10))
	}
	m.take(func(h handed) bool { return h.table == table && h.key == key })
	if old, err := c.Get(table, []byte(key)); err == nil && len(old) > 1 && rng.IntN(4) == 0 {
		value = bytes.Clone(old[1:])
		c.Put(table, []byte(key), old[1:]) // what was handed out is put again
		m.open.tables[table-1][key] = string(value)
		return
	}
	k := []byte(key)
	c.Put(table, k, value)
	m.open.tables[table-1][key] = string(value)
	clear(k)
	clear(value)
}

func (m *model) emit(c *stream.Context, rng *rand.Rand, key string) {
	x := stream.Message{Key: []byte(key), Value: []byte{byte('0' + rng.IntN(10))}, TimeMs: rng.Int64N(3)}
	if rng.IntN(3) == 0 {
		x.Key = nil
	}
	if rng.IntN(3) == 0 {
		x.Headers = []stream.Header{{Key: "h", Value: []byte(key)}}
	}
	name, partition := fmt.Sprint("out", rng.IntN(2)), int32(rng.IntN(4)-1)
	m.open.out = append(m.open.out, outputText(name, partition, x))
	if partition < 0 {
		c.Emit(name, x)
	} else {
		c.EmitTo(name, partition, x)
	}
	clear(x.Key)
	clear(x.Value)
	clear(x.Headers)
}

func (m *model) timer(c *stream.Context, rng *rand.Rand) {
	t := stream.Timer{Clock: stream.WallTime, AtMs: m.nowMs - 3 + rng.Int64N(25), Key: []byte{byte('a' + rng.IntN(4))}}
	if len(m.due) > 1 && rng.IntN(2) == 0 { // one that is due and did not fire yet
		due := m.due[rng.IntN(len(m.due))]
		t.AtMs, t.Key = timerAt(due), []byte(due[13:])
	}
	id := timerID(t)
	if slices.Contains(m.due, id) {
		m.total["timer set while due"]++
	}
	if rng.IntN(3) == 0 {
		c.CancelTimer(t)
		delete(m.open.timers, id)
	} else {
		c.SetTimer(t)
		m.open.timers[id] = true
	}
	clear(t.Key)
}

// scan scans by prefix or range. At random it stops early, and changes the table during the scan.
func (m *model) scan(c *stream.Context, rng *rand.Rand, table byte) {
	from, to := m.key(rng), m.key(rng)
	fits := func(k string) bool { return strings.HasPrefix(k, from) }
	scan := func(fn func(k, v []byte) error) error { return c.Scan(table, []byte(from), fn) }
	switch rng.IntN(3) {
	case 0:
		fits = func(k string) bool { return k >= from && k < to }
		scan = func(fn func(k, v []byte) error) error { return c.Range(table, []byte(from), []byte(to), fn) }
	case 1:
		fits = func(k string) bool { return k >= from }
		scan = func(fn func(k, v []byte) error) error { return c.Range(table, []byte(from), nil, fn) }
	}
	rows := m.open.tables[table-1]
	at, left, changes := "", rng.IntN(20), rng.IntN(2) == 0
	first := true
	next := func() (key string, ok bool) {
		for k := range rows {
			if fits(k) && (first || k > at) && (!ok || k < key) {
				key, ok = k, true
			}
		}
		return key, ok
	}
	known := maps.Clone(rows)
	err := scan(func(k, v []byte) error {
		want, ok := next()
		if !ok || string(k) != want || string(v) != rows[want] {
			m.t.Fatalf("seed %d: table %d from %q to %q: after %q comes %q=%q, want %q=%q, %t", m.seed, table, from, to, at, k, v, want, rows[want], ok)
		}
		if old, was := known[want]; !was || old != rows[want] {
			m.total["scan sees a change ahead"]++
		}
		if v0, stored := m.committed.tables[table-1][want]; stored && v0 == rows[want] {
			m.total["row of the store in a scan"]++
		} else {
			m.total["row of the transaction in a scan"]++
		}
		at, first = want, false
		if left--; left == 0 {
			return fmt.Errorf("enough: %w", stream.ErrStopScan)
		}
		if changes && len(rows) < 40 {
			switch key := m.key(rng); rng.IntN(4) {
			case 0:
				m.put(c, rng, table, key)
			case 1:
				m.remove(c, table, key)
			case 2:
				m.remove(c, table, string(k))
			default:
				m.get(c, table, key)
			}
		}
		return nil
	})
	if err != nil {
		m.t.Fatalf("seed %d: scan: %v", m.seed, err)
	}
	if k, ok := next(); ok && left != 0 {
		m.t.Fatalf("seed %d: table %d from %q to %q ended at %q, and %q comes after it", m.seed, table, from, to, at, k)
	}
	for k, v := range m.committed.tables[table-1] {
		if now, ok := rows[k]; fits(k) && (!ok || cmp.Compare(now, v) != 0) {
			m.total["hidden row of the store"]++
		}
	}
	if len(m.open.rejects) > 0 {
		m.total["undone"]++ // what a refused record did is not seen
	}
}
