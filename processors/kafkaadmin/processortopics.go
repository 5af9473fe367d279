package kafkaadmin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// ProcessorTopics returns the topics that a processor needs: inputs, outputs, changelog and
// dead-letter topic, all with this number of partitions, or with p.Partitions if that is set. The
// records of inputs and outputs expire after retention. FitTopics returns those of several
// processors, with numbers that fit the existing topics.
func ProcessorTopics(p stream.Processor, partitions int32, retention time.Duration) []stream.Topic {
	if p.Partitions > 0 {
		partitions = p.Partitions
	}
	p.SetDefaults()
	list := []stream.Topic{stream.ChangelogTopic(p.Changelog, partitions), stream.DeadLetterTopic(p.DLQ, partitions)}
	for _, topic := range p.Inputs {
		list = append(list, stream.DataTopic(topic, partitions, retention))
	}
	for i := range p.Outputs {
		list = append(list, stream.DataTopic(p.Outputs[i].Topic, partitions, retention))
	}
	for i := range list {
		list[i].Changelog = p.Changelog
	}
	return list
}

// CreateMissing creates those topics of want that do not exist. It leaves existing topics as they
// are; the runtime checks them when it starts. It needs the right to describe topics, and to create
// those that are missing.
func CreateMissing(ctx context.Context, k kafka.Cluster, want []stream.Topic, d Defaults) error {
	d.Names.setDefaults()
	if err := d.check(); err != nil {
		return err
	}
	cl, err := k.Client()
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	var names []string
	for _, t := range want {
		names = append(names, t.Name)
	}
	adm := kadm.NewClient(cl)
	have, err := existing(ctx, adm, names)
	if err != nil {
		return err
	}
	return createTopics(ctx, adm, lacking(have, want), d)
}

// lacking returns those topics of want that have lacks, each once.
func lacking(have kadm.TopicDetails, want []stream.Topic) (missing []stream.Topic) {
	for _, t := range want {
		if len(have[t.Name].Partitions) == 0 && !slices.ContainsFunc(missing, func(m stream.Topic) bool { return m.Name == t.Name }) {
			missing = append(missing, t)
		}
	}
	return missing
}

// createTopics creates topics and waits until they have leaders.
func createTopics(ctx context.Context, adm *kadm.Client, list []stream.Topic, d Defaults) error {
	var names []string
	for _, t := range list {
		if err := applyCreate(ctx, adm, create(t, d)); err != nil {
			return err
		}
		names = append(names, t.Name)
	}
	return awaitVisible(ctx, adm, names)
}
