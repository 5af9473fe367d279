package processors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// takeOver brings partitions whose barrier is committed to where they can run:
//
//	facts, once for all ─▶ begin ─▶ readTails, one client for all ─▶ tailEnded: compare, revive ─▶ land
//
// It is given those that this worker holds in the store.
func (w *worker) takeOver(life context.Context, list []*restorer) {
	for _, r := range list {
		r.waitsFor("the brokers' word on topics and offsets")
	}
	f, err := w.ask(life)
	from, tails := map[int32]int64{}, map[int32]*restorer{}
	var later []*restorer
	for _, r := range list {
		at, err := int64(0), err
		if err == nil {
			err = f.stable(r.p)
		}
		if errors.Is(err, kerr.UnstableOffsetCommit) && r.ctx.Err() == nil {
			r.waitsFor("the committed offsets of the group")
			later = append(later, r)
			continue
		}
		if err == nil {
			at, err = r.begin(f)
		}
		if err != nil {
			r.land(nil, err)
			continue
		}
		from[r.p], tails[r.p] = at, r
	}
	if len(later) > 0 {
		w.restores.Go(func() {
			pause(life, 20*time.Millisecond)
			w.takeOver(life, later)
		})
	}
	w.readTails(life, f, from, tails)
}

// facts are what the brokers say of the processor's topics and group, after the barriers were committed.
type facts struct {
	proc    *stream.Processor
	ids     map[string][]byte // of the changelog and the inputs
	offsets kadm.OffsetResponses
	logs    kadm.ListedOffsets // where the changelog begins
	ends    kadm.ListedOffsets // where it ends, committed or not
	inputs  kadm.ListedOffsets // where the inputs begin
}

// ask gathers the facts. What the brokers cannot say of one partition is no concern of the others.
func (w *worker) ask(ctx context.Context) (*facts, error) {
	return askGroup(ctx, kadm.NewClient(w.plain), w.proc)
}

// askGroup asks what a takeover has to know: askTopics, the group's offsets and where the inputs begin.
func askGroup(ctx context.Context, adm *kadm.Client, proc *stream.Processor) (*facts, error) {
	f, err := askTopics(ctx, adm, proc)
	if err != nil {
		return nil, err
	}
	if f.offsets, err = adm.FetchOffsets(kadm.RequireStable(ctx), proc.App); err != nil {
		return nil, fmt.Errorf("fetch committed offsets of %s: %w", proc.App, err)
	}
	if f.inputs, err = adm.ListStartOffsets(ctx, proc.Inputs...); all(err) {
		return nil, fmt.Errorf("read start of the inputs: %w", err)
	}
	return f, nil
}

// startsOf asks where partition p of each of topics begins.
func startsOf(ctx context.Context, adm *kadm.Client, topics []string, p int32) (map[string]int64, error) {
	list, err := adm.ListStartOffsets(ctx, topics...)
	if all(err) {
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

// askTopics asks what a replay of the changelog has to know.
func askTopics(ctx context.Context, adm *kadm.Client, proc *stream.Processor) (*facts, error) {
	ids, err := topicIDs(ctx, proc, adm)
	if err != nil {
		return nil, err
	}
	f := &facts{proc: proc, ids: ids}
	if f.logs, err = adm.ListStartOffsets(ctx, proc.Changelog); all(err) {
		return nil, fmt.Errorf("read start of %s: %w", proc.Changelog, err)
	}
	if f.ends, err = adm.ListEndOffsets(ctx, proc.Changelog); all(err) {
		return nil, fmt.Errorf("read end of %s: %w", proc.Changelog, err)
	}
	return f, nil
}

// topicIDs are those of the changelog and the inputs, by name.
func topicIDs(ctx context.Context, p *stream.Processor, adm *kadm.Client) (map[string][]byte, error) {
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

// all says whether an error is about all brokers; what others answered is there.
func all(err error) bool {
	var some *kadm.ShardErrors
	return err != nil && (!errors.As(err, &some) || some.AllFailed)
}

// stable says whether the group's offsets of a partition are known, and no transaction holds them open.
func (f *facts) stable(p int32) (err error) {
	for _, topic := range f.proc.Inputs {
		if o, ok := f.offsets.Lookup(topic, p); ok && o.Err != nil {
			err = errors.Join(err, fmt.Errorf("fetch committed offset of %s[%d]: %w", topic, p, o.Err))
		}
	}
	return err
}

// groupOffset is what the group committed for one input of a partition.
type groupOffset struct {
	at int64  // -1 if nothing
	by string // the transaction that committed it, see identity
}

func (f *facts) committed(topic string, p int32) groupOffset {
	if o, ok := f.offsets.Lookup(topic, p); ok && o.At >= 0 {
		return groupOffset{o.At, o.Metadata}
	}
	return groupOffset{at: -1}
}

// inputStart is where an input begins in partition p.
func (f *facts) inputStart(topic string, p int32) (int64, error) { return offsetIn(f.inputs, topic, p) }

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

// sameTopics compares the ids of the topics with those that the store remembers.
func (f *facts) sameTopics(p int32, meta *changelogpb.TaskMeta) error {
	was := map[string][]byte{f.proc.Changelog: meta.ChangelogTopicId}
	for _, in := range meta.GetMarker().GetInputs() {
		was[in.Topic] = in.TopicId
	}
	for name, id := range was {
		if now := f.ids[name]; len(id) > 0 && now != nil && !bytes.Equal(id, now) {
			return stopped(p, fmt.Errorf("topic %s was deleted and created again (id %x, was %x): its offsets mean something else now. Nothing was changed; to begin anew, stop the application, delete its group and changelog, and remove the state directory", name, now, id))
		}
	}
	return nil
}
