package spendcounter

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// folded is one record in the order of folding.
type folded struct {
	log *topicLog
	i   int
}

// run feeds logs to a Counter as a runtime does, and draws everything that can vary.
type run struct {
	t     *rapid.T
	cfg   Config
	logs  []*topicLog
	store *store
	c     *Counter
	now   int64

	order     []folded // folded, in order
	committed int      // how many of them are committed
	refused   map[*topicLog]map[int64]string
	exact     bool // the rings were never restored from sums by the second

	restarts bool
	locals   []snapshot // earlier local tables
}

// snapshot is the local tables at a commit.
type snapshot struct {
	tables map[byte]map[string][]byte
	next   map[string]int64
}

func testConfig() Config {
	return Config{
		DC: ownDC, Shard: anyShard, DuplicateWindow: 90 * time.Second, MaxIDs: 1 << 10, CacheEntries: 1 << 10,
		Inputs: Inputs{
			Events: events.EventsTopic, Adjustments: events.AdjustmentsTopic,
			Copied: map[string]string{events.CopiedEventsTopic(otherDC): otherDC, events.CopiedEventsTopic(thirdDC): thirdDC},
		},
	}
}

func newRun(t *rapid.T, cfg Config, logs []*topicLog) *run {
	r := &run{
		t: t, cfg: cfg, logs: logs, store: newStore(), now: epochMs, exact: true,
		refused: map[*topicLog]map[int64]string{},
	}
	r.c = mustNew(t, cfg, r.store)
	for _, l := range logs {
		r.refused[l] = map[int64]string{}
	}
	return r
}

// after returns the index of the first record of l at or after offset.
func (l *topicLog) after(offset int64) int {
	return sort.Search(len(l.recs), func(i int) bool { return l.recs[i].Offset >= offset })
}

// all folds all logs to their ends, in a drawn interleaving, and commits.
func (r *run) all() {
	for {
		var open []*topicLog
		for _, l := range r.logs {
			if l.after(r.store.next[l.topic]) < len(l.recs) {
				open = append(open, l)
			}
		}
		if len(open) == 0 {
			break
		}
		r.fold(rapid.SampledFrom(open).Draw(r.t, "topic"))
		switch rapid.IntRange(0, 9).Draw(r.t, "then") {
		case 0, 1, 2:
			r.flush()
		case 3:
			if r.restarts {
				r.restart()
			}
		}
	}
	r.flush()
}

func (r *run) fold(l *topicLog) {
	from := l.after(r.store.next[l.topic])
	n := rapid.IntRange(1, len(l.recs)-from).Draw(r.t, "batch")
	r.now += int64(rapid.IntRange(0, 400).Draw(r.t, "pause"))
	r.foldRange(l, from, from+n)
}

func (r *run) foldRange(l *topicLog, from, to int) {
	b := &stream.Batch{Topic: l.topic, Partition: r.store.partition, NowMs: r.now, Records: cloneRecords(l.recs[from:to])}
	if err := r.c.Fold(b); err != nil {
		r.t.Fatalf("fold: %v", err)
	}
	scribble(b.Records) // the runtime reuses the memory
	for _, x := range b.Rejects {
		r.refused[l][l.recs[from+x.Index].Offset] = x.Reason
	}
	if !slices.IsSortedFunc(b.Rejects, func(a, b stream.Reject) int { return a.Index - b.Index }) {
		r.t.Fatalf("rejects out of order: %v", b.Rejects)
	}
	for i := from; i < to; i++ {
		r.order = append(r.order, folded{l, i})
	}
	r.store.next[l.topic] = l.recs[to-1].Offset + 1
}

func (r *run) flush() {
	r.store.flush(r.t, r.c, r.now)
	r.committed = len(r.order)
	r.locals = append(r.locals, snapshot{cloneTables(r.store.tables, TableIDs, TableRings), maps.Clone(r.store.next)})
}

