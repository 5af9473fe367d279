package kafkaadmin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// EnsureTopics creates those topics of processors that do not exist, as FitTopics describes them.
// Existing topics stay as they are. The steps that it returns are of kind StepConflict: differences
// of topics that an operator should know of.
//
// The error wraps processors.ErrTopics, and nothing was created, if FitTopics returns it, if Kafka
// deletes records of an existing changelog, and if a changelog does not exist although the group of
// its processor has committed offsets.
//
// Processes with the same list may call it at the same time, and end at any moment, also with
// different TopicOptions.Partitions: the topics get the number of one of them.
func EnsureTopics(ctx context.Context, k kafka.Cluster, list []stream.Processor, o TopicOptions) (left []TopicStep, err error) {
	cl, err := k.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	f, err := newFit(list, o)
	if err != nil {
		return nil, err
	}
	e := &ensurer{fit: f, adm: kadm.NewClient(cl)}
	brokers, err := e.adm.ListBrokers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list brokers: %w", err)
	}
	e.brokers, e.defaults = len(brokers), f.o.defaults(len(brokers))
	if err := e.createAll(ctx); err != nil {
		return nil, err
	}
	return e.left(), nil
}

// ensurer creates the topics of a fit.
type ensurer struct {
	*fit
	adm      *kadm.Client
	brokers  int
	defaults Defaults
}

// createAll creates the topics that do not exist. Of processes that start together with different
// numbers of partitions, the one that creates the first changelog of a group decides the number. So
// the other topics are created only with numbers that were read when that changelog existed: a
// process that came second, and one that continues after another has ended, take its number.
func (e *ensurer) createAll(ctx context.Context) error {
	for {
		want, err := e.read(ctx, e.adm)
		if err != nil {
			return err
		}
		if err := e.checkChangelogs(ctx); err != nil {
			return err
		}
		if err := e.checkDeleted(ctx); err != nil {
			return err
		}
		missing := lacking(e.have, want)
		first := slices.DeleteFunc(slices.Clone(missing), func(t stream.Topic) bool { return !e.decides(t.Name) })
		if len(first) == 0 {
			return createTopics(ctx, e.adm, missing, e.defaults)
		}
		if err := createTopics(ctx, e.adm, first, e.defaults); err != nil {
			return err
		}
	}
}

// checkChangelogs returns ErrTopics if Kafka deletes records of an existing changelog. A client
// without the right to ask continues: the runtime logs that it cannot ask.
func (e *ensurer) checkChangelogs(ctx context.Context) error {
	var logs []string
	for i := range e.list {
		if log := e.list[i].Changelog; e.exists(log) {
			logs = append(logs, log)
		}
	}
	if len(logs) == 0 {
		return nil
	}
	configs, err := topics.Describe(ctx, e.adm, logs)
	if errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, log := range logs {
		if err := topics.CheckChangelog(log, configs[log]); err != nil {
			return err
		}
	}
	return nil
}

// checkDeleted returns ErrTopics if a changelog does not exist whose group has committed offsets: a
// processor in another process has had a state.
func (e *ensurer) checkDeleted(ctx context.Context) error {
	for i := range e.list {
		p := &e.list[i]
		if e.exists(p.Changelog) {
			continue
		}
		offsets, err := e.adm.FetchOffsets(ctx, p.App)
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
			return fmt.Errorf("read the offsets of group %s: %w", p.App, err)
		}
		if len(offsets) == 0 {
			continue
		}
		// Another process may have created the changelog and committed since the last read.
		again, err := existing(ctx, e.adm, []string{p.Changelog})
		if err != nil {
			return err
		}
		if again[p.Changelog].Err != nil {
			return fmt.Errorf(
				"%w: changelog %s does not exist, and group %s has committed offsets: the changelog was deleted or has another name, and a new one would begin with an empty state behind the records that were read. Nothing was created. Name the right changelog in Processor.Changelog; or, to give the state up and read the inputs again, delete the offsets with kafka-consumer-groups.sh --delete --group %s", topics.ErrTopics, p.Changelog, p.App, p.App)
		}
	}
	return nil
}

// decides reports whether a topic is the first changelog of its group, in the order of names.
func (e *ensurer) decides(topic string) bool {
	group, first := e.group[topic], ""
	for i := range e.list {
		if log := e.list[i].Changelog; e.of[i] == group && (first == "" || log < first) {
			first = log
		}
	}
	return topic == first
}

// left returns the differences of topics, which are not changed.
func (e *ensurer) left() (left []TopicStep) {
	for _, t := range e.o.Replace {
		if has := e.partitionsOf(t.Name); t.Partitions > 0 && has > 0 && has != t.Partitions {
			left = append(left, TopicStep{Kind: StepConflict, Topic: t.Name, Reason: fmt.Sprintf(
				"it has %d partitions, and its description in TopicOptions.Replace states %d: change the description, or use another topic",
				has, t.Partitions)})
		}
	}
	for i := range e.list {
		log := e.list[i].Changelog
		copies := int(e.defaults.ReplicationFactor)
		if e.exists(log) {
			copies = e.have[log].Partitions.NumReplicas()
		}
		if copies == 1 && e.brokers > 1 {
			left = append(left, TopicStep{Kind: StepConflict, Topic: log, Reason: fmt.Sprintf(
				"it has one replica of each partition, and the cluster has %d brokers: the loss of a disk is the loss of the state. Add replicas with kafka-reassign-partitions.sh, and give new topics a replication factor of %d",
				e.brokers, min(3, e.brokers))})
		}
	}
	return left
}

// defaults returns the replicas of new topics in a cluster with this number of brokers.
func (o *TopicOptions) defaults(brokers int) Defaults {
	n := cmp.Or(o.ReplicationFactor, min(3, brokers))
	return Defaults{ReplicationFactor: int16(n), MinInsync: int16(min(cmp.Or(o.MinInsync, 2), n))}
}
