package simkafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// KeepEpochs makes the brokers answer that the log of no leader epoch has ended, except for those
// of EndEpochs. Without it, kfake answers after a change of leaders that the log was truncated, and
// clients go back to its start.
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
				if e, ended := c.epochEnd(t.Topic, p.Partition); ended && p.LeaderEpoch <= e.UpTo {
					rp.LeaderEpoch, rp.EndOffset = e.Epoch, e.End
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
}

// EpochEnd is the answer for the leader epochs of a partition up to UpTo: the log has records of
// Epoch, and has those of a later one from offset End on. Both are -1 if it has none.
type EpochEnd struct {
	UpTo, Epoch int32
	End         int64
}

// EndEpochs makes the brokers answer so about a partition, as after the election of a leader that
// lacked records. It needs KeepEpochs.
func (c *Cluster) EndEpochs(topic string, partition int32, e EpochEnd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended[topic] == nil {
		c.ended[topic] = map[int32]EpochEnd{}
	}
	c.ended[topic][partition] = e
}

func (c *Cluster) epochEnd(topic string, partition int32) (EpochEnd, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ended := c.ended[topic][partition]
	return e, ended
}
