package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// partitions is the number of partitions of the log and of its copies.
const partitions = 24

// cluster is the source or the target.
type cluster struct {
	kafka.Cluster
	addr string
	cl   *kgo.Client
	adm  *kadm.Client
}

func connect(ctx context.Context, addr string) (*cluster, error) {
	c := &cluster{Cluster: kafka.Cluster{Brokers: []string{addr}}, addr: addr}
	var err error
	if c.cl, err = c.Connect(ctx); err != nil {
		return nil, err
	}
	c.adm = kadm.NewClient(c.cl)
	return c, nil
}

func (c *cluster) close() { c.cl.Close() }

// ends returns the end offset of each partition of a topic for consumers with read_committed. It
// includes the markers of ended transactions.
func (c *cluster) ends(ctx context.Context, topic string) ([]int64, error) {
	list, err := c.adm.ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = list.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read the end offsets of %s: %w", topic, err)
	}
	ends := make([]int64, partitions)
	for p, o := range list[topic] {
		if int(p) >= partitions {
			return nil, fmt.Errorf("topic %s has partition %d, want %d partitions", topic, p, partitions)
		}
		ends[p] = o.Offset
	}
	return ends, nil
}

// remove deletes the topics and groups whose names match accepts.
func (c *cluster) remove(ctx context.Context, match func(name string) bool) error {
	topics, err := c.adm.ListTopics(kafka.Uncached(ctx))
	if err != nil {
		return fmt.Errorf("list the topics: %w", err)
	}
	var names []string
	for _, t := range topics.Names() {
		if match(t) {
			names = append(names, t)
		}
	}
	var errs []error
	if len(names) > 0 {
		deleted, err := c.adm.DeleteTopics(ctx, names...)
		if err == nil {
			err = deleted.Error()
		}
		errs = append(errs, err)
	}
	groups, err := c.adm.ListGroups(ctx)
	errs = append(errs, err)
	for _, g := range groups.Groups() {
		if match(g) {
			if _, err := c.adm.DeleteGroup(ctx, g); err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
				errs = append(errs, fmt.Errorf("delete group %s: %w", g, err))
			}
		}
	}
	return errors.Join(errs...)
}

// scanLimit bounds the time for reading a topic.
const scanLimit = 15 * time.Minute

// scan calls f for each committed record of a topic, from the first to the present end, each
// partition in its order.
func (c *cluster) scan(ctx context.Context, topic string, f func(*kgo.Record)) error {
	ctx, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	ends, err := c.ends(ctx, topic)
	if err != nil {
		return err
	}
	left, from := 0, map[int32]kgo.Offset{}
	for p, end := range ends {
		if end > 0 {
			left++
			from[int32(p)] = kgo.NewOffset().AtStart()
		}
	}
	// With control records, the last offset of each partition is that of a record.
	cl, err := c.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxBytes(64<<20), kgo.FetchMaxPartitionBytes(4<<20))
	if err != nil {
		return err
	}
	defer cl.Close()
	for left > 0 {
		fetches := cl.PollRecords(ctx, 20_000)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read %s: %w", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			switch {
			case r.Offset >= ends[r.Partition]:
				return
			case !r.Attrs.IsControl():
				f(r)
			}
			if r.Offset == ends[r.Partition]-1 {
				left--
			}
		})
	}
	return nil
}
