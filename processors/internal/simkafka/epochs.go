package simkafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// KeepEpochs makes the brokers answer that the log of no leader epoch has ended. Without it, kfake
// answers after a change of leaders that the log was truncated, and clients go back to its start.
func (c *Cluster) KeepEpochs() {
	c.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		asked, ok1 := req.(*kmsg.OffsetForLeaderEpochRequest)
		resp, ok2 := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		if !ok1 || !ok2 {
			return nil, nil, false
		}
		for _, t := range asked.Topics {
			rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, p.LeaderEpoch, 1<<40
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
}