// restart discards what was not committed, and perhaps some or all of the local tables.
func (r *run) restart() {
	r.order = r.order[:r.committed]
	s := r.store
	s.next = map[string]int64{}
	for _, f := range r.order {
		s.next[f.log.topic] = f.log.recs[f.i].Offset + 1
	}
	for _, l := range r.logs {
		for offset := range r.refused[l] {
			if offset >= s.next[l.topic] {
				delete(r.refused[l], offset)
			}
		}
	}
	switch rapid.IntRange(0, 3).Draw(r.t, "locals") {
	case 0:
		s.localNext, r.locals = nil, nil // what the tables hold belongs to another owner and must not be read
	case 1:
		if len(r.locals) > 0 {
			old := rapid.SampledFrom(r.locals).Draw(r.t, "old locals")
			maps.Copy(s.tables, cloneTables(old.tables, TableIDs, TableRings))
			s.localNext = maps.Clone(old.next)
		}
	}
	r.exact = r.exact && s.localNext == nil
	r.c = mustNew(r.t, r.cfg, s)
	r.warm()
}

func (r *run) warm() {
	from := r.c.RebuildFrom()
	for _, l := range rapid.Permutation(r.logs).Draw(r.t, "warm order") {
		if l.copied && from[l.topic] > 0 && !r.marked(l.topic, from[l.topic]) {
			r.t.Fatalf("%s is read again from %d, which is not a mark", l.topic, from[l.topic])
		}
		at, to := l.after(from[l.topic]), l.after(r.store.next[l.topic])
		for at < to {
			n := rapid.IntRange(1, to-at).Draw(r.t, "warm batch")
			b := &stream.Batch{Topic: l.topic, Partition: r.store.partition, NowMs: r.now, Records: cloneRecords(l.recs[at : at+n])}
			if err := r.c.Rebuild(b); err != nil || len(b.Rejects) > 0 {
				r.t.Fatalf("rebuild: %v, rejects %v", err, b.Rejects)
			}
			scribble(b.Records)
			at += n
		}
	}
}

// marked reports whether there is a mark at an offset.
func (r *run) marked(topic string, offset int64) bool {
	for _, m := range []*spendpb.Mark{r.c.window.previous, r.c.window.current, r.c.ringSpans.previous, r.c.ringSpans.current} {
		if m != nil && start(m, topic) == offset {
			return true
		}
	}
	saved := &spendpb.LocalState{}
	if err := proto.Unmarshal(r.store.tables[TableRings][ringsKey], saved); err != nil {
		r.t.Fatal(err)
	}
	return r.store.localNext != nil && saved.AsOf != nil && start(saved.AsOf, topic) == offset
}

// recount counts the folded records in the same order with the simple implementation, and checks
// the rejections.
func (r *run) recount() *recount {
	m := newRecount(r.cfg)
	for _, f := range r.order {
		rec := &f.log.recs[f.i]
		want := f.log.bad[rec.Offset]
		switch {
		case want != "":
		case f.log.topic == events.AdjustmentsTopic:
			want = m.adjustment(rec)
		default:
			want = m.event(f.log.dc, f.log.copied, rec)
		}
		if got := r.refused[f.log][rec.Offset]; got != want {
			r.t.Fatalf("%s offset %d: refused %q, want %q", f.log.topic, rec.Offset, got, want)
		}
	}
	return m
}

// check compares everything with the recount.
func (r *run) check() {
	m, s, t := r.recount(), r.store, r.t
	got := s.spends(t)
	for key, p := range got {
		want := m.spend[key]
		if want == nil {
			t.Fatalf("spend of %q, which no event names", key)
		}
		if again := must(proto.Marshal(p)); !bytes.Equal(again, s.tables[TableSpend][key]) {
			t.Fatalf("spend of %q is encoded as\n%x, proto.Marshal has\n%x", key, s.tables[TableSpend][key], again)
		}
		if g, w := describe(p), want.describe(); g != w {
			t.Fatalf("spend of %q is\n%s\nwant\n%s", key, g, w)
		}
		if campaign, account, day, currency, err := ParseKey([]byte(key)); err != nil || string(campaign) != p.Campaign ||
			string(account) != p.Account || int32(day) != p.BudgetDay || currency.String() != p.Currency {
			t.Fatalf("key %q holds %v", key, p)
		}
	}
	if len(got) != len(m.spend) {
		t.Fatalf("%d campaign days, want %d", len(got), len(m.spend))
	}
	r.checkTask(m)
}

