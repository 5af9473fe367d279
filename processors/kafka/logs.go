package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TopicLog is what the brokers report about a topic. Err is why its partitions are not known:
// kerr.UnknownTopicOrPartition if the topic does not exist, and kerr.TopicAuthorizationFailed if
// the user may not describe it.
type TopicLog struct {
	ID         kadm.TopicID
	Partitions map[int32]PartitionLog
	Err        error
}

// PartitionLog has the first offset of a partition and the end of its committed records, the last
// stable offset. Err is why they are not known: the broker of the partition did not answer.
type PartitionLog struct {
	Start, End int64
	Leader     int32 // id of the broker that leads the partition; -1 without a leader
	Err        error
}

// DescribeLogs asks for the logs of topics. The answer has each of the topics. The error means that
// no broker answered.
func DescribeLogs(ctx context.Context, adm *kadm.Client, topics ...string) (map[string]TopicLog, error) {
	logs := map[string]TopicLog{}
	details, err := DescribeTopics(ctx, adm, topics...)
	if err != nil {
		return nil, err
	}
	var described []string
	for topic, d := range details {
		if d.Err == nil {
			described = append(described, topic)
		}
	}
	var starts, ends kadm.ListedOffsets
	if len(described) > 0 { // kadm would ask for all topics
		if starts, err = adm.ListStartOffsets(ctx, described...); NoneAnswered(err) {
			return nil, fmt.Errorf("read the first offsets: %w", err)
		}
		if ends, err = adm.ListCommittedOffsets(ctx, described...); NoneAnswered(err) {
			return nil, fmt.Errorf("read the end offsets: %w", err)
		}
	}
	for topic, d := range details {
		l := TopicLog{ID: d.ID, Err: d.Err, Partitions: map[int32]PartitionLog{}}
		for n, p := range d.Partitions {
			l.Partitions[n] = partitionLog(p, starts, ends)
		}
		logs[topic] = l
	}
	return logs, nil
}

// NoneAnswered reports whether err, of a kadm request to several brokers, means that none answered.
// Otherwise the answers are usable: they lack the partitions of the brokers that did not answer.
func NoneAnswered(err error) bool {
	var shards *kadm.ShardErrors
	return err != nil && (!errors.As(err, &shards) || shards.AllFailed)
}

func partitionLog(p kadm.PartitionDetail, starts, ends kadm.ListedOffsets) PartitionLog {
	start, ok1 := starts.Lookup(p.Topic, p.Partition)
	end, ok2 := ends.Lookup(p.Topic, p.Partition)
	l := PartitionLog{Start: start.Offset, End: end.Offset, Leader: p.Leader, Err: start.Err}
	if l.Err == nil {
		l.Err = end.Err
	}
	if l.Err == nil && !(ok1 && ok2) {
		l.Err = fmt.Errorf("the brokers reported no offsets of %s[%d]", p.Topic, p.Partition)
	}
	return l
}
