package executor

import (
	"context"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
)

// FuzzDo holds that any bytes have one result, with an id and an outcome, at the first attempt. No
// record may cause a request that DynamoDB refuses as malformed, as it would be repeated for ever.
func FuzzDo(f *testing.F) {
	m := &commander{rng: rand.New(rand.NewPCG(1, 1))}
	for range 40 {
		value, err := proto.Marshal(m.command(func(lease.PrimaryKey) lease.Row { return lease.Row{Version: 1, Expires: 5} }))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	f.Add([]byte("no command"))
	w := newFixture(f, dynamotest.Profile{})
	for i := range 8 {
		w.set(lease.ResourceRow("c", m.resource()), lease.Row{Version: 1, Owner: "eu", Available: int64(1 + i)})
	}
	e := w.executor()
	f.Fuzz(func(t *testing.T, value []byte) {
		var got []*eventspb.LeaseResult
		e.cfg.PublishResult = func(_ context.Context, partition int32, _, value []byte) error {
			r := &eventspb.LeaseResult{}
			got = append(got, r)
			if partition < 0 || partition >= 12 || len(value) > 16<<10 {
				t.Errorf("%d bytes to partition %d", len(value), partition)
			}
			return proto.Unmarshal(value, r)
		}
		if err := e.Do(context.Background(), &stream.SinkRecord{Partition: 3, Offset: 9, Value: value}); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Id == "" || got[0].Outcome == 0 || got[0].Region != "eu" {
			t.Fatalf("%v", got)
		}
	})
}
