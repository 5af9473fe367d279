package replayrange

import (
	"context"
	"math"

	"github.com/weirhq/weir/processors/changelogpb"
)

// Offsets are offsets by topic and partition.
type Offsets = map[string]map[int32]int64

// Range is where the tasks of a replay begin and end. A nil Range begins where the inputs begin,
// and has no end.
type Range struct {
	// From is the first offset of a task that never committed. An input that is not in it begins at
	// its first record.
	From Offsets
	// Until is the first offset that is not folded. A partition that is not in it is not folded.
	Until Offsets
	// Skips are the ranges that the live processor skipped, by partition.
	Skips map[int32][]*changelogpb.Skip
}

type key struct{}

// NewContext returns a copy of ctx that carries r.
func NewContext(ctx context.Context, r *Range) context.Context {
	return context.WithValue(ctx, key{}, r)
}

// FromContext returns the Range of ctx; nil if it has none.
func FromContext(ctx context.Context) *Range {
	r, _ := ctx.Value(key{}).(*Range)
	return r
}

// Start returns the offset at which a task that never committed begins. first is the offset of the
// first record of the input.
func (r *Range) Start(topic string, partition int32, first int64) int64 {
	if r == nil {
		return first
	}
	if at, ok := r.From[topic][partition]; ok {
		return at
	}
	return first
}

// End returns the first offset that is not folded.
func (r *Range) End(topic string, partition int32) int64 {
	if r == nil {
		return math.MaxInt64
	}
	return r.Until[topic][partition]
}

// SkipsOf returns the ranges that are not folded in a partition.
func (r *Range) SkipsOf(partition int32) []*changelogpb.Skip {
	if r == nil {
		return nil
	}
	return r.Skips[partition]
}
