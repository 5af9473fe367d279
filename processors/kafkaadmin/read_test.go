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
