package spendcounter

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/idset"
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
	fatal fataler // gets what the checks find: t, unless a test sets another
	cfg   Config
	logs  []*topicLog
	store *store
	c     *Counter
	now   int64

	order     []folded // folded, in order
	committed int      // how many of them are committed
	refused   map[*topicLog]map[int64]string
	rings     rings
	rebuilt   bool // ids were read from the log again, topic by topic: which copy came first is not known

	restarts bool
	locals   []snapshot // earlier local tables
}

// rings is what decides how many events the rings by ingest time have.
type rings struct {
	exact   bool             // the rings were never restored from sums by the second
	inputMs map[string]int64 // wall time of the last batch of each origin, of this counter
	from    map[string]int64 // first offset of each topic from which this counter has read all
}

// snapshot is the local tables at a commit.
type snapshot struct {
	tables map[byte]map[string][]byte
	next   map[string]int64
}

func testConfig() Config {
	return Config{
		DC: ownDC, Shard: anyShard, DuplicateWindow: 90 * time.Second, OutOfOrderness: 10 * time.Second, MaxIDs: 1 << 10, CacheEntries: 1 << 10, ranking: 2,
		Hours: true, Parts: 2, Retention: 34*time.Hour + 23*time.Minute + 20*time.Second, // 2023-11-12 is closed ten minutes after epochMs
		closingRows: 3,
		Inputs: Inputs{
			Events: events.EventsTopic, Adjustments: events.AdjustmentsTopic,
			Copied:            map[string]string{events.CopiedEventsTopic(otherDC): otherDC, events.CopiedEventsTopic(thirdDC): thirdDC},
			CopiedAdjustments: map[string]string{events.CopiedAdjustmentsTopic(otherDC): otherDC},
		},
	}
}

