package follower

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// brokerState is what the brokers report about the topics.
type brokerState struct {
	at     time.Time // before they were asked
	topics map[string]topicState
	skips  map[id]skip
}

// topicState describes a topic, and how long tombstones are kept at least.
type topicState struct {
	kafka.TopicLog
	keeps time.Duration
}

// skip is a range of offsets without records.
type skip struct{ from, to int64 }

const (
	askEvery    = time.Second
	askTimeout  = 10 * time.Second
	configEvery = 5 * time.Minute
)

// defaultKeeps is delete.retention.ms of a topic whose configuration the follower may not read:
// Kafka's default.
const defaultKeeps = 24 * time.Hour

// leastKeeps is the least time for which tombstones count as kept. The brokers are asked once a
// second, so a shorter time could never be verified.
const leastKeeps = time.Minute

// forever is how long a topic without compaction keeps tombstones: as long as everything else.
const forever = 100 * 365 * 24 * time.Hour

// asker asks the brokers about the topics.
type asker struct {
	f        *Follower
	cl       *kgo.Client
	names    []string
	keeps    map[string]time.Duration
	configAt time.Time
	last     map[id]int64 // positions at the last question
	damageAt time.Time    // when findSkips last read damaged partitions
}

func (f *Follower) newAsker(cl *kgo.Client) *asker {
	a := &asker{f: f, cl: cl, keeps: map[string]time.Duration{}, last: map[id]int64{}}
	for _, t := range f.cfg.Topics {
		a.names = append(a.names, t.Name)
	}
	return a
}

// ask returns the state of the topics. Its error means that the brokers do not answer.
func (a *asker) ask(ctx context.Context) (*brokerState, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	// The time is that of the wall clock, which also runs while the machine sleeps.
	st := &brokerState{at: time.Now().Round(0), topics: map[string]topicState{}, skips: map[id]skip{}}
	adm := kadm.NewClient(a.cl)
	logs, err := kafka.DescribeLogs(ctx, adm, a.names...)
	if err != nil {
		return nil, err
	}
	a.readConfigs(ctx, adm)
	for name, l := range logs {
		keeps, known := a.keeps[name]
		if !known {
			keeps = defaultKeeps
		}
		st.topics[name] = topicState{l, keeps}
	}
	a.findSkips(ctx, st)
	return st, nil
}

// readConfigs reads how long tombstones are kept. Without an answer the former values stay.
func (a *asker) readConfigs(ctx context.Context, adm *kadm.Client) {
	if time.Since(a.configAt) < configEvery {
		return
	}
	configs, err := adm.DescribeTopicConfigs(ctx, a.names...)
	if err != nil {
		return
	}
	a.configAt = time.Now()
	for _, c := range configs {
		if c.Err == nil {
			a.keeps[c.Name] = keepsOf(c)
		}
	}
}

// keepsOf returns how long a topic keeps tombstones at least.
func keepsOf(c kadm.ResourceConfig) time.Duration {
	keeps, compacted := defaultKeeps, false
	for _, e := range c.Configs {
		switch v := e.MaybeValue(); e.Key {
		case "cleanup.policy":
			compacted = v != "delete"
		case "delete.retention.ms":
			if ms, err := strconv.ParseInt(v, 10, 64); err == nil {
				keeps = max(leastKeeps, time.Duration(min(ms, forever.Milliseconds()))*time.Millisecond)
			}
		}
	}
	if !compacted {
		return forever
	}
	return keeps
}

// findSkips looks at partitions that are not at their end and did not move since the last question.
// Compaction can leave a batch without records at the end of the log. The client passes it without
// reporting it, so it is read here. A damaged batch may be gone as well, and takes time to decode.
func (a *asker) findSkips(ctx context.Context, st *brokerState) {
	now, damagedToo := map[id]int64{}, time.Since(a.damageAt) >= kafka.UnreadableRetry
	if damagedToo {
		a.damageAt = time.Now()
	}
	a.f.mu.RLock()
	for at, p := range a.f.parts {
		if p.damaged != nil && !damagedToo {
			continue
		}
		if p.active && p.topic.Name == at.topic {
			now[at] = p.at()
		}
	}
	maps.DeleteFunc(a.last, func(at id, _ int64) bool { return a.f.parts[at] == nil })
	a.f.mu.RUnlock()
	for at, next := range now {
		t := st.topics[at.topic]
		s, known := t.Partitions[at.n]
		before, seen := a.last[at]
		a.last[at] = next
		if known && s.Err == nil && seen && before == next && next < s.End {
			if to := kafka.SkipEmpty(ctx, a.cl, t.TopicLog, kafka.Position{Topic: at.topic, Partition: at.n, Offset: next}); to > next {
				st.skips[at] = skip{next, to}
			}
		}
	}
}
