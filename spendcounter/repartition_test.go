package spendcounter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// fleet is the counters of all shards of one layout, with their inputs.
type fleet struct {
	t      testing.TB
	cfg    Config
	shards []*shard
}

type shard struct {
	*store
	c      *Counter
	inputs map[string][]stream.Record
}

func newFleet(t testing.TB, cfg Config, shards int32) *fleet {
	cfg.Shard = func(account []byte) int32 { return events.ShardBytes(account, shards) }
	f := &fleet{t: t, cfg: cfg}
	for p := range shards {
		s := &shard{store: newStore(), inputs: map[string][]stream.Record{}}
		s.partition, s.localNext = p, nil
		f.shards = append(f.shards, s)
	}
	return f
}

func (f *fleet) start() {
	for _, s := range f.shards {
		s.c = mustNew(f.t, f.cfg, s.store)
		f.rebuild(s, s.c)
	}
}

// rebuild reads the inputs again before the first fold, as the runtime does.
func (f *fleet) rebuild(s *shard, c *Counter) {
	for topic, from := range c.RebuildFrom() {
		if next := s.next[topic]; from < next {
			b := &stream.Batch{Topic: topic, Partition: s.partition, Records: cloneRecords(s.inputs[topic][from:next])}
			if err := c.Rebuild(b); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}

// send appends a message of an account to the input of its shard and folds it.
func (f *fleet) send(topic, account string, ms int64, m proto.Message) {
	f.t.Helper()
	s := f.shards[events.Shard(account, int32(len(f.shards)))]
	b := &stream.Batch{Topic: topic, Partition: s.partition, NowMs: ms, Records: []stream.Record{{
		Value: marshal(f.t, m), Offset: s.next[topic], TimeMs: ms,
	}}}
	s.inputs[topic] = append(s.inputs[topic], cloneRecords(b.Records)...)
	s.next[topic]++
	if err := s.c.Fold(b); err != nil || len(b.Rejects) > 0 {
		f.t.Fatal(err, b.Rejects)
	}
}

func (f *fleet) flush(ms int64) {
	f.t.Helper()
	for _, s := range f.shards {
		s.flush(f.t, s.c, ms)
	}
}

// repartitioned returns the fleet with another number of shards. Its counters are not started.
func (f *fleet) repartitioned(to int32) (*fleet, error) {
	m, err := NewRepartitioner(f.cfg, int32(len(f.shards)), to)
	if err != nil {
		return nil, err
	}
	into := newFleet(f.t, f.cfg, to)
	put := func(p int32, table byte, key, value []byte) error {
		t := into.shards[p].tables
		if t[table] == nil {
			t[table] = map[string][]byte{}
		}
		if _, twice := t[table][string(key)]; twice {
			return fmt.Errorf("table %d, key %q is there twice", table, key)
		}
		t[table][string(key)] = slices.Clone(value)
		return nil
	}
	for _, s := range f.shards {
		for _, table := range []byte{TableSpend, TableTask, TableMovedIDs, TableBuckets, TableReferences, TableImports, TableCampaigns, TableHours, TableParts} {
			for key, value := range s.tables[table] {
				p, ok, err := m.Partition(table, []byte(key), value)
				if err == nil && ok {
					err = put(p, table, []byte(key), value)
				}
				if err != nil {
					return nil, err
				}
			}
		}
		c, err := m.Source(s.task())
		if err != nil {
			return nil, err
		}
		f.rebuild(s, c)
		if err := m.Extract(c, put); err != nil {
			return nil, err
		}
	}
	return into, m.Finish(put)
}

// total is the spend of a campaign in the simple recount.
type total struct {
	micros, refunded  int64
	count, duplicates uint64
}

// check compares the sums of all rows with want, and every task record with its rows.
func (f *fleet) check(want map[string]total) {
	f.t.Helper()
	got := map[string]total{}
	for p, s := range f.shards {
		var sum sums
		campaigns := map[string]bool{}
		for key, m := range s.spends(f.t) {
			if at := events.Shard(m.Account, int32(len(f.shards))); int(at) != p {
				f.t.Fatalf("%s is in shard %d, and its account belongs to %d", key, p, at)
			}
			if _, indexed := s.tables[TableCampaigns][m.Campaign+"\x00"+m.Account]; !indexed {
				f.t.Fatalf("shard %d has campaign %s of account %s, and the index %v", p, m.Campaign, m.Account, s.tables[TableCampaigns])
			}
			campaigns[m.Campaign] = true
			of, all := sumsOf(m), got[m.Campaign] // of all days
			sum.add(of)
			got[m.Campaign] = total{all.micros + of.micros, all.refunded + of.refunded, all.count + of.count, all.duplicates + of.duplicates}
		}
		if len(s.tables[TableCampaigns]) != len(campaigns) {
			f.t.Fatalf("shard %d has %d campaigns, and the index %v", p, len(campaigns), s.tables[TableCampaigns])
		}
		state := s.taskState(f.t)
		is := sums{duplicates: state.Duplicates, refunded: state.RefundedMicros}
		for _, o := range state.Origins {
			is.count, is.micros = is.count+o.Count, is.micros+o.Micros
		}
		if is != sum {
			f.t.Fatalf("shard %d: the task record has %+v, its campaign days %+v", p, is, sum)
		}
	}
	if !maps.Equal(got, want) {
		f.t.Fatalf("got  %v\nwant %v", got, want)
	}
	for _, s := range f.shards {
		if len(s.tables[TableTask]) > 0 {
			s.flush(f.t, s.c, 0) // the first one after a move makes the rankings
		}
		checkRanking(f.t, s.store, 2)
	}
}

// figures returns the sums over all shards of figures without an account, and their clocks.
func (f *fleet) figures() (refunds, early uint64, clocks [2]int64) {
	for _, s := range f.shards {
		state := s.taskState(f.t)
		refunds, early = refunds+state.Refunds, early+state.EarlyDrops
		clocks = [2]int64{max(clocks[0], state.TimestampMs), max(clocks[1], int64(state.ClosedDay))}
	}
	return refunds, early, clocks
}

// unchanged returns the rows that a move does not change, each in the shard of its account: hours,
// and the adjustments that were applied.
func (f *fleet) unchanged() map[string]string {
	all := map[string]string{}
	for p, s := range f.shards {
		for _, table := range []byte{TableReferences, TableHours, TableParts} {
			for key, value := range s.tables[table] {
				account, _, _ := strings.Cut(key, "\x00")
				if at := events.Shard(account, int32(len(f.shards))); int(at) != p {
					f.t.Fatalf("key %q is in shard %d, and its account belongs to %d", key, p, at)
				}
				all[key] = string(value)
			}
		}
	}
	return all
}

// TestMovesChangeNothing counts events and adjustments, new and repeated. The number of shards
// changes several times, and counters restart without their local tables. The result is compared
// with a recount without shards.
func TestMovesChangeNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		t := rapidTB{t, rt}
		f := newFleet(t, Config{DC: ownDC, DuplicateWindow: 24 * time.Hour, ranking: 2, Hours: true, Parts: 2, Retention: time.Hour}, rapid.Int32Range(1, 7).Draw(rt, "shards"))
		f.start()
		want, seen, refunded, ms := map[string]total{}, map[string]bool{}, map[string]bool{}, epochMs
		begin := ms
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			ms += rapid.Int64Range(0, 1000).Draw(rt, "pause")
			account := fmt.Sprint("a", rapid.IntRange(0, 9).Draw(rt, "account"))
			campaign, id := "c-"+account, fmt.Sprint(rapid.IntRange(0, 20).Draw(rt, "id"))
			w := want[campaign]
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0:
				f.flush(ms)
				f.start()
			case 1, 2:
				f.flush(ms)
				refunds, early, clock := f.figures()
				rows := f.unchanged()
				to, err := f.repartitioned(rapid.Int32Range(1, 7).Draw(rt, "to"))
				if err != nil {
					rt.Fatal(err)
				}
				to.start()
				f = to
				if r, e, c := f.figures(); r != refunds || e != early || c != clock {
					rt.Fatalf("%d refunds, %d early rotations at %d became %d, %d at %d", refunds, early, clock, r, e, c)
				}
				if now := f.unchanged(); !maps.Equal(now, rows) {
					rt.Fatalf("rows %q became %q", rows, now)
				}
				if len(want) > 0 {
					f.check(want)
				}
			case 4: // four days later the earlier events are not duplicates, and their day is closed
				ms, seen = ms+4*dayMs, map[string]bool{}
				begin = ms
			case 3:
				a := goodAdjustment()
				a.Account, a.Campaign, a.ReferenceId, a.Micros = account, campaign, id, rapid.Int64Range(1, 9).Draw(rt, "refund")
				if key := account + "/" + id; refunded[key] {
					w.duplicates++
				} else {
					refunded[key] = true
					w.refunded += a.Micros
				}
				want[campaign] = w
				f.send(events.AdjustmentsTopic, account, ms, a)
			default:
				e := eventAt(0, ms)
				e.Account, e.Campaign, e.EventId, e.PriceMicros = account, campaign, id, rapid.Int64Range(0, 9).Draw(rt, "price")
				e.BudgetDay = int32(events.UTCDay(ms))
				e.EventMs = begin - hourMs*int64(len(id)) // of all events with the id
				if key := account + "/" + id; seen[key] {
					w.duplicates++
				} else {
					seen[key] = true
					w.micros, w.count = w.micros+e.PriceMicros, w.count+1
				}
				want[campaign] = w
				f.send(events.EventsTopic, account, ms, e)
			}
		}
		f.flush(ms)
		f.check(want)
	})
}

