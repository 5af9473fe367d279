package kafkaadmin

import (
	"context"
	"time"

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
// are; the runtime checks them when it starts.
func CreateMissing(ctx context.Context, k kafka.Cluster, want []stream.Topic, d Defaults) error {
	steps, err := PlanTopics(ctx, k, want, d)
	if err != nil {
		return err
	}
	var create []TopicStep
	seen := map[string]bool{}
	for _, s := range steps {
		if s.Kind == StepCreate && !seen[s.Topic] {
			seen[s.Topic], create = true, append(create, s)
		}
	}
	return ApplySteps(ctx, k, create)
}
