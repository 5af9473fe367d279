package offline

import "github.com/weirhq/weir/processors/changelogpb"

// Positions are next offsets by input topic and partition.
type Positions map[string]map[int32]int64

// Set sets the next offset of a partition.
func (p Positions) Set(topic string, partition int32, next int64) {
	if p[topic] == nil {
		p[topic] = map[int32]int64{}
	}
	p[topic][partition] = next
}

// Partition returns the positions of one partition, by topic.
func (p Positions) Partition(partition int32) map[string]int64 {
	out := map[string]int64{}
	for topic, at := range p {
		out[topic] = at[partition]
	}
	return out
}

// Positions returns the input offsets of the savepoint's partitions.
func (s *Savepoint) Positions() Positions {
	out := Positions{}
	for _, part := range s.Partitions {
		for topic, next := range part.Next {
			out.Set(topic, part.Partition, next)
		}
	}
	return out
}

// skips returns the ranges that are not in the savepoint's state, by partition.
func (s *Savepoint) skips() map[int32][]*changelogpb.Skip {
	out := map[int32][]*changelogpb.Skip{}
	for _, part := range s.Partitions {
		for _, r := range part.Skipped {
			out[part.Partition] = append(out[part.Partition], &changelogpb.Skip{Topic: r.Topic, From: r.From, To: r.To})
		}
	}
	return out
}
