package spendcounter

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// transaction is what the changelog has of one commit.
type transaction struct {
	commit stream.Commit
	rows   []stream.Change // of logged tables
	folded int             // records that are folded, in run.order
	rings  rings           // run.rings
}

// drawChangelog draws a run and returns the transactions that it committed.
func drawChangelog(t *rapid.T) (*run, []transaction) {
	r := newRun(t, testConfig(), drawLogs(t, shape{bad: true}))
	r.restarts = true
	var log []transaction
	r.store.committed = func(cm stream.Commit, list []stream.Change) {
		tx := transaction{commit: cm, folded: len(r.order), rings: r.rings}
		tx.rings.inputMs = maps.Clone(r.rings.inputMs)
		for _, c := range list {
			if c.Table < stream.FirstLocalTable {
				c.Key, c.Value = bytes.Clone(c.Key), bytes.Clone(c.Value)
				tx.rows = append(tx.rows, c)
			}
		}
		log = append(log, tx)
		if len(r.unread()) > 0 { // without input the 60 s would expire
			r.now += rapid.Int64Range(0, healthMs).Draw(t, "pause")
		}
	}
	r.all()
	return r, log
}

// healthReader reads the changelog record by record, as a program does that follows the topic.
type healthReader struct {
	run     *run
	rows    map[string]*eventspb.Spend
	task    *spendpb.TaskState
	healths int // that follow other rows of their transaction
}

// read checks each health row when it arrives.
func (h *healthReader) read(log []transaction) {
	t := h.run.fatal
	for i := range log {
		tx := &log[i]
		for j := range tx.rows {
			c := &tx.rows[j]
			switch c.Table {
			case TableSpend:
				delete(h.rows, string(c.Key))
				if p := (&eventspb.Spend{}); c.Op == stream.OpPut {
					unmarshal(t, c.Value, p)
					h.rows[string(c.Key)] = p
				}
			case TableTask:
				h.task = &spendpb.TaskState{}
				unmarshal(t, c.Value, h.task)
			case TableHealth:
				h.check(tx, c)
				if j > 0 {
					h.healths++
				}
				if j < len(tx.rows)-1 {
					t.Fatalf("SPEND-32: transaction %d has %d rows behind the health row", tx.commit.Sequence, len(tx.rows)-1-j)
				}
			}
		}
	}
}

func unmarshal(t fataler, value []byte, m proto.Message) {
	if err := proto.Unmarshal(value, m); err != nil {
		t.Fatalf("%T: %v", m, err)
	}
}

// check compares a health row with the rows that were read before it, and with a recount of the
// records that its transaction includes.
func (h *healthReader) check(tx *transaction, c *stream.Change) {
	t, p := h.run.fatal, &eventspb.SpendHistogram{}
	unmarshal(t, c.Value, p)
	dc, shard, err := ParseHealthKey(c.Key)
	if err != nil || dc != ownDC || shard != h.run.store.partition || p.WriterDc != dc || p.Shard != shard {
		t.Fatalf("health row %q of %v: %v", c.Key, p, err)
	}
	if cm := tx.commit; p.Incarnation != cm.Incarnation || p.OwnerEpoch != cm.OwnerEpoch || p.Sequence != cm.Sequence || p.WrittenAtMs != cm.NowMs {
		t.Fatalf("SPEND-32: transaction %d has a health row of another one: %v", cm.Sequence, p)
	}
	var micros, charged int64
	var count, counted uint64
	for _, row := range h.rows {
		for _, by := range row.ByDc {
			micros += by.ChargedMicros
			for _, n := range by.Events {
				count += n.Count
			}
		}
	}
	for _, o := range p.Origins {
		charged, counted = charged+o.CumulativeMicros, counted+o.CumulativeCount
	}
	if micros != charged || count != counted {
		t.Fatalf("SPEND-32: the health row of transaction %d has %d events of %d micros; the rows before it have %d of %d",
			p.Sequence, counted, charged, count, micros)
	}
	if p.ClosedDay != h.task.GetClosedDay() {
		t.Fatalf("SPEND-32: the health row of transaction %d has closed day %d, the task record %d", p.Sequence, p.ClosedDay, h.task.GetClosedDay())
	}
	h.checkProgress(tx, p)
}

// checkProgress compares the progress of each origin with the recount.
func (h *healthReader) checkProgress(tx *transaction, p *eventspb.SpendHistogram) {
	t, m := h.run.fatal, h.run.recountOf(h.run.order[:tx.folded])
	if p.TimestampMs != m.clock {
		t.Fatalf("health row %v: timestamp %d, want %d", p, p.TimestampMs, m.clock)
	}
	next := map[string]int64{} // the sum of the next offsets, by origin
	for _, l := range h.run.logs {
		switch {
		case l.adjustments:
		case l.copied:
			next[l.dc] = 0
		default:
			next[l.dc] = tx.commit.Next[l.topic]
		}
	}
	var sum uint64
	for _, o := range p.Origins {
		low, high := m.last60s(o.Dc, tx.rings, tx.commit.NowMs)
		var charged int64
		if m.micros[o.Dc] != nil {
			charged = m.micros[o.Dc].Int64()
		}
		if o.WatermarkMs != m.watermark[o.Dc] || o.CumulativeCount != m.count[o.Dc] || o.CumulativeMicros != charged || o.Lost != m.lost[o.Dc] ||
			o.Rejected != m.rejectedCopies[o.Dc] || o.Count_60S < low || o.Count_60S > high {
			t.Fatalf("health row of transaction %d, origin %v; want %d events of %d micros, %d to %d in 60 s, watermark %d, %d lost, %d rejected",
				p.Sequence, o, m.count[o.Dc], charged, low, high, m.watermark[o.Dc], m.lost[o.Dc], m.rejectedCopies[o.Dc])
		}
		if want, own := next[o.Dc]; own && want > 0 && o.OffsetSum != want {
			t.Fatalf("health row of transaction %d, origin %v; want offset %d", p.Sequence, o, want)
		}
		sum += o.Count_60S
	}
	if p.IngestCount != sum {
		t.Fatalf("health row of transaction %d has %d events in 60 s, its origins %d", p.Sequence, p.IngestCount, sum)
	}
}

