package logreader

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/kafka"
)

// Extent is which offsets the log of a partition has.
type Extent struct {
	Start   int64 // the first
	End     int64 // the end of the committed records: the last stable offset
	Written int64 // the end of all records, those of open transactions included; -1: not asked for
}

// Extents are the logs of a topic.
type Extents struct {
	Topic      TopicID  // zero: the topic does not exist
	Partitions []Extent // by partition
}

// EndOf returns the position at the end of a partition that e has: behind what was committed.
func (e *Extents) EndOf(partition int32) Position {
	return Position{Topic: e.Topic, Next: e.Partitions[partition].End, Epoch: -1}
}

// DescribeExtent asks the brokers for the id of a topic and the extent of each of its partitions,
// without Written. Of a topic that does not exist the answer is empty. The error is that of the
// brokers or of ctx, also if only the broker of one partition did not answer, or if the topic may
// not be described.
func DescribeExtent(ctx context.Context, k kafka.Cluster, topic string) (Extents, error) {
	return extents(ctx, k, topic, false)
}

// DescribeWritten is DescribeExtent with Written, which takes another request to each broker.
// Written is asked for last, so it is not less than End.
func DescribeWritten(ctx context.Context, k kafka.Cluster, topic string) (Extents, error) {
	return extents(ctx, k, topic, true)
}

func extents(ctx context.Context, k kafka.Cluster, topic string, written bool) (Extents, error) {
	cl, err := k.Client()
	if err != nil {
		return Extents{}, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	logs, err := kafka.DescribeLogs(ctx, adm, topic)
	if err == nil {
		err = logs[topic].Err
	}
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return Extents{}, nil
	case err != nil:
		return Extents{}, fmt.Errorf("describe topic %s: %w", topic, err)
	}
	e, err := extentsOf(topic, logs[topic])
	if err == nil && written {
		err = addWritten(ctx, adm, topic, e.Partitions)
	}
	if err != nil {
		return Extents{}, err
	}
	// The offsets were asked for by the topic's name.
	again, err := adm.ListTopics(kafka.Uncached(ctx), topic)
	switch {
	case err != nil:
		return Extents{}, fmt.Errorf("describe topic %s: %w", topic, err)
	case TopicID(again[topic].ID) != e.Topic:
		return Extents{}, fmt.Errorf("topic %s was deleted or created again while its offsets were asked for: ask again", topic)
	}
	return e, nil
}

// extentsOf converts an answer that is complete.
func extentsOf(topic string, log kafka.TopicLog) (Extents, error) {
	e := Extents{Topic: TopicID(log.ID)}
	for n := range int32(len(log.Partitions)) {
		p, known := log.Partitions[n]
		if !known {
			p.Err = kerr.UnknownTopicOrPartition
		}
		if p.Err != nil {
			return Extents{}, fmt.Errorf("read the offsets of %s[%d]: %w", topic, n, p.Err)
		}
		e.Partitions = append(e.Partitions, Extent{Start: p.Start, End: p.End, Written: -1})
	}
	return e, nil
}

// addWritten sets Written of each partition.
func addWritten(ctx context.Context, adm *kadm.Client, topic string, list []Extent) error {
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return fmt.Errorf("read the ends of all records of %s: %w", topic, err)
	}
	for n := range list {
		end, known := ends.Lookup(topic, int32(n))
		if !known {
			end.Err = kerr.UnknownTopicOrPartition
		}
		if end.Err != nil {
			return fmt.Errorf("read the end of all records of %s[%d]: %w", topic, n, end.Err)
		}
		list[n].Written = end.Offset
	}
	return nil
}
