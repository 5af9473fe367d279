package txn

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AddOffset adds the next offset of a partition to a request. An offset of the same partition is
// replaced. by becomes the metadata of the offset.
func AddOffset(req *kmsg.TxnOffsetCommitRequest, topic string, p int32, next int64, by string) {
	part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	part.Partition, part.Offset, part.Metadata = p, next, &by
	for i := range req.Topics {
		if req.Topics[i].Topic != topic {
			continue
		}
		for j := range req.Topics[i].Partitions {
			if req.Topics[i].Partitions[j].Partition == p {
				req.Topics[i].Partitions[j] = part // the marker's offset counts, not the client's
				return
			}
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, part)
		return
	}
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic, rt.Partitions = topic, []kmsg.TxnOffsetCommitRequestTopicPartition{part}
	req.Topics = append(req.Topics, rt)
}
