package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/kafka"
)

// PartitionLag is the position of a group in one partition. All offsets are next offsets.
type PartitionLag struct {
	Topic         string `json:"topic"`
	Partition     int32  `json:"partition"`
	Start         int64  `json:"start"`     // start offset of the log
	Committed     int64  `json:"committed"` // offset of the group; -1 if it committed none
	LastStable    int64  `json:"stable"`    // last stable offset: the end for readers of committed records
	HighWatermark int64  `json:"high"`      // end offset of the log; records between LastStable and here may be in open transactions
	// Lag is the number of offsets from Committed (or Start) to LastStable. Transaction markers
	// have offsets, too. A group of this runtime commits past them, so its lag comes down to 0.
	Lag int64 `json:"lag"`
	// LagSeconds is the age of the oldest unprocessed record; 0 without lag, -1 if its broker
	// did not answer in time.
	LagSeconds float64 `json:"lag_seconds"`
	Lost       int64   `json:"lost"`     // offsets that retention deleted before the group read them
	Member     string  `json:"member"`   // member that owns the partition; "" without an owner
	Instance   string  `json:"instance"` // static name of the member
	Host       string  `json:"host"`
	State      string  `json:"state"` // state of the group: Stable, PreparingRebalance, CompletingRebalance, Empty, Dead
}

// Lag returns the lag of group in all partitions of inputs, in the order of inputs, then of
// partitions. A group that does not exist has State "Dead" and lags by the whole log. The error
// wraps ErrUnknownTopic if an input does not exist.
func Lag(ctx context.Context, k kafka.Cluster, group string, inputs []string) ([]PartitionLag, error) {
	cl, err := k.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	// Committed offsets first: the end offsets, which only grow, are then never behind them.
	g, err := positions(ctx, adm, group)
	if err != nil {
		return nil, err
	}
	ends, err := logEnds(ctx, adm, inputs)
	if err != nil {
		return nil, err
	}
	var out []PartitionLag
	for _, topic := range inputs {
		for p, high := range ends.high[topic] {
			l := g.owners[topicPartition{topic, p}]
			l.Topic, l.Partition, l.State, l.HighWatermark, l.Committed = topic, p, g.state, high.Offset, -1
			start, _ := ends.start.Lookup(topic, p)
			stable, _ := ends.stable.Lookup(topic, p)
			l.Start, l.LastStable = start.Offset, stable.Offset
			if c, ok := g.committed.Lookup(topic, p); ok {
				if c.Err != nil {
					return nil, fmt.Errorf("read the committed offset of group %s in %s[%d]: %w", group, topic, p, c.Err)
				}
				l.Committed = c.At
			}
			if l.Committed >= 0 {
				l.Lost = max(0, l.Start-l.Committed)
			}
			l.Lag = max(0, l.LastStable-max(l.Committed, l.Start))
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b PartitionLag) int {
		if d := slices.Index(inputs, a.Topic) - slices.Index(inputs, b.Topic); d != 0 {
			return d
		}
		return int(a.Partition - b.Partition)
	})
	return out, ages(ctx, cl, out)
}

type topicPartition struct {
	topic     string
	partition int32
}

// groupPositions are the owners and the committed offsets of a group.
type groupPositions struct {
	owners    map[topicPartition]PartitionLag // with the owner only
	state     string                          // of the group
	committed kadm.OffsetResponses
}

// positions reads the owners, then the committed offsets, of a group. A group that does not exist
// has the state "Dead".
func positions(ctx context.Context, adm *kadm.Client, group string) (g groupPositions, err error) {
	if g.owners, g.state, err = owners(ctx, adm, group); err != nil {
		return g, err
	}
	g.committed, err = adm.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return g, fmt.Errorf("read the committed offsets of group %s: %w", group, err)
	}
	return g, nil
}

// owners returns the owner of each partition and the state of the group.
func owners(ctx context.Context, adm *kadm.Client, group string) (map[topicPartition]PartitionLag, string, error) {
	groups, err := adm.DescribeGroups(ctx, group)
	if err != nil {
		return nil, "", fmt.Errorf("describe group %s: %w", group, err)
	}
	g := groups[group]
	if errors.Is(g.Err, kerr.GroupIDNotFound) {
		return nil, "Dead", nil
	}
	if g.Err != nil {
		return nil, "", fmt.Errorf("describe group %s: %w %s", group, g.Err, g.ErrMessage)
	}
	out := map[topicPartition]PartitionLag{}
	for _, m := range g.Members {
		has, ok := m.Assigned.AsConsumer()
		if !ok {
			continue
		}
		who := PartitionLag{Member: m.MemberID, Host: m.ClientHost}
		if m.InstanceID != nil {
			who.Instance = *m.InstanceID
		}
		for _, t := range has.Topics {
			for _, p := range t.Partitions {
				out[topicPartition{t.Topic, p}] = who
			}
		}
	}
	return out, g.State, nil
}

type logBounds struct{ start, stable, high kadm.ListedOffsets }

func logEnds(ctx context.Context, adm *kadm.Client, topics []string) (e logBounds, err error) {
	for _, q := range []struct {
		into *kadm.ListedOffsets
		ask  func(context.Context, ...string) (kadm.ListedOffsets, error)
	}{{&e.start, adm.ListStartOffsets}, {&e.stable, adm.ListCommittedOffsets}, {&e.high, adm.ListEndOffsets}} {
		got, err := q.ask(ctx, topics...)
		if err == nil {
			err = got.Error()
		}
		if err != nil {
			return e, fmt.Errorf("read the end offsets of %v: %w", topics, kafka.NameUndescribed(ctx, adm, unknownTopic(err), topics...))
		}
		*q.into = got
	}
	return e, nil
}