func newRun(t *rapid.T, cfg Config, logs []*topicLog) *run {
	r := &run{
		t: t, fatal: t, cfg: cfg, logs: logs, store: newStore(), now: epochMs,
		rings:   rings{exact: true, inputMs: map[string]int64{}, from: map[string]int64{}},
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
		open := r.unread()
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
	r.settle()
}

// unread returns the logs that are not folded to their ends.
func (r *run) unread() (list []*topicLog) {
	for _, l := range r.logs {
		if l.after(r.store.next[l.topic]) < len(l.recs) {
			list = append(list, l)
		}
	}
	return list
}

// settle commits until no row of a closed day is left.
func (r *run) settle() {
	for tries := 0; r.c.closing.done != r.c.closing.through; tries++ {
		if tries > 2+2*len(r.store.tables[TableSpend]) {
			r.t.Fatalf("rows of closed days are left after %d commits: %+v", tries, r.c.closing)
		}
		r.flush()
	}
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
	if !l.adjustments {
		r.rings.inputMs[l.dc] = r.now
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
	for _, l := range r.logs { // an origin without input since New: its window does not expire yet
		if _, ok := r.rings.inputMs[l.dc]; !ok {
			r.rings.inputMs[l.dc] = r.now
		}
	}
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
	r.rings.exact = r.rings.exact && s.localNext == nil
	r.rings.inputMs = map[string]int64{}
	r.c = mustNew(r.t, r.cfg, s)
	saved, from := r.savedRings(), maps.Clone(r.rings.from)
	for _, l := range r.logs { // what the counter reads again where it has no newer rings
		if first := start(r.c.ringSpans.oldest(), l.topic); saved == nil || start(saved, l.topic) < first {
			from[l.topic] = first
		}
	}
	r.rings.from = from
	r.warm()
}

func (r *run) warm() {
	r.rebuilt = true
	from := r.c.RebuildFrom()
	for _, l := range rapid.Permutation(r.logs).Draw(r.t, "warm order") {
		if from[l.topic] != 0 && from[l.topic] != r.store.next[l.topic] && !r.marked(l.topic, from[l.topic]) {
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
	marks := []*spendpb.Mark{r.c.ringSpans.previous, r.c.ringSpans.current}
	for _, b := range r.c.window.buckets {
		marks = append(marks, b.since)
	}
	for _, m := range marks {
		if m != nil && start(m, topic) == offset {
			return true
		}
	}
	saved := r.savedRings()
	return saved != nil && start(saved, topic) == offset
}

// savedRings returns the offsets up to which the rings of the local tables count; nil: there are
// none.
func (r *run) savedRings() *spendpb.Mark {
	saved := &spendpb.LocalState{}
	if err := proto.Unmarshal(r.store.tables[TableRings][ringsKey], saved); err != nil {
		r.t.Fatal(err)
	}
	if r.store.localNext == nil {
		return nil
	}
	return saved.AsOf
}

// recount counts the folded records in the same order with the simple implementation, and checks
// the rejections.
func (r *run) recount() *recount { return r.recountOf(r.order) }

func (r *run) recountOf(order []folded) *recount {
	m := newRecount(r.cfg)
	for _, f := range order {
		rec := &f.log.recs[f.i]
		want := f.log.bad[rec.Offset]
		switch {
		case want != "" && f.log.copied:
			if !m.reject(f.log, rec) {
				want = ""
			}
		case want != "":
		case f.log.adjustments:
			want = m.adjustment(f.log.dc, f.log.copied, rec)
		default:
			want = m.event(f.log, rec)
		}
		if got := r.refused[f.log][rec.Offset]; got != want {
			r.fatal.Fatalf("%s offset %d: refused %q, want %q", f.log.topic, rec.Offset, got, want)
		}
	}
	return m
}

// check compares everything with the recount.
func (r *run) check() {
	m, s, t := r.recount(), r.store, r.fatal
	m.closeDays()
	got, pairs := s.spends(t), map[string]bool{}
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
		pair := p.Campaign + "\x00" + p.Account
		if _, indexed := s.tables[TableCampaigns][pair]; !indexed {
			t.Fatalf("%q has spend and no index row", pair)
		}
		pairs[pair] = true
		if account, campaign, day, currency, err := ParseKey([]byte(key)); err != nil || string(campaign) != p.Campaign ||
			string(account) != p.Account || int32(day) != p.BudgetDay || currency.String() != p.Currency {
			t.Fatalf("key %q holds %v", key, p)
		}
	}
	if len(got) != len(m.spend) || len(pairs) != len(s.tables[TableCampaigns]) {
		t.Fatalf("%d campaign days, want %d; %d index rows, want %d", len(got), len(m.spend), len(s.tables[TableCampaigns]), len(pairs))
	}
	checkRanking(t, s, r.cfg.ranking)
	checkReferences(t, s, m)
	checkHours(t, s, m)
	checkParts(t, s, m)
	r.checkTask(m)
}

// checkHours compares the hours of all campaign days with the recount.
func checkHours(t fataler, s *store, m *recount) {
	got, want := map[string]tally{}, map[string]tally{}
	for key, p := range s.spends(t) {
		for _, h := range p.Hours {
			got[string(appendHourKey(nil, []byte(key), h.Hour))] = tally{h.ChargedMicros, h.Events}
		}
		if len(p.Hours) > 1 || p.BudgetDay == 0 && len(p.Hours) > 0 {
			t.Fatalf("spend of %q has the hours %v", key, p.Hours)
		}
	}
	for key, value := range s.tables[TableHours] {
		p := &eventspb.SpendHour{}
		if err := proto.Unmarshal(value, p); err != nil {
			t.Fatalf("%v", err)
		}
		spendKey, hour, err := ParseHourKey([]byte(key))
		currency, bad := events.ParseCurrency(p.Currency)
		if own := AppendKey(nil, []byte(p.Account), []byte(p.Campaign), events.Day(p.BudgetDay), currency); err != nil || bad != nil ||
			hour != p.Hour.GetHour() || !bytes.Equal(spendKey, own) || !bytes.Equal(value, must(proto.Marshal(p))) {
			t.Fatalf("hour %q has %v: %v, %v", key, p, err, bad)
		}
		if _, twice := got[key]; twice {
			t.Fatalf("hour %q is the newest one of its day and has a row", key)
		}
		got[key] = tally{p.Hour.GetChargedMicros(), p.Hour.GetEvents()}
	}
	for key, p := range m.spend {
		for hour, sum := range p.hours {
			want[string(appendHourKey(nil, []byte(key), hour))] = sum
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("hours are\n%v\nwant\n%v", got, want)
	}
}

// checkReferences compares the adjustments that were applied with the recount.
func checkReferences(t fataler, s *store, m *recount) {
	if len(s.tables[TableReferences]) != len(m.references) {
		t.Fatalf("%d references, want %d", len(s.tables[TableReferences]), len(m.references))
	}
	for key, want := range m.references {
		got, err := ParseReference(s.tables[TableReferences][key])
		if err != nil {
			t.Fatalf("reference %q: %v", key, err)
		}
		if w := (&spendpb.AppliedAdjustment{
			Campaign: want.Campaign, BudgetDay: want.BudgetDay, Currency: want.Currency, Micros: want.Micros, ServingDc: want.ServingDc,
			Reason: want.Reason, IngestMs: want.ingest, Duplicates: want.duplicates, Conflicts: want.conflicts,
		}); !proto.Equal(got, w) {
			t.Fatalf("reference %q is\n%v\nwant\n%v", key, got, w)
		}
	}
}

func (r *run) checkTask(m *recount) {
	t, s := r.fatal, r.store
	if len(r.order) == 0 {
		return
	}
	state := s.taskState(t)
	if state.Duplicates != m.duplicates || state.TimestampMs != m.clock || state.EarlyDrops != m.early ||
		state.RefundedMicros != m.refunded.Int64() || r.cfg.Retention == 0 && state.OverRefunds != m.overRefunds || !r.rebuilt && state.Conflicts != m.conflicts {
		t.Fatalf("task record %v; want %d duplicates, clock %d, %d early drops, %d conflicts, %d over-refunds", state, m.duplicates, m.clock, m.early, m.conflicts, m.overRefunds)
	}
	for _, o := range state.Origins {
		micros := int64(0)
		if m.micros[o.Dc] != nil {
			micros = m.micros[o.Dc].Int64()
		}
		if o.Count != m.count[o.Dc] || o.Micros != micros || o.Lost != m.lost[o.Dc] || o.Rejected != m.rejectedCopies[o.Dc] ||
			o.TransportDuplicates != m.transportDuplicates[o.Dc] || o.Late != m.late[o.Dc] || o.WatermarkMs != m.watermark[o.Dc] {
			t.Fatalf("origin %v; want %d events, %d micros, %d lost, %d again, %d late at %d", o, m.count[o.Dc], micros, m.lost[o.Dc],
				m.transportDuplicates[o.Dc], m.late[o.Dc], m.watermark[o.Dc])
		}
	}
	r.checkAudits(m)
	r.checkIDs(m.live())
	r.now += healthMs
	r.store.flush(t, r.c, r.now)
	for _, o := range s.health(t).Origins {
		if low, high := m.last60s(o.Dc, r.rings, r.now); o.Count_60S < low || o.Count_60S > high {
			t.Fatalf("%s: %d events in 60 s, want %d to %d", o.Dc, o.Count_60S, low, high)
		}
	}
}

// last60s returns the number of events of an origin in the 60 s up to its greatest ingest time plus
// its time without input. Rings that were restored from sums by the second may have events of one
// more second. A ring that was read from the log again may have no events of before: those of an
// origin whose clock is behind that of another one.
func (m *recount) last60s(dc string, w rings, now int64) (low, high uint64) {
	clock := m.watermark[dc]
	if input, ok := w.inputMs[dc]; ok {
		clock += max(0, now-input-idleMs)
	}
	most := clock - 60_000
	if !w.exact {
		most -= 1000
	}
	for _, a := range m.arrivals {
		if a.log.dc != dc {
			continue
		}
		if a.ms > clock-60_000 && a.offset >= w.from[a.log.topic] {
			low++
		}
		if a.ms > most {
			high++
		}
	}
	return low, high
}

// checkAudits compares the minutes that have ended with the recount.
func (r *run) checkAudits(m *recount) {
	got := map[string][]*eventspb.SpendAudit{}
	for _, p := range r.store.audits {
		if p.WriterDc != r.cfg.DC || p.Shard != r.store.partition || p.Incarnation != 1 || p.OwnerEpoch != 7 || p.Sequence == 0 {
			r.fatal.Fatalf("audit %v", p)
		}
		p = proto.CloneOf(p)
		p.WriterDc, p.Shard, p.Incarnation, p.OwnerEpoch, p.Sequence = "", 0, 0, 0, 0
		got[p.Origin] = append(got[p.Origin], p)
	}
	for _, l := range r.logs {
		if want := m.minutes(l.dc); !slices.EqualFunc(got[l.dc], want, func(a, b *eventspb.SpendAudit) bool { return proto.Equal(a, b) }) {
			r.fatal.Fatalf("the minutes of %s are\n%v\nwant\n%v", l.dc, got[l.dc], want)
		}
	}
}

// checkIDs compares the duplicate set with the ids of the recount.
func (r *run) checkIDs(want map[int64]map[string]int64) {
	if ids, _ := r.c.window.inMemory(); ids > r.cfg.MaxIDs {
		r.fatal.Fatalf("%d ids are in memory after a commit, at most %d are allowed", ids, r.cfg.MaxIDs)
	}
	if len(r.c.window.buckets) != len(want) {
		r.fatal.Fatalf("%d buckets, want %d", len(r.c.window.buckets), len(want))
	}
	for _, b := range r.c.window.buckets {
		if b.set == nil {
			if err := r.c.loadBucket(b); err != nil {
				r.fatal.Fatalf("%v", err)
			}
		}
		if b.set.Len() != len(want[b.from]) || b.room != r.cfg.MaxIDs/2-b.set.Len() {
			r.fatal.Fatalf("bucket %d: %d ids and room for %d, want %d ids", b.from, b.set.Len(), b.room, len(want[b.from]))
		}
		for id, price := range want[b.from] {
			account, event, _ := strings.Cut(id, "\x00")
			if !b.set.Has(idset.ID(events.EventHash([]byte(account), []byte(event)), uint64(price))) {
				r.fatal.Fatalf("bucket %d: id %q is missing", b.from, id)
			}
		}
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
