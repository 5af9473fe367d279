package push

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
)

// askTimeout bounds a question to a cluster.
const askTimeout = 10 * time.Second

// describe asks for the id and the extent of a partition of a topic.
func (p *pusher) describe(ctx context.Context, k kafka.Cluster, topic string) (id logreader.TopicID, x logreader.Extent, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	e, err := logreader.DescribeWritten(ctx, k, topic)
	switch n := len(e.Partitions); {
	case err != nil:
		return id, x, err //nolint:wrapcheck // it names the topic
	case n == 0:
		return id, x, fmt.Errorf("topic %s does not exist: it is read when it has been created", topic)
	case n != int(p.cfg.Partitions):
		return id, x, &logreader.PartitionsError{Topic: topic, Has: n, Want: int(p.cfg.Partitions)}
	}
	return e.Topic, e.Partitions[p.task.Partition], nil
}

// scanPause is the time between two looks at whether the end is reached, which may be behind the
// last record.
const scanPause = 100 * time.Millisecond

// upTo is the log of a topic up to an offset.
type upTo struct {
	kafka kafka.Cluster
	topic string
	until int64
}

// scan calls fn for each committed record of the task's partition of a log. It returns the id of
// the topic that it has read. The error is that of ctx, or why the log cannot be read.
func (p *pusher) scan(ctx context.Context, log upTo, fn func(*logreader.Record)) (logreader.TopicID, error) {
	part, err := logreader.New(p.cfg.read(log.kafka)).Open( //nolint:contextcheck // Close ends the reading
		log.topic, p.task.Partition, logreader.Start())
	if err != nil {
		return logreader.TopicID{}, fmt.Errorf("read %s: %w", log.topic, err)
	}
	p.setPart(part, false)
	defer func() {
		p.setPart(nil, false)
		part.Close()
	}()
	var b logreader.Batch
	for {
		s := part.Status()
		if s.At.Next >= log.until {
			return s.At.Topic, nil
		}
		waiting, cancel := context.WithTimeout(ctx, scanPause)
		err := part.Next(waiting, &b, batchBytes)
		cancel()
		switch {
		case ctx.Err() != nil:
			return s.At.Topic, ctx.Err()
		case err == nil:
			for i := range b.Records {
				if r := &b.Records[i]; r.Offset < log.until {
					fn(r)
				}
			}
		case !errors.Is(err, context.DeadlineExceeded):
			return s.At.Topic, err
		}
	}
}

// copyTopic knows the id of the topic that has the copies. It is safe for concurrent use.
type copyTopic struct {
	cfg  *Config
	busy chan struct{} // holds one token while a task asks: a mutex would not end with a context
	at   time.Time     // of the last answer
	id   logreader.TopicID
}

// copyAge is the greatest age of an answer that is used again.
const copyAge = time.Second

func newCopyTopic(c *Config) *copyTopic { return &copyTopic{cfg: c, busy: make(chan struct{}, 1)} }

// ask returns the id of the topic.
func (t *copyTopic) ask(ctx context.Context) (logreader.TopicID, error) {
	select {
	case t.busy <- struct{}{}:
		defer func() { <-t.busy }()
	case <-ctx.Done():
		return logreader.TopicID{}, ctx.Err()
	}
	if time.Since(t.at) < copyAge {
		return t.id, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	list, err := logreader.Describe(ctx, t.cfg.Copies, t.cfg.Copy)
	switch d := list[t.cfg.Copy]; {
	case err != nil:
		return d.ID, fmt.Errorf("ask the brokers of %s: %w", t.cfg.Target, err)
	case d.Denied:
		return d.ID, fmt.Errorf("topic %s at %s may not be described: grant the rights that `weir doctor --acls` lists", t.cfg.Copy,
			t.cfg.Target)
	case d.Partitions == 0:
		return d.ID, fmt.Errorf("topic %s does not exist at %s: run `weir topics apply` with the configuration of %[2]s", t.cfg.Copy,
			t.cfg.Target)
	default:
		t.at, t.id = time.Now(), d.ID
		return d.ID, nil
	}
}
