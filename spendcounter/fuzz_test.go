package spendcounter

import (
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// FuzzFold passes arbitrary bytes on every topic. The fold neither fails nor panics, and the
// records that it writes can be read.
func FuzzFold(f *testing.F) {
	f.Add([]byte{}, []byte{}, int64(0), uint8(0))
	e, a := goodEvent(), goodAdjustment()
	f.Add(marshal(f, e), events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: 9, Previous: 8}), epochMs, uint8(0))
	f.Add(marshal(f, e), events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: 9, Previous: 8}), epochMs, uint8(1))
	f.Add(marshal(f, a), []byte{}, epochMs, uint8(2))
	for _, x := range rejects() {
		if x.event != nil {
			e := goodEvent()
			x.event(e)
			f.Add(marshal(f, e), events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: 9, Previous: 8}), epochMs, uint8(0))
		}
	}
	f.Add(marshal(f, e), []byte("short"), int64(-1), uint8(1))
	f.Add(marshal(f, e), events.AppendImport(nil, events.ImportID{1}, 7), epochMs, uint8(129))
	f.Add(marshal(f, e), []byte{}, int64(1)<<62, uint8(0))
	topics := []string{events.EventsTopic, events.CopiedEventsTopic(otherDC), events.AdjustmentsTopic, events.CopiedAdjustmentsTopic(otherDC)}
	f.Fuzz(func(t *testing.T, value, origin []byte, timeMs int64, topic uint8) {
		s := newStore()
		c := mustNew(t, testConfig(), s)
		b := &stream.Batch{Topic: topics[int(topic)%len(topics)], Partition: 3, NowMs: timeMs}
		for i := range int64(3) {
			b.Records = append(b.Records, stream.Record{
				Value: value, Offset: i, TimeMs: timeMs + i,
				Headers: []stream.Header{{Key: events.OriginHeader, Value: origin}},
			})
			if topic >= 128 { // the header has the place in an import too
				b.Records[i].Headers = append(b.Records[i].Headers, stream.Header{Key: events.ImportHeader, Value: origin})
			}
		}
		if err := c.Fold(b); err != nil {
			t.Fatal(err)
		}
		s.next[b.Topic] = 3
		s.flush(t, c, timeMs)
		taken := 0
		for key := range s.spends(t) {
			if _, _, _, _, err := ParseKey([]byte(key)); err != nil {
				t.Fatal(err)
			}
			taken++
		}
		if len(b.Rejects) == 3 && taken > 0 {
			t.Fatalf("all refused, but %d campaigns have spend", taken)
		}
		s.health(t)
		// A restart without local tables rebuilds from the same records.
		s.localNext = nil
		c = mustNew(t, testConfig(), s)
		if err := c.Rebuild(&stream.Batch{Topic: b.Topic, Partition: 3, Records: b.Records}); err != nil {
			t.Fatal(err)
		}
	})
}