// rapidTB is a test whose failures are reported to rapid.
type rapidTB struct {
	testing.TB
	rapid *rapid.T
}

func (t rapidTB) Fatal(args ...any)                 { t.rapid.Fatal(args...) }
func (t rapidTB) Fatalf(format string, args ...any) { t.rapid.Fatalf(format, args...) }
func (t rapidTB) Helper()                           {}

// TestWindowSpansMoves repeats one event at growing distances, with one or two moves between.
// Inside the window it is always a duplicate, beyond twice the window never, and in the end no
// moved id is left.
func TestWindowSpansMoves(t *testing.T) {
	const window = 600_000
	for _, sizes := range [][]int32{{2, 4}, {4, 2}, {2, 3}, {3, 2, 5}, {1, 4, 1}} {
		for _, distance := range []int64{0, 1, window / 2, window - 1, 2*window + 60_000} {
			for _, phase := range []int64{0, window / 2, window - 1} {
				f := newFleet(t, Config{}, sizes[0])
				f.start()
				n := 0
				tick := func(ms int64) { // other events advance the clock of every shard
					for a := range 12 {
						n++
						e := eventAt(n, ms)
						e.Account = fmt.Sprint("a", a)
						f.send(events.EventsTopic, e.Account, ms, e)
					}
				}
				tick(epochMs)
				at := epochMs + phase
				tick(at)
				e := eventAt(-1, at)
				e.Account = "a1"
				f.send(events.EventsTopic, "a1", at, e)
				moves := sizes[1:]
				for ms := at; ms <= at+distance; ms += 30_000 {
					if ms-at >= distance/2 && len(moves) > 0 {
						for _, size := range moves {
							f.flush(ms)
							to, err := f.repartitioned(size)
							if err != nil {
								t.Fatal(err)
							}
							to.start()
							f = to
						}
						moves = nil
					}
					tick(ms)
				}
				_, early, _ := f.figures()
				before := f.duplicates(at + distance)
				e.IngestMs = at + distance
				f.send(events.EventsTopic, "a1", at+distance, e)
				if got := f.duplicates(at+distance) == before+1; got != (distance < window) || early > 0 {
					t.Errorf("%v, again after %v (phase %v): duplicate %v, %d early rotations", sizes, time.Duration(distance)*time.Millisecond,
						time.Duration(phase)*time.Millisecond, got, early)
				}
				if distance > 0 {
					continue
				}
				if f.countMovedIDs() == 0 {
					t.Errorf("%v: no ids were moved", sizes)
				}
				for ms := at; ms <= at+2*window+60_000; ms += 30_000 {
					tick(ms)
				}
				if f.flush(at + 3*window); f.countMovedIDs() > 0 {
					t.Errorf("%v: %d values of moved ids are left after two windows", sizes, f.countMovedIDs())
				}
			}
		}
	}
}

