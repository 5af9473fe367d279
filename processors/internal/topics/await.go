package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// ErrTopics reports that a topic is missing or has the wrong number of partitions, or that a
// changelog loses records.
var ErrTopics = errors.New("the topics do not fit the processor")

// Wait is how long Await waits for missing topics. Not every broker knows a topic that was just
// created.
const Wait = 5 * time.Second

// Count is the number of tasks of a processor, by its topics.
type Count struct {
	Tasks   int32
	Ignored []Added // partitions of topics that have more than tasks
}

// Await counts the tasks of a processor. It waits for missing topics, and then returns ErrTopics.
func Await(ctx context.Context, p *stream.Processor, adm *kadm.Client) (n Count, err error) {
	until := time.Now().Add(Wait)
	for {
		n, err = check(ctx, p, adm)
		wait := errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.LeaderNotAvailable)
		if !wait || time.Now().After(until) {
			return n, err
		}
		if pause.For(ctx, 200*time.Millisecond); ctx.Err() != nil {
			return n, ctx.Err()
		}
	}
}

// check compares the numbers of partitions once.
func check(ctx context.Context, p *stream.Processor, adm *kadm.Client) (n Count, err error) {
	names := append(p.WrittenTopics(), p.Inputs...)
	list, err := adm.ListTopics(kafka.Uncached(ctx), names...)
	if err != nil {
		return n, fmt.Errorf("read topics: %w", kafka.NameUndescribed(ctx, adm, err, names...))
	}
	if err := missing(list, p.App); err != nil {
		return n, err
	}
	want, source := len(list[p.Inputs[0]].Partitions), p.Inputs[0]+" has"
	if p.Partitions > 0 {
		want, source = int(p.Partitions), p.App+" needs"
	}
	n.Tasks = int32(want)
	state := n.Tasks // partitions that have a state
	if p.Partitions > 0 || len(list[p.Changelog].Partitions) == want {
		counted := *p
		counted.Partitions = n.Tasks
		if state, err = StatePartitions(ctx, adm, &counted); err != nil {
			return n, err
		}
		if state > 0 && state != n.Tasks {
			return n, fmt.Errorf(
				"%w: the state has %d partitions, %s %d: partition p of each topic of %s belongs to task p. Nothing was changed. Set the number back to %d; another number needs new topics, and the state moved to them", ErrTopics, state, source, want, p.App, state)
		}
	}
	for _, t := range list.Sorted() {
		has := len(t.Partitions)
		perTask := t.Topic == p.Changelog || t.Topic == p.DLQ || slices.Contains(p.Inputs, t.Topic)
		switch {
		case !perTask || has == want:
		case has > want && p.Partitions > 0 && (t.Topic != p.Changelog || state > 0):
			n.Ignored = append(n.Ignored, Added{t.Topic, n.Tasks, int32(has)})
		default:
			return n, fmt.Errorf(
				"%w: %s has %d partitions, %s %d: they must be equal, because partition p of each belongs to task p. Nothing was changed. Another number of partitions needs new topics, and the state moved to them", ErrTopics, t.Topic, has, source, want)
		}
	}
	return n, nil
}

// missing returns ErrTopics for topics of an application that do not exist or cannot be used.
func missing(list kadm.TopicDetails, app string) error {
	var names []string
	for _, t := range list.Sorted() {
		switch {
		case errors.Is(t.Err, kerr.UnknownTopicOrPartition):
			names = append(names, t.Topic)
		case t.Err != nil:
			return fmt.Errorf("%w: topic %s of %s cannot be used: %w", ErrTopics, t.Topic, app, t.Err)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf(
		"%w: topics of %s do not exist: %s. Create them first: kafkaadmin.CreateMissing does it, package program creates them at its start, and `weir topics apply` creates those of weir's own applications (%w)",
		ErrTopics, app, strings.Join(names, ", "), kerr.UnknownTopicOrPartition)
}
