package kafkaadmin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// TopicOptions are what FitTopics and EnsureTopics cannot read from the processors. The zero value
// of each field has a default.
type TopicOptions struct {
	// Partitions is the number of partitions of topics that fit no existing topic. Defaults to 12,
	// which 2, 3, 4, 6 or 12 workers share evenly.
	Partitions int32
	// Retention is how long the records of inputs and outputs stay after their timestamps. Defaults
	// to 7 days. A topic that one of the processors writes and another reads has no retention
	// (stream.RetainAll): a record that is older than a retention when it is written could be
	// deleted before it is read. Such a topic grows until its records are deleted with
	// kafka-delete-records.sh, or until Replace has its description with a retention.
	Retention time.Duration
	// Replace has descriptions that replace those of the topics with their names, such as an output
	// that is compacted. Topics with Partitions 0 get a number that fits, and topics with Retention
	// 0 get the retention above. Each is a topic of a processor. The settings of a changelog and of
	// a dead-letter topic are added to Topic.Config, where it has no value for them, and Kafka must
	// not delete their records by age or size.
	Replace []stream.Topic
	// ReplicationFactor is the number of replicas of each partition of new topics. Defaults to 3,
	// or to the number of brokers if there are fewer.
	ReplicationFactor int
	// MinInsync is the min.insync.replicas of new topics, at most the number of their replicas.
	// Defaults to 2.
	MinInsync int
}

// check returns ErrConfig for options that no topic can have.
func (o *TopicOptions) check() error {
	for _, t := range append([]stream.Topic{{Name: "by default", Partitions: o.Partitions, Retention: o.Retention}}, o.Replace...) {
		if t.Partitions < 0 || t.Retention != 0 && t.Retention != stream.RetainAll && t.Retention < time.Millisecond {
			return fmt.Errorf(
				"%w: topics of TopicOptions: %s, %d partitions and a retention of %s: use a number of at least 1, or 0 for the default, and a retention of at least 1ms, or stream.RetainAll", processors.ErrConfig, t.Name, t.Partitions, t.Retention)
		}
	}
	switch {
	case o.ReplicationFactor < 0 || o.ReplicationFactor > math.MaxInt16 || o.MinInsync < 0 || o.MinInsync > math.MaxInt16:
		return fmt.Errorf("%w: ReplicationFactor %d and MinInsync %d: use numbers from 1 to %d, or 0 for the default", processors.ErrConfig,
			o.ReplicationFactor, o.MinInsync, math.MaxInt16)
	case o.ReplicationFactor > 0 && o.MinInsync > o.ReplicationFactor:
		return fmt.Errorf(
			"%w: MinInsync %d is greater than ReplicationFactor %d, so that no record could be written: lower the first or raise the second", processors.ErrConfig, o.MinInsync, o.ReplicationFactor)
	}
	return nil
}

// FitTopics returns the topics of processors that run together, each topic once, with partitions
// that fit the existing topics. It changes nothing.
//
// The inputs, the changelog and the dead-letter topic of a processor have equal numbers, because
// partition p of each belongs to task p. The number is Processor.Partitions, or that of those
// topics that exist, or TopicOptions.Partitions. An output has the number of the processors that
// read it, or else that of the processor that writes it. The error wraps processors.ErrTopics where
// the existing topics or the processors of list contradict each other.
func FitTopics(ctx context.Context, k kafka.Cluster, list []stream.Processor, o TopicOptions) ([]stream.Topic, error) {
	cl, err := k.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	f, err := newFit(list, o)
	if err != nil {
		return nil, err
	}
	return f.read(ctx, kadm.NewClient(cl))
}

// existing returns the details of topics. A topic that does not exist has the error
// UNKNOWN_TOPIC_OR_PARTITION, and none has another one.
func existing(ctx context.Context, adm *kadm.Client, names []string) (kadm.TopicDetails, error) {
	have, err := adm.ListTopics(kafka.Uncached(ctx), names...)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", kafka.NameUndescribed(ctx, adm, err, names...))
	}
	for _, t := range have.Sorted() {
		if t.Err != nil && !errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
			return nil, fmt.Errorf("read the metadata of topic %s: %w", t.Topic, t.Err)
		}
	}
	return have, nil
}

