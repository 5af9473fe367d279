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

// log is the task's partition of a topic.
type log struct {
	logreader.Extent

	kafka kafka.Cluster
	topic string
	id    logreader.TopicID
	until int64 // that scan reads up to
}

// describe asks for the id and the extent of the task's partition of a topic.
func (p *pusher) describe(ctx context.Context, k kafka.Cluster, topic string) (log, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	e, err := logreader.DescribeWritten(ctx, k, topic)
	switch n := len(e.Partitions); {
	case err != nil:
		return log{}, err //nolint:wrapcheck // it names the topic
	case n == 0:
		return log{}, fmt.Errorf("topic %s does not exist: it is read when it has been created", topic)
	case n != int(p.cfg.Partitions):
		return log{}, &logreader.PartitionsError{Topic: topic, Has: n, Want: int(p.cfg.Partitions)}
	}
	return log{Extent: e.Partitions[p.task.Partition], kafka: k, topic: topic, id: e.Topic}, nil
}

const (
	// scanPause is the time between two looks at whether the end is reached, which may be behind
	// the last record.
	scanPause = 100 * time.Millisecond
	// scanStall is the time without a record after which the extent is asked for again.
	scanStall = 10 * time.Second
)

// scan calls fn for each committed record of a log up to l.until. The error is that of ctx, or why
// the log cannot be read so far.
func (p *pusher) scan(ctx context.Context, l log, fn func(*logreader.Record)) error {
	if l.until <= l.Start {
		return nil
	}
	part, err := logreader.New(p.cfg.read(l.kafka)).Open( //nolint:contextcheck // Close ends the reading
		l.topic, p.task.Partition, logreader.Position{Topic: l.id, Next: -1, Epoch: -1})
	if err != nil {
		return fmt.Errorf("read %s: %w", l.topic, err)
	}
	p.setPart(part, false)
	defer func() {
		p.setPart(nil, false)
		part.Close()
	}()
	var b logreader.Batch
	for moved := time.Now(); part.Status().At.Next < l.until; {
		waiting, cancel := context.WithTimeout(ctx, scanPause)
		err := part.Next(waiting, &b, batchBytes)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			for i := range b.Records {
				if r := &b.Records[i]; r.Offset < l.until {
					fn(r)
				}
			}
			moved = time.Now()
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		case time.Since(moved) > scanStall:
			now, err := p.describe(ctx, l.kafka, l.topic)
			if err == nil && (now.id != l.id || now.Written < l.until) {
				err = fmt.Errorf("%s[%d] was deleted, or has lost records, while it was read", l.topic, p.task.Partition)
			}
			if err != nil {
				return err
			}
			moved = time.Now()
		}
	}
	return nil
}

// copyTopic knows the id of the topic that has the copies. It is safe for concurrent use.
type copyTopic struct {
	cfg  *Config
	busy chan struct{} // holds one token while a task asks: a mutex would not end with a context
	at   time.Time     // of the last answer
	id   logreader.TopicID
}

// copyAge is the greatest age of an answer that is used again.
const copyAge = 2 * time.Second

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