func (r *run) checkTask(m *recount) {
	t, s := r.t, r.store
	if len(r.order) == 0 {
		return
	}
	state := s.taskState(t)
	if state.Duplicates != m.duplicates || state.TimestampMs != m.clock || state.EarlyRotations != m.early ||
		state.RefundedMicros != m.refunded.Int64() {
		t.Fatalf("task record %v; want %d duplicates, clock %d, %d early rotations", state, m.duplicates, m.clock, m.early)
	}
	for _, o := range state.Origins {
		micros := int64(0)
		if m.micros[o.Dc] != nil {
			micros = m.micros[o.Dc].Int64()
		}
		if o.Count != m.count[o.Dc] || o.Micros != micros || o.Lost != m.lost[o.Dc] ||
			o.TransportDuplicates != m.transportDuplicates[o.Dc] {
			t.Fatalf("origin %v; want %d events, %d micros, %d lost, %d again", o, m.count[o.Dc], micros, m.lost[o.Dc],
				m.transportDuplicates[o.Dc])
		}
	}
	if current, old := r.c.window.set.Len(); current != len(m.current) || old != len(m.old) {
		t.Fatalf("%d and %d ids remembered, want %d and %d", current, old, len(m.current), len(m.old))
	}
	r.now += healthMs
	r.store.flush(t, r.c, r.now)
	var low, high uint64
	for _, ms := range m.arrivals {
		if ms > m.clock-60_000 {
			low++
		}
		if ms > m.clock-61_000 {
			high++
		}
	}
	if r.exact {
		high = low
	}
	if got := s.health(t).IngestCount; got < low || got > high {
		t.Fatalf("ingest count %d, want %d to %d", got, low, high)
	}
}

// describe returns the parts of p that do not depend on the commit.
func describe(p *eventspb.Spend) string {
	s := fmt.Sprintf("duplicates %d, as of %d", p.Duplicates, p.AsOfMs)
	for _, by := range p.ByDc {
		s += fmt.Sprintf("\n%s charged %d refunded %d", by.ServingDc, by.ChargedMicros, by.RefundedMicros)
		for _, n := range by.Events {
			s += fmt.Sprintf(" type%d:%d", n.Type, n.Count)
		}
	}
	return s
}

func (w *recountSpend) describe() string {
	s := fmt.Sprintf("duplicates %d, as of %d", w.duplicates, w.asOf)
	dcs := map[string]bool{}
	for dc := range w.charged {
		dcs[dc] = true
	}
	for dc := range w.refunded {
		dcs[dc] = true
	}
	for _, dc := range slices.Sorted(maps.Keys(dcs)) {
		plus(w.charged, dc, 0)
		plus(w.refunded, dc, 0)
		s += fmt.Sprintf("\n%s charged %d refunded %d", dc, w.charged[dc], w.refunded[dc])
		for _, typ := range slices.Sorted(maps.Keys(w.count[dc])) {
			s += fmt.Sprintf(" type%d:%d", typ, w.count[dc][typ])
		}
	}
	return s
}

func cloneRecords(recs []stream.Record) []stream.Record {
	out := slices.Clone(recs)
	for i := range out {
		out[i].Value = bytes.Clone(out[i].Value)
		out[i].Headers = slices.Clone(out[i].Headers)
	}
	return out
}

func scribble(recs []stream.Record) {
	for _, r := range recs {
		for i := range r.Value {
			r.Value[i] = 0xaa
		}
	}
}

func cloneTables(tables map[byte]map[string][]byte, which ...byte) map[byte]map[string][]byte {
	out := map[byte]map[string][]byte{}
	for _, n := range which {
		out[n] = maps.Clone(tables[n])
		if out[n] == nil {
			out[n] = map[string][]byte{}
		}
	}
	return out
}
