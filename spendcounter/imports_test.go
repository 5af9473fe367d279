package spendcounter

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// importer produces the rows of a file that was imported.
type importer struct {
	t  *testing.T
	s  *store
	id events.ImportID
}

// rows returns the events from to to of the file as records, at time now. They are days old.
func (p *importer) rows(from, to int, now int64) *stream.Batch {
	b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: now}
	for i := from; i < to; i++ {
		e := eventAt(i, epochMs-10*dayMs+int64(i))
		e.IngestMs = 0
		b.Records = append(b.Records, stream.Record{
			Value: marshal(p.t, e), Offset: p.s.next[b.Topic], TimeMs: now,
			Headers: []stream.Header{{Key: events.ImportHeader, Value: events.AppendImport(nil, p.id, int64(i)*3)}},
		})
		p.s.next[b.Topic]++
	}
	return b
}

// TestImportCountsOnce imports a file, a part of it again at once, and all of it again half an hour
// and a restart later: each row is charged once, and none is late, whatever the setting.
func TestImportCountsOnce(t *testing.T) {
	for _, reject := range []bool{false, true} {
		for _, local := range []bool{false, true} {
			s, cfg := newStore(), testConfig()
			cfg.RejectLate = reject
			c, p := mustNew(t, cfg, s), importer{t, s, events.ImportID{1}}
			fold := func(b *stream.Batch) {
				t.Helper()
				if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
					t.Fatal(err, b.Rejects)
				}
			}
			restart := func() {
				t.Helper()
				if s.flush(t, c, epochMs); !local {
					s.localNext = nil
				}
				c = mustNew(t, cfg, s)
			}
			fold(p.rows(0, 300, epochMs)) // interrupted
			fold(p.rows(0, 100, epochMs))
			restart()
			fold(p.rows(0, 700, epochMs))
			restart()
			feed(t, c, s, events.EventsTopic, epochMs+1_800_000, epochMs, beatAt(epochMs+1_800_000))
			fold(p.rows(0, 700, epochMs+1_800_000))
			if got := c.Stats(); c.micros != 700*5 || got.Late != 0 || got.Duplicates != 100+300+700 || got.Conflicts != 0 {
				t.Fatalf("%d micros, %+v", c.micros, got)
			}
			p.id = events.ImportID{2} // another file with the same rows
			fold(p.rows(0, 700, epochMs+1_800_000))
			if c.micros != 2*700*5 {
				t.Fatalf("%d micros after another import", c.micros)
			}
			s.flush(t, c, epochMs)
			if n := len(s.tables[TableImports]); n != 2 {
				t.Fatalf("%d positions of 2 imports", n)
			}
		}
	}
}

// TestImportsOfTwoRuns: two runs of one import at the same time charge each row once.
func TestImportsOfTwoRuns(t *testing.T) {
	s := newStore()
	c, p := mustNew(t, testConfig(), s), importer{t, s, events.ImportID{1}}
	for _, span := range [][2]int{{0, 10}, {0, 25}, {10, 20}, {25, 26}, {20, 60}, {26, 60}} {
		if err := c.Fold(p.rows(span[0], span[1], epochMs)); err != nil {
			t.Fatal(err)
		}
	}
	if c.micros != 60*5 || c.duplicates != 10+10+6+34 {
		t.Fatalf("%d micros, %d duplicates", c.micros, c.duplicates)
	}
}

// TestImportedEventsAreKnown: an imported event that is in time is checked for duplicates like any
// other.
func TestImportedEventsAreKnown(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	for i, header := range []bool{false, true, true, false} {
		b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, Records: []stream.Record{{Value: marshal(t, eventAt(7, epochMs)), Offset: int64(i), TimeMs: epochMs}}}
		if header {
			b.Records[0].Headers = []stream.Header{{Key: events.ImportHeader, Value: events.AppendImport(nil, events.ImportID{9}, int64(i))}}
		}
		if err := c.Fold(b); err != nil {
			t.Fatal(err)
		}
	}
	if c.micros != 5 || c.duplicates != 3 {
		t.Fatalf("%d micros, %d duplicates", c.micros, c.duplicates)
	}
}

// TestBadImport: a malformed header, or two, is a dead letter.
func TestBadImport(t *testing.T) {
	good := stream.Header{Key: events.ImportHeader, Value: events.AppendImport(nil, events.ImportID{9}, 1)}
	for _, headers := range [][]stream.Header{
		{good, good},
		{{Key: events.ImportHeader}},
		{{Key: events.ImportHeader, Value: good.Value[1:]}},
		{{Key: events.ImportHeader, Value: events.AppendImport(nil, events.ImportID{}, -1)}},
	} {
		c := mustNew(t, testConfig(), newStore())
		b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, Records: []stream.Record{{Value: marshal(t, goodEvent()), TimeMs: epochMs, Headers: headers}}}
		if err := c.Fold(b); err != nil || len(b.Rejects) != 1 || b.Rejects[0].Reason != ReasonBadImport {
			t.Error(fmt.Sprint(headers), err, b.Rejects)
		}
	}
}

// TestReplayedDeadLetters: a dead letter that was replayed is charged, although it is late or its
// import has passed it.
func TestReplayedDeadLetters(t *testing.T) {
	cfg := testConfig()
	cfg.RejectLate = true
	s := newStore()
	c, p := mustNew(t, cfg, s), importer{t, s, events.ImportID{1}}
	if err := c.Fold(p.rows(5, 6, epochMs)); err != nil {
		t.Fatal(err)
	}
	again := stream.Header{Key: ReplayHeader, Value: []byte("ads.events/3/1")}
	b := p.rows(1, 4, epochMs)
	b.Records[0].Headers = append([]stream.Header{again}, b.Records[0].Headers...)
	b.Records[1].Headers = append(b.Records[1].Headers, again) // kafkaadmin puts it last
	b.Records[2].Headers = []stream.Header{again}
	if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
		t.Fatal(err, b.Rejects)
	}
	if c.micros != 4*5 || c.duplicates != 0 || c.imports[p.id] != 5*3+1 {
		t.Errorf("%d micros, %d duplicates, the import is at %d", c.micros, c.duplicates, c.imports[p.id])
	}
}