// fit finds the numbers of partitions.
type fit struct {
	list  []stream.Processor
	o     TopicOptions
	have  kadm.TopicDetails
	group map[string]int // by topic that belongs to tasks: the group of its processors
	of    []int          // by processor: its group, which has equal numbers of partitions
}

func newFit(list []stream.Processor, o TopicOptions) (*fit, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Partitions, o.Retention = cmp.Or(o.Partitions, 12), cmp.Or(o.Retention, 7*24*time.Hour)
	f := &fit{list: slices.Clone(list), o: o, group: map[string]int{}}
	for i := range f.list {
		f.list[i].SetDefaults()
		f.of = append(f.of, i)
		for _, topic := range taskTopics(&f.list[i]) {
			other, known := f.group[topic]
			if !known {
				f.group[topic] = f.of[i]
				continue
			}
			f.merge(other, f.of[i])
		}
	}
	if err := f.checkDescribed(); err != nil {
		return nil, err
	}
	return f, f.checkKept()
}

// checkDescribed returns ErrConfig for descriptions that no topic of the processors can have.
func (f *fit) checkDescribed() error {
	known := f.names()
	for i, t := range f.o.Replace {
		switch {
		case !slices.Contains(known, t.Name):
			return fmt.Errorf(
				"%w: TopicOptions.Replace has topic %q, which no processor reads or writes: remove it, or correct its name. Their topics are %s", processors.ErrConfig, t.Name, strings.Join(known, ", "))
		case slices.ContainsFunc(f.o.Replace[:i], func(o stream.Topic) bool { return o.Name == t.Name }):
			return fmt.Errorf("%w: TopicOptions.Replace has topic %q twice: remove one of them", processors.ErrConfig, t.Name)
		case t.Cleanup != stream.CleanupDelete && t.Cleanup != stream.CleanupCompact:
			return fmt.Errorf(
				"%w: topic %q of TopicOptions.Replace has the cleanup policy %q: set Cleanup to stream.CleanupDelete or stream.CleanupCompact", processors.ErrConfig, t.Name, t.Cleanup)
		}
	}
	return nil
}

// checkKept returns ErrConfig if Kafka would delete records of a changelog or a dead-letter topic.
func (f *fit) checkKept() error {
	for _, t := range f.describe(make([]int32, len(f.list))) {
		kept := slices.ContainsFunc(f.list, func(p stream.Processor) bool { return t.Name == p.Changelog || t.Name == p.DLQ })
		if s := t.Settings(); kept && topics.Deletes(s) {
			return fmt.Errorf(
				"%w: topic %s of TopicOptions.Replace is a changelog or a dead-letter topic with cleanup.policy=%s: Kafka would delete records that no other topic has. Set Cleanup to stream.CleanupCompact", processors.ErrConfig, t.Name, s["cleanup.policy"])
		}
	}
	return nil
}

// DescribeTopics returns the topics of processors as FitTopics describes them, without numbers of
// partitions. It asks no broker. The error wraps processors.ErrConfig, for options that contradict
// the processors or that no topic can have.
func DescribeTopics(list []stream.Processor, o TopicOptions) ([]stream.Topic, error) {
	f, err := newFit(list, o)
	if err != nil {
		return nil, err
	}
	return f.describe(make([]int32, len(f.list))), nil
}

// read asks the brokers for the topics and returns them with their partitions.
func (f *fit) read(ctx context.Context, adm *kadm.Client) (all []stream.Topic, err error) {
	if f.have, err = existing(ctx, adm, f.names()); err != nil {
		return nil, err
	}
	return f.topics()
}

// exists reports whether a topic existed at the last read.
func (f *fit) exists(topic string) bool { return f.partitionsOf(topic) > 0 }

// partitionsOf returns the number of partitions of an existing topic; 0 if it does not exist.
func (f *fit) partitionsOf(topic string) int32 { return int32(len(f.have[topic].Partitions)) }

// merge makes one group of two.
func (f *fit) merge(keep, drop int) {
	for i := range f.of {
		if f.of[i] == drop {
			f.of[i] = keep
		}
	}
	for topic, g := range f.group {
		if g == drop {
			f.group[topic] = keep
		}
	}
}

// taskTopics returns the topics of which partition p belongs to task p.
func taskTopics(p *stream.Processor) []string {
	return append([]string{p.Changelog, p.DLQ}, p.Inputs...)
}