// TestHealthIsLast: the health row is the last row of its transaction, and its figures are those of
// the rows before it and of a recount.
func TestHealthIsLast(t *testing.T) {
	followed := 0
	rapid.Check(t, func(t *rapid.T) {
		r, log := drawChangelog(t)
		h := healthReader{run: r, rows: map[string]*eventspb.Spend{}}
		h.read(log)
		followed += h.healths
	})
	if followed == 0 {
		t.Error("no health row follows other rows of its transaction")
	}
}

// TestHealthIsLastNotices: the reader of TestHealthIsLast reports each of these bugs.
func TestHealthIsLastNotices(t *testing.T) {
	// change returns a mutation of the first health row for which do returns true.
	change := func(do func(p *eventspb.SpendHistogram) bool) func(log []transaction) bool {
		return func(log []transaction) bool {
			for i := range log {
				rows := log[i].rows
				j := slices.IndexFunc(rows, func(c stream.Change) bool { return c.Table == TableHealth })
				if p := (&eventspb.SpendHistogram{}); j >= 0 {
					if err := proto.Unmarshal(rows[j].Value, p); err != nil {
						t.Fatal(err)
					}
					if do(p) {
						rows[j].Value = marshal(t, p)
						return true
					}
				}
			}
			return false
		}
	}
	origin := func(do func(o *eventspb.OriginHealth) bool) func(log []transaction) bool {
		return change(func(p *eventspb.SpendHistogram) bool { return slices.ContainsFunc(p.Origins, do) })
	}
	for name, mutate := range map[string]func(log []transaction) bool{ // false: the history has no such thing
		"the health is written first": func(log []transaction) bool {
			for i := range log {
				if rows := log[i].rows; len(rows) > 1 && rows[len(rows)-1].Table == TableHealth {
					log[i].rows = slices.Insert(rows[:len(rows)-1], 0, rows[len(rows)-1])
					return true
				}
			}
			return false
		},
		"a row is written one transaction later than its health": func(log []transaction) bool {
			for i := range log[:len(log)-1] {
				rows := log[i].rows
				j := slices.IndexFunc(rows, func(c stream.Change) bool { return c.Table == TableSpend && c.Op == stream.OpPut })
				if j >= 0 && rows[len(rows)-1].Table == TableHealth {
					log[i+1].rows = slices.Insert(log[i+1].rows, 0, rows[j])
					log[i].rows = slices.Delete(rows, j, j+1)
					return true
				}
			}
			return false
		},
		"the health is that of the transaction before": func(log []transaction) bool {
			var last *stream.Change
			for i := range log {
				for j := range log[i].rows {
					if c := &log[i].rows[j]; c.Table == TableHealth {
						if last != nil {
							c.Value = last.Value
							return true
						}
						last = c
					}
				}
			}
			return false
		},
		"the health is of another shard": func(log []transaction) bool {
			for i := range log {
				for j := range log[i].rows {
					if c := &log[i].rows[j]; c.Table == TableHealth {
						c.Key = HealthKey(ownDC, 4)
						return true
					}
				}
			}
			return false
		},
		"an event is counted twice":      origin(func(o *eventspb.OriginHealth) bool { o.CumulativeCount++; return true }),
		"an amount is missing":           origin(func(o *eventspb.OriginHealth) bool { o.CumulativeMicros--; return true }),
		"the watermark is an older one":  origin(func(o *eventspb.OriginHealth) bool { o.WatermarkMs--; return o.WatermarkMs > 0 }),
		"a lost copy is not counted":     origin(func(o *eventspb.OriginHealth) bool { o.Lost--; return o.Lost+1 > 0 }),
		"a rejected copy is not counted": origin(func(o *eventspb.OriginHealth) bool { o.Rejected--; return o.Rejected+1 > 0 }),
		"an event of 60 s is missing":    origin(func(o *eventspb.OriginHealth) bool { o.Count_60S--; return o.Count_60S+1 > 0 }),
		"the newest time is older":       change(func(p *eventspb.SpendHistogram) bool { p.TimestampMs--; return true }),
		"the sum of 60 s is not that of the origins": change(func(p *eventspb.SpendHistogram) bool {
			p.IngestCount++
			return true
		}),
		"the closed day is another one": change(func(p *eventspb.SpendHistogram) bool { p.ClosedDay++; return true }),
		"none":                          func([]transaction) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			found := ""
			for seed := 0; seed < 40 && found == ""; seed++ {
				var r *run
				var log []transaction
				rapid.Custom(func(t *rapid.T) bool { r, log = drawChangelog(t); return true }).Example(seed)
				if mutate(log) {
					h := healthReader{run: r, rows: map[string]*eventspb.Spend{}}
					found = reported(r, func() { h.read(log) })
				}
			}
			if (found == "") != (name == "none") {
				t.Errorf("40 histories: it reports %q", found)
			}
		})
	}
}
