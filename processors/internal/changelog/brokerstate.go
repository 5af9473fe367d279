package changelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// BrokerState is what the brokers report of the processor's topics and group after the barriers
// were committed.
type BrokerState struct {
	proc            *stream.Processor
	IDs             map[string][]byte // of the changelog and the inputs
	offsets         kadm.OffsetResponses
	changelogStarts kadm.ListedOffsets // of the changelog
	changelogEnds   kadm.ListedOffsets // of the changelog, uncommitted records included
	inputStarts     kadm.ListedOffsets // of the inputs
}

// FetchGroupState fetches what a takeover needs: FetchTopicState, the group's offsets and the start
// offsets of the inputs.
func FetchGroupState(ctx context.Context, adm *kadm.Client, proc *stream.Processor) (*BrokerState, error) {
	f, err := FetchTopicState(ctx, adm, proc)
	if err != nil {
		return nil, err
	}
	if f.offsets, err = adm.FetchOffsets(kadm.RequireStable(ctx), proc.App); err != nil {
		return nil, fmt.Errorf("fetch committed offsets of %s: %w", proc.App, err)
	}
	if f.inputStarts, err = adm.ListStartOffsets(ctx, proc.Inputs...); kafka.NoneAnswered(err) {
		return nil, fmt.Errorf("read start of the inputs: %w", err)
	}
	return f, nil
}

// InputStarts returns the start offset of partition p of each topic.
func InputStarts(ctx context.Context, adm *kadm.Client, topics []string, p int32) (map[string]int64, error) {
	list, err := adm.ListStartOffsets(ctx, topics...)
	if kafka.NoneAnswered(err) {
		return nil, fmt.Errorf("read start of the inputs: %w", err)
	}
	starts := map[string]int64{}
	for _, topic := range topics {
		if starts[topic], err = offsetIn(list, topic, p); err != nil {
			return nil, err
		}
	}
	return starts, nil
}

// FetchTopicState fetches what a reader of the changelog needs.
func FetchTopicState(ctx context.Context, adm *kadm.Client, proc *stream.Processor) (*BrokerState, error) {
	ids, err := TopicIDs(ctx, proc, adm)
	if err != nil {
		return nil, err
	}
	f := &BrokerState{proc: proc, IDs: ids}
	if f.changelogStarts, err = adm.ListStartOffsets(ctx, proc.Changelog); kafka.NoneAnswered(err) {
		return nil, fmt.Errorf("read start of %s: %w", proc.Changelog, err)
	}
	if f.changelogEnds, err = adm.ListEndOffsets(ctx, proc.Changelog); kafka.NoneAnswered(err) {
		return nil, fmt.Errorf("read end of %s: %w", proc.Changelog, err)
	}
	return f, nil
}

// TopicIDs returns the topic ids of the changelog and the inputs, by name.
func TopicIDs(ctx context.Context, p *stream.Processor, adm *kadm.Client) (map[string][]byte, error) {
	list, err := adm.ListTopics(ctx, append([]string{p.Changelog}, p.Inputs...)...)
	if err == nil {
		err = list.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read topics: %w", err)
	}
	ids := map[string][]byte{}
	for name, t := range list {
		ids[name] = bytes.Clone(t.ID[:])
	}
	return ids, nil
}

// OffsetsStable returns an error unless the group's offsets of a partition are known and no
// transaction holds them open.
func (f *BrokerState) OffsetsStable(p int32) (err error) {
	for _, topic := range f.proc.Inputs {
		if o, ok := f.offsets.Lookup(topic, p); ok && o.Err != nil {
			err = errors.Join(err, fmt.Errorf("fetch committed offset of %s[%d]: %w", topic, p, o.Err))
		}
	}
	return err
}

// GroupOffset is the offset that the group committed for one input of a partition.
type GroupOffset struct {
	At        int64  // -1 if the group committed none
	Metadata  string // names the transaction that committed it, see CommitMetadata
	Changelog string // to which that transaction wrote; empty if it is not known
}

// Committed returns the group's committed offset of an input partition.
func (f *BrokerState) Committed(topic string, p int32) GroupOffset {
	if o, ok := f.offsets.Lookup(topic, p); ok && o.At >= 0 {
		n := changelogpb.ParseNote(o.Metadata)
		return GroupOffset{o.At, n.Transaction, n.Changelog}
	}
	return GroupOffset{At: -1}
}

// InputStart returns the start offset of partition p of an input.
func (f *BrokerState) InputStart(topic string, p int32) (int64, error) {
	return offsetIn(f.inputStarts, topic, p)
}

func offsetIn(list kadm.ListedOffsets, topic string, p int32) (int64, error) {
	o, ok := list.Lookup(topic, p)
	if !ok {
		return 0, fmt.Errorf("read the first or last offset of %s[%d]: its broker does not answer", topic, p)
	}
	if o.Err != nil {
		return 0, fmt.Errorf("read the first or last offset of %s[%d]: %w", topic, p, o.Err)
	}
	return o.Offset, nil
}

// checkTopicIDs compares the topic ids with those in the store's meta.
func (f *BrokerState) checkTopicIDs(p int32, meta *changelogpb.TaskMeta) error {
	stored := map[string][]byte{f.proc.Changelog: meta.ChangelogTopicId}
	for _, in := range meta.GetMarker().GetInputs() {
		stored[in.Topic] = in.TopicId
	}
	// In order, so that all partitions name the same topic if several were created again.
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		id := stored[name]
		if was := meta.GetChangelogTopic(); name == f.proc.Changelog && was != "" && was != name {
			return Stopped(p, OtherChangelog("the store", was, name))
		}
		if now := f.IDs[name]; len(id) > 0 && now != nil && !bytes.Equal(id, now) {
			return Stopped(p,
				fmt.Errorf(
					"topic %s was deleted and created again (id %x, was %x): its offsets have another meaning now. Nothing was changed. To begin with empty state, stop the application, delete its group and changelog, and remove the state directory", name, now, id))
		}
	}
	return nil
}

// OtherChangelog returns the error of a state that belongs to another changelog than now.
func OtherChangelog(what, was, now string) error {
	return fmt.Errorf(
		"%s belongs to changelog %s, and the configuration names %s. Nothing was changed. Set the former name back; delete nothing", what,
		was, now)
}
