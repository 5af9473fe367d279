package program

import (
	"context"
	"fmt"
	"strconv"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// checkList returns an error for processors that cannot run in one program.
func checkList(list []stream.Processor) error {
	if len(list) == 0 {
		return fmt.Errorf("%w: there is no processor: give at least one stream.Processor", processors.ErrConfig)
	}
	apps, changelogs := map[string]bool{}, map[string]string{}
	for _, p := range list {
		p.SetDefaults()
		if apps[p.App] {
			return fmt.Errorf(
				"%w: two processors have the name %q, which is their consumer group and the directory of their state: set another App in one of them", processors.ErrConfig, p.App)
		}
		apps[p.App] = true
		if other, ok := changelogs[p.Changelog]; ok {
			return fmt.Errorf(
				"%w: processors %q and %q have the same changelog %s, and each would restore the other's state: set another Changelog in one of them", processors.ErrConfig, other, p.App, p.Changelog)
		}
		changelogs[p.Changelog] = p.App
	}
	for _, p := range list {
		p.SetDefaults()
		if other, ok := changelogs[p.DLQ]; ok {
			return writesChangelog(p.App, "its dead letters to", p.DLQ, other)
		}
		for _, o := range p.Outputs {
			if other, ok := changelogs[o.Topic]; ok {
				return writesChangelog(p.App, "output", o.Topic, other)
			}
		}
	}
	return nil
}

func writesChangelog(app, what, topic, other string) error {
	return fmt.Errorf(
		"%w: processor %q writes %s %s, which is the changelog of processor %q, and its tasks would restore these records as state: use another topic", processors.ErrConfig, app, what, topic, other)
}

// prepareTopics creates the topics that are missing, with partitions that fit the others.
func (p *Program) prepareTopics(ctx context.Context) error {
	k := p.cfg.Runtime.Kafka
	return kafka.Retry(ctx, k, kafka.FailoverTimeout, func() error {
		topics, err := kafkaadmin.FitTopics(ctx, k, p.list, p.cfg.Topics)
		if err != nil {
			return err
		}
		if err := checkPartitioners(p.list, topics); err != nil {
			return err
		}
		left, err := kafkaadmin.EnsureTopics(ctx, k, p.list, p.cfg.Topics)
		if err != nil {
			return fmt.Errorf("create topics: %w", err)
		}
		for _, step := range left {
			p.log.Warn().Str("topic", step.Topic).Str("why", step.Reason).Msg("topic_left")
		}
		return nil
	})
}

// checkPartitioners calls each partitioner with some keys and returns an error for a partition that
// does not exist. A partitioner that panics on a key expects other keys, which a commit will show.
func checkPartitioners(list []stream.Processor, topics []stream.Topic) error {
	for _, p := range list {
		for _, o := range p.Outputs {
			for _, t := range topics {
				if o.Partitioner == nil || t.Name != o.Topic {
					continue
				}
				for i := range 64 {
					key := "key-" + strconv.Itoa(i)
					if got, ok := choose(o.Partitioner, key, t.Partitions); ok && (got < 0 || got >= t.Partitions) {
						return fmt.Errorf(
							"%w: processor %s: the partitioner of output %s chose partition %d for key %q, and topic %s has %d partitions: return a number from 0 to partitions-1 for each key", processors.ErrConfig, p.App, o.Topic, got, key, t.Name, t.Partitions)
					}
				}
			}
		}
	}
	return nil
}

// choose calls a partitioner. ok is false if it panics.
func choose(partitioner stream.Partitioner, key string, partitions int32) (partition int32, ok bool) {
	defer func() { ok = recover() == nil }()
	return partitioner([]byte(key), partitions), true
}
