package integration

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/testlimit"
)

// deadLetters returns the committed records of the dead-letter topic.
func deadLetters(c *cluster) []*kgo.Record {
	c.t.Helper()
	var ends kadm.ListedOffsets
	testlimit.Within(c.t, "the end of the dead-letter topic", func(ctx context.Context) (err error) {
		if ends, err = c.adm.ListCommittedOffsets(ctx, c.layout.Name(events.SpendDLQTopic)); err == nil {
			err = ends.Error()
		}
		return err
	})
	left, from := map[int32]int64{}, map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition], from[o.Partition] = o.Offset, kgo.NewOffset().AtStart()
		}
	})
	if len(left) == 0 {
		return nil
	}
	cl := c.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{c.layout.Name(events.SpendDLQTopic): from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(200*time.Millisecond))
	var letters []*kgo.Record
	testlimit.Within(c.t, "read the dead-letter topic", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				letters = append(letters, r)
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
		if len(left) > 0 {
			return fmt.Errorf("not read up to %v", left)
		}
		return nil
	})
	return letters
}

// header returns the value of a record's header, or "".
func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}
