package kafkaadmin

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// TestBeginnings: a partition of which all records were deleted begins now, and not with its first
// record, as one that never had any. Aborted records are none, and a large batch is read, too.
func TestBeginnings(t *testing.T) {
	c, k := fake(t, kfake.SeedTopics(6, "notes"))
	at := func(n int) time.Time { return time.UnixMilli(int64(1_700_000_000_000 + n)) }
	rec := func(p int32, n, size int) *kgo.Record {
		return &kgo.Record{Topic: "notes", Partition: p, Value: make([]byte, size), Timestamp: at(n)}
	}
	abort(t, k, rec(3, 1, 1), rec(4, 1, 1)) // offset 0, and 1 for the end of the transaction
	produce(t, k, "", rec(0, 10, 1), rec(0, 11, 1))
	produce(t, k, "", rec(1, 20, 1), rec(1, 21, 1), rec(1, 22, 1))
	produce(t, k, "", rec(2, 30, 1), rec(2, 31, 1))
	produce(t, k, "", rec(3, 40, 200_000))
	for p, upto := range map[int32]int64{1: 2, 2: 2} { // as retention does
		if err := c.DeleteRecords("notes", p, upto); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	got, err := Beginnings(t.Context(), k, "notes", []int32{0, 1, 2, 3, 4, 5})
	if err != nil {
		t.Fatal(err)
	}
	if deleted := got[2]; deleted.Offset != 2 || deleted.Time.Before(began) || deleted.Time.After(time.Now()) {
		t.Errorf("all records were deleted: %+v", deleted)
	}
	delete(got, 2)
	want := map[int32]Beginning{0: {0, at(10)}, 1: {2, at(22)}, 3: {0, at(40)}, 4: {}, 5: {}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for topic, p := range map[string]int32{"notes": 6, "none": 0} {
		if _, err := Beginnings(t.Context(), k, topic, []int32{p}); err == nil {
			t.Errorf("partition %d of %s does not exist and has a beginning", p, topic)
		}
	}
}

func TestRead(t *testing.T) {
	_, k := fake(t, kfake.SeedTopics(3, "notes"))
	const n = 3000
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, &kgo.Record{
			Topic: "notes", Partition: int32(i % 3), Key: []byte("k"), Value: fmt.Append(nil, i), Timestamp: time.UnixMilli(int64(1_000_000 + i)),
		})
	}
	produce(t, k, "", rs...)
	for _, c := range []struct {
		name  string
		since time.Time
		want  int
	}{{"all", time.Time{}, n}, {"since", time.UnixMilli(1_000_000 + 2997), 3}, {"in the future", time.UnixMilli(5_000_000), 0}} {
		last := map[int32]int64{}
		got := 0
		err := ReadTopic(t.Context(), k, "notes", c.since, func(p int32, r stream.Record) error {
			if before, seen := last[p]; seen && r.Offset <= before {
				t.Errorf("%s: offset %d of partition %d comes after %d", c.name, r.Offset, p, before)
			}
			last[p] = r.Offset
			got++
			return nil
		})
		if err != nil || got != c.want {
			t.Errorf("%s: %d records, %v, want %d", c.name, got, err, c.want)
		}
	}
	full := errors.New("enough")
	if err := ReadTopic(t.Context(), k, "notes", time.Time{}, func(int32, stream.Record) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v, want the error of the function", err)
	}
	if err := ReadTopic(t.Context(), k, "none", time.Time{}, func(int32, stream.Record) error { return nil }); err == nil {
		t.Error("a topic that does not exist was read")
	}
}
