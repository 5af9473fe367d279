package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// TopicReader reads a small topic as a whole, and then what is written to it.
type TopicReader struct {
	Kafka  Cluster
	Topic  string
	Record func(r *stream.Record) // gets each committed record, in the order of its partition; valid during the call
	AtEnd  func()                 // called once, behind all records that were there when Run began
}

// Run reads the topic from its start until ctx ends, and returns nil then, or until the first
// error, such as a topic that does not exist. To continue after an error is to read the topic
// again.
func (t TopicReader) Run(ctx context.Context) error {
	cl, err := t.Kafka.Client(kgo.ConsumeTopics(t.Topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(time.Second), kgo.KeepControlRecords())
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	unread, err := presentEnds(ctx, kadm.NewClient(cl), t.Topic)
	if err != nil {
		return err
	}
	for atEnd := false; ; {
		if len(unread) == 0 && !atEnd {
			atEnd = true
			t.AtEnd()
		}
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read %s: %w", t.Topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				t.Record(&stream.Record{Offset: r.Offset, Key: r.Key, Value: r.Value})
			}
			if r.Offset+1 >= unread[r.Partition] {
				delete(unread, r.Partition)
			}
		})
	}
}

// presentEnds returns the end offsets of the partitions of a topic that have records.
func presentEnds(ctx context.Context, adm *kadm.Client, topic string) (map[int32]int64, error) {
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read the end offsets of %s: %w", topic, NameUndescribed(ctx, adm, err, topic))
	}
	starts, err := adm.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read the start offsets of %s: %w", topic, err)
	}
	list := map[int32]int64{}
	for p, end := range ends[topic] {
		if end.Offset > starts[topic][p].Offset {
			list[p] = end.Offset
		}
	}
	return list, nil
}
