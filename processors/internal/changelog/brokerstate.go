package changelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// BrokerState are what the brokers say of the processor's topics and group, after the barriers were committed.
type BrokerState struct {
	proc            *stream.Processor
	IDs             map[string][]byte // of the changelog and the inputs
	offsets         kadm.OffsetResponses
	changelogStarts kadm.ListedOffsets // where the changelog begins
	changelogEnds   kadm.ListedOffsets // where it ends, committed or not
	inputStarts     kadm.ListedOffsets // where the inputs begin
}

// FetchGroupState asks what a takeover has to know: askTopics, the group's offsets and where the inputs begin.
func FetchGroupState(ctx context.Context, adm *kadm.Client, proc *stream.Processor) (*BrokerState, error) {
	f, err := FetchTopicState(ctx, adm, proc)
	if err != nil {
		return nil, err
	}
	if f.offsets, err = adm.FetchOffsets(kadm.RequireStable(ctx), proc.App); err != nil {
		return nil, fmt.Errorf("fetch committed offsets of %s: %w", proc.App, err)
	}
	if f.inputStarts, err = adm.ListStartOffsets(ctx, proc.Inputs...); allShardsFailed(err) {
		return nil, fmt.Errorf("read start of the inputs: %w", err)
	}
	return f, nil
}

// InputStarts asks where partition p of each of topics begins.
func InputStarts(ctx context.Context, adm *kadm.Client, topics []string, p int32) (map[string]int64, error) {
	list, err := adm.ListStartOffsets(ctx, topics...)
	if allShardsFailed(err) {
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

// FetchTopicState asks what a replay of the changelog has to know.
func FetchTopicState(ctx context.Context, adm *kadm.Client, proc *stream.Processor) (*BrokerState, error) {
	ids, err := TopicIDs(ctx, proc, adm)
	if err != nil {
		return nil, err
	}
	f := &BrokerState{proc: proc, IDs: ids}
	if f.changelogStarts, err = adm.ListStartOffsets(ctx, proc.Changelog); allShardsFailed(err) {
		return nil, fmt.Errorf("read start of %s: %w", proc.Changelog, err)
	}
	if f.changelogEnds, err = adm.ListEndOffsets(ctx, proc.Changelog); allShardsFailed(err) {
		return nil, fmt.Errorf("read end of %s: %w", proc.Changelog, err)
	}
	return f, nil
}

// TopicIDs are those of the changelog and the inputs, by name.
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

// allShardsFailed says whether an error is about all brokers; what others answered is there.
func allShardsFailed(err error) bool {
	var some *kadm.ShardErrors
	return err != nil && (!errors.As(err, &some) || some.AllFailed)
}

// OffsetsStable says whether the group's offsets of a partition are known, and no transaction holds them open.
func (f *BrokerState) OffsetsStable(p int32) (err error) {
	for _, topic := range f.proc.Inputs {
		if o, ok := f.offsets.Lookup(topic, p); ok && o.Err != nil {
			err = errors.Join(err, fmt.Errorf("fetch committed offset of %s[%d]: %w", topic, p, o.Err))
		}
	}
	return err
}

// GroupOffset is what the group committed for one input of a partition.
type GroupOffset struct {
	At       int64  // -1 if nothing
	Metadata string // the transaction that committed it, see identity
}

// Committed is the group's committed offset of an input partition.
func (f *BrokerState) Committed(topic string, p int32) GroupOffset {
	if o, ok := f.offsets.Lookup(topic, p); ok && o.At >= 0 {
		return GroupOffset{o.At, o.Metadata}
	}
	return GroupOffset{At: -1}
}

// InputStart is where an input begins in partition p.
func (f *BrokerState) InputStart(topic string, p int32) (int64, error) {
	return offsetIn(f.inputStarts, topic, p)
}

func offsetIn(list kadm.ListedOffsets, topic string, p int32) (int64, error) {
	o, ok := list.Lookup(topic, p)
	if !ok {
		return 0, fmt.Errorf("read the bounds of %s[%d]: its broker does not answer", topic, p)
	}
	if o.Err != nil {
		return 0, fmt.Errorf("read the bounds of %s[%d]: %w", topic, p, o.Err)
	}
	return o.Offset, nil
}

// checkTopicIDs compares the ids of the topics with those that the store remembers.
func (f *BrokerState) checkTopicIDs(p int32, meta *changelogpb.TaskMeta) error {
	was := map[string][]byte{f.proc.Changelog: meta.ChangelogTopicId}
	for _, in := range meta.GetMarker().GetInputs() {
		was[in.Topic] = in.TopicId
	}
	for name, id := range was {
		if now := f.IDs[name]; len(id) > 0 && now != nil && !bytes.Equal(id, now) {
			return Stopped(p, fmt.Errorf("topic %s was deleted and created again (id %x, was %x): its offsets mean something else now. Nothing was changed; to begin anew, stop the application, delete its group and changelog, and remove the state directory", name, now, id))
		}
	}
	return nil
}