func (f *fleet) countMovedIDs() (n int) {
	for _, s := range f.shards {
		n += len(s.tables[TableMovedIDs])
	}
	return n
}

func (f *fleet) duplicates(ms int64) (n uint64) {
	f.flush(ms)
	for _, s := range f.shards {
		n += s.taskState(f.t).Duplicates
	}
	return n
}

// TestMoveRefuses covers states that cannot be moved correctly.
func TestMoveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		words  string
		mutate func(s *shard)
		to     int32
	}{
		"a task record that does not add up": {"does not add up", func(s *shard) {
			state := s.taskState(t)
			state.Origins[0].Micros++
			s.tables[TableTask][TaskKey] = marshal(t, state)
		}, 2},
		"events copied from another datacentre": {"copied from", func(s *shard) {
			state := s.taskState(t)
			state.Origins = append(state.Origins, &spendpb.Origin{Dc: otherDC, Applied: []*spendpb.Applied{{Partition: 3, Next: 9}}})
			s.tables[TableTask][TaskKey] = marshal(t, state)
		}, 2},
		"keys of another layout": {"count from the start", func(s *shard) {
			state := s.taskState(t)
			state.Layout = 0
			s.tables[TableTask][TaskKey] = marshal(t, state)
		}, 2},
		"more than int64 holds": {"int64", func(s *shard) {
			for key, p := range s.spends(t) {
				p.ByDc[0].ChargedMicros = 1<<62 + 1
				s.tables[TableSpend][key] = marshal(t, p)
			}
			state := s.taskState(t)
			state.Origins[0].Micros = 1<<62 + 1
			s.tables[TableTask][TaskKey] = marshal(t, state)
		}, 1},
		"no shards":       {"1 to 1024", func(*shard) {}, 0},
		"too many shards": {"1 to 1024", func(*shard) {}, 1025},
	} {
		f := newFleet(t, Config{DC: ownDC}, 2)
		f.start()
		for a := range 9 { // some in each shard
			e := eventAt(a, epochMs)
			e.Account, e.Campaign = fmt.Sprint("a", a), "c"
			f.send(events.EventsTopic, e.Account, epochMs, e)
		}
		f.flush(epochMs)
		for _, s := range f.shards {
			if c.mutate(s); len(s.tables[TableSpend]) == 0 {
				t.Fatal("a shard is empty")
			}
		}
		if _, err := f.repartitioned(c.to); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := NewRepartitioner(Config{}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Partition(stream.TimerTable-1, []byte("k"), nil); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("a table of a newer version: %v", err)
	}
}
