package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FetchRange is what Fetch asks for.
type FetchRange struct {
	Partition int32
	Offset    int64
	MaxBytes  int32
}

// Fetch sends one fetch request for committed records to the leader of a partition, and returns the
// answer undecoded. Without records the broker waits half a second. A consumer does not report that
// the records that it waits for do not exist, nor the bytes of a batch that it cannot decode.
func Fetch(ctx context.Context, cl *kgo.Client, topic kadm.TopicDetail, r FetchRange) (*kmsg.FetchResponseTopicPartition, error) {
	detail, ok := topic.Partitions[r.Partition]
	if err := errors.Join(topic.Err, detail.Err); err != nil || !ok {
		return nil, errors.Join(err, kerr.LeaderNotAvailable)
	}
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = r.Partition, r.Offset, r.MaxBytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = topic.Topic, topic.ID, []kmsg.FetchRequestTopicPartition{part}
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel = -1, 500, 1, 16<<20, 1
	req.Topics = []kmsg.FetchRequestTopic{t}
	answer, err := cl.Broker(int(detail.Leader)).RetriableRequest(ctx, req)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names what it reads
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	if !ok {
		return nil, fmt.Errorf("the response to a fetch is a %T", answer)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err //nolint:wrapcheck // the caller names what it reads
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, errors.New("the broker answered for another partition")
	}
	return &resp.Topics[0].Partitions[0], nil
}
