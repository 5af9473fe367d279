package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// skipBytes bounds an answer to SkipEmpty. A broker sends the first batch whole.
const skipBytes = 64 << 10

// SkipEmpty returns the offset behind the batches without records at a position, or that of the
// position if there is a record, or no answer. Compaction can leave such batches at the end of a
// log, and a consumer passes them without reporting it.
func SkipEmpty(ctx context.Context, cl *kgo.Client, log TopicLog, at Position) int64 {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MaxBytes, req.IsolationLevel = 100, skipBytes, 1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = at.Topic, log.ID
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = at.Partition, at.Offset, skipBytes, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	raw, err := cl.Broker(int(log.Partitions[at.Partition].Leader)).Request(ctx, req)
	resp, ok := raw.(*kmsg.FetchResponse)
	if err != nil || !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return at.Offset
	}
	rp := &resp.Topics[0].Partitions[0]
	got, to := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: at.Offset, IsolationLevel: kgo.ReadCommitted(), Topic: at.Topic, Partition: at.Partition,
	}, rp, Decompressor(cl), nil)
	if got.Err != nil || len(got.Records) > 0 {
		return at.Offset
	}
	return to
}
