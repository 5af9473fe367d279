package logreader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/kafka"
)

// answer is what the brokers report, by topic.
type answer map[string]topicState

// topicState describes a topic. err is why its partitions are not known.
type topicState struct {
	id    TopicID
	err   error
	parts map[int32]bounds
}

// bounds are the first offset of a partition, and the end of its committed records.
type bounds struct {
	start, end int64
	err        error
}

const askTimeout = 10 * time.Second

// keepAsking asks each interval, and soon after a partition was opened, until ctx ends. A newer
// answer replaces one that was not taken.
func (r *Reader) keepAsking(ctx context.Context, adm *kadm.Client, answers chan answer) {
	tick := time.NewTicker(r.cfg.AskInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.opened:
		}
		a, err := r.ask(ctx, adm)
		if ctx.Err() != nil {
			return
		}
		r.heard(err)
		if err != nil {
			continue
		}
		select {
		case <-answers:
		default:
		}
		answers <- a
	}
}

// heard notes whether the cluster answers.
func (r *Reader) heard(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unheard = ""; err != nil {
		r.unheard = err.Error()
	}
}

// topics returns the names of the topics of the open partitions.
func (r *Reader) topics() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at := range r.parts {
		if !slices.Contains(names, at.topic) {
			names = append(names, at.topic)
		}
	}
	slices.Sort(names)
	return names
}

// ask returns the state of the topics of the open partitions. Its error means that the brokers do
// not answer.
func (r *Reader) ask(ctx context.Context, adm *kadm.Client) (answer, error) {
	names, a := r.topics(), answer{}
	if len(names) == 0 {
		return a, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	details, err := adm.ListTopics(kafka.Uncached(ctx), names...)
	if err != nil {
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	starts, err := adm.ListStartOffsets(ctx, names...)
	if unanswered(err) {
		return nil, fmt.Errorf("read the first offsets: %w", err)
	}
	ends, err := adm.ListCommittedOffsets(ctx, names...)
	if unanswered(err) {
		return nil, fmt.Errorf("read the end offsets: %w", err)
	}
	for _, name := range names {
		d, known := details[name]
		t := topicState{id: TopicID(d.ID), err: d.Err, parts: map[int32]bounds{}}
		if !known {
			t.err = kerr.UnknownTopicOrPartition
		}
		for n := range d.Partitions {
			t.parts[n] = boundsOf(name, n, starts, ends)
		}
		a[name] = t
	}
	return a, nil
}

// unanswered reports whether err means that no broker answered. The partitions of a broker that did
// not answer have no offsets.
func unanswered(err error) bool {
	var shards *kadm.ShardErrors
	return err != nil && (!errors.As(err, &shards) || shards.AllFailed)
}

func boundsOf(topic string, n int32, starts, ends kadm.ListedOffsets) bounds {
	start, ok1 := starts.Lookup(topic, n)
	end, ok2 := ends.Lookup(topic, n)
	b := bounds{start: start.Offset, end: end.Offset, err: errors.Join(start.Err, end.Err)}
	if b.err == nil && !(ok1 && ok2) {
		b.err = fmt.Errorf("the brokers reported no offsets of %s[%d]", topic, n)
	}
	return b
}