func (f *fit) names() []string {
	var names []string
	for i := range f.list {
		names = append(append(names, f.list[i].WrittenTopics()...), f.list[i].Inputs...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// described returns the description of a topic in TopicOptions.Replace.
func (f *fit) described(topic string) (stream.Topic, bool) {
	if i := slices.IndexFunc(f.o.Replace, func(t stream.Topic) bool { return t.Name == topic }); i >= 0 {
		return f.o.Replace[i], true
	}
	return stream.Topic{}, false
}

// given returns the number of partitions that a topic has, or that TopicOptions.Replace states; 0
// if any number fits.
func (f *fit) given(topic string) int32 {
	t, _ := f.described(topic)
	return cmp.Or(f.partitionsOf(topic), t.Partitions)
}

// partitions returns the number of partitions of a group.
func (f *fit) partitions(group int) (int32, error) {
	n, source := int32(0), ""
	for i := range f.list {
		switch p := &f.list[i]; {
		case f.of[i] != group || p.Partitions == 0:
		case n != 0 && n != p.Partitions:
			return 0, fmt.Errorf(
				"%w: %s %d partitions and %s needs %d, and both read the same topics: set Processor.Partitions to the same number",
				topics.ErrTopics, source, n, p.App, p.Partitions)
		default:
			n, source = p.Partitions, p.App+" needs"
		}
	}
	stated := n > 0
	for i := range f.list {
		if f.of[i] != group {
			continue
		}
		p := &f.list[i]
		for _, topic := range taskTopics(p) {
			has := f.given(topic)
			switch {
			case has == 0 || has == n:
			case n == 0:
				n, source = has, topic+" has"
			case stated && has > n && !f.isOutput(topic): // the runtime decides by the state
			default:
				return 0, fmt.Errorf(
					"%w: processor %s: %s has %d partitions, and %s %d: they must be equal, because partition p of each belongs to task p. "+
						"Nothing was changed. Set Processor.Partitions to the number of the topics, or read another topic, to which a processor before this one writes the same keys",
					topics.ErrTopics, p.App, topic, has, source, n)
			}
		}
	}
	return cmp.Or(n, f.o.Partitions), nil
}

// isOutput reports whether a processor of the list writes the topic, to all partitions that it has.
func (f *fit) isOutput(topic string) bool {
	return slices.ContainsFunc(f.list, func(p stream.Processor) bool {
		return slices.ContainsFunc(p.Outputs, func(o stream.Output) bool { return o.Topic == topic })
	})
}

// topics returns the topics with their partitions.
func (f *fit) topics() ([]stream.Topic, error) {
	tasks := make([]int32, len(f.list))
	for i := range f.list {
		n, err := f.partitions(f.of[i])
		if err != nil {
			return nil, err
		}
		tasks[i] = n
	}
	return f.describe(tasks), nil
}

// describe returns the topics of processors with these numbers of tasks: topics of the tasks first,
// because their descriptions count where a topic is also an output.
func (f *fit) describe(tasks []int32) (all []stream.Topic) {
	add := func(t stream.Topic, p *stream.Processor) {
		if slices.ContainsFunc(all, func(o stream.Topic) bool { return o.Name == t.Name }) {
			return
		}
		if d, ok := f.described(t.Name); ok {
			config := map[string]string{}
			maps.Copy(config, t.Config)
			maps.Copy(config, d.Config)
			d.Config, d.Partitions = config, t.Partitions
			if d.Cleanup == t.Cleanup {
				d.Retention = cmp.Or(d.Retention, t.Retention)
			}
			t = d
		}
		t.Changelog = cmp.Or(t.Changelog, p.Changelog)
		all = append(all, t)
	}
	for i := range f.list {
		p := &f.list[i]
		add(stream.ChangelogTopic(p.Changelog, tasks[i]), p)
		add(stream.DeadLetterTopic(p.DLQ, tasks[i]), p)
	}
	for i := range f.list {
		for _, topic := range f.list[i].Inputs {
			retention := f.o.Retention
			if f.isOutput(topic) {
				retention = stream.RetainAll
			}
			add(stream.DataTopic(topic, tasks[i], retention), &f.list[i])
		}
	}
	for i := range f.list {
		for _, o := range f.list[i].Outputs {
			add(stream.DataTopic(o.Topic, cmp.Or(f.given(o.Topic), tasks[i]), f.o.Retention), &f.list[i])
		}
	}
	return all
}
