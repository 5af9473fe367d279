package spendcounter

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/spendcounter/spendpb"
)

// Keys of the tables that hold one record.
const (
	TaskKey  = "task" // of TableTask
	ringsKey = "rings"
)

// stateLayout is the version of the keys and values of the logged tables. Layout 0 had keys that
// began with the campaign, layout 1 ids by the order of all inputs.
const stateLayout = 2

// rankingsVersion is the version of the tables that are made from the campaign days: 1 has totals.
const rankingsVersion = 1

// IsRanked reports whether the rankings and totals are those of the campaign days. Otherwise the
// next commit makes them: after a promotion or a repartition, and for the state of an earlier
// version.
func IsRanked(s *spendpb.TaskState) bool {
	return !s.GetUnranked() && (s.GetRankings() >= rankingsVersion || s.GetLayout() == 0)
}

// ErrLayout means that another version of weir wrote the state, in another layout.
var ErrLayout = errors.New("the state has another layout")

// ParseTask reads a task record. An empty value is the task record before the first commit. It
// returns ErrLayout for the state of another layout.
func ParseTask(value []byte) (*spendpb.TaskState, error) {
	s := &spendpb.TaskState{}
	if err := proto.Unmarshal(value, s); err != nil {
		return nil, fmt.Errorf("task record is corrupt: %w: rebuild the store from its changelog", err)
	}
	switch {
	case len(value) == 0 || s.Layout == stateLayout:
		return s, nil
	case s.Layout > stateLayout:
		return nil, fmt.Errorf("%w: a newer version wrote layout %d, this version reads layout %d: run the newer version", ErrLayout,
			s.Layout, stateLayout)
	default:
		return nil, fmt.Errorf(
			"%w: an earlier version wrote layout %d, this version reads layout %d and cannot convert it. Run the version that wrote it, "+
				"or count from the start: stop the application, delete its group and changelog, and remove the state directory", ErrLayout,
			s.Layout, stateLayout)
	}
}

// state returns the task record.
func (c *Counter) state() *spendpb.TaskState {
	s := &spendpb.TaskState{
		Unranked: c.unranked, Layout: stateLayout, Corrections: c.corrections, Rankings: rankingsVersion,
		TimestampMs: c.timestampMs, Duplicates: c.duplicates, Refunds: c.refunds, RefundedMicros: c.refundedMicros,
		EarlyDrops: c.window.earlyDrops, Conflicts: c.conflicts, OverRefunds: c.overRefunds, LateBeforeMs: c.window.lateBeforeMs,
		ServingDcs: c.dcs.sorted(), Ring: c.ringSpans.state(),
		ClosedDay: int32(c.closing.through), Pass: c.closing.state(),
	}
	for i := range c.origins {
		o := &c.origins[i]
		p := &spendpb.Origin{
			Dc: o.dc, WatermarkMs: o.watermarkMs, Count: o.count, Micros: o.micros, Lost: o.lost,
			TransportDuplicates: o.transportDuplicates, Late: o.late, Rejected: o.rejected,
			Applied: appliedState(o.events), AppliedAdjustments: appliedState(o.adjustments), Minute: o.minute,
		}
		s.Origins = append(s.Origins, p)
	}
	return s
}

// restore sets the state from the task record, which is empty at the first start.
func (c *Counter) restore(s *spendpb.TaskState) error {
	c.timestampMs, c.duplicates, c.refunds = s.TimestampMs, s.Duplicates, s.Refunds
	c.refundedMicros, c.unranked, c.corrections = s.RefundedMicros, !IsRanked(s), s.Corrections
	for _, name := range s.ServingDcs {
		if c.dcs.add([]byte(name)) == noDC {
			return fmt.Errorf("spend counter, partition %d: task record names more than %d serving datacentres",
				c.task.Partition, MaxServingDCs)
		}
	}
	for _, p := range s.Origins {
		// An origin that is no longer configured keeps its figures, because the sums include its
		// charges, and its positions: it may be configured again, with the same copies.
		at := c.addOrigin(p.Dc)
		for i := range c.inputs {
			c.inputs[i].origin = c.addOrigin(string(c.inputs[i].dcName))
		}
		o := &c.origins[at]
		o.watermarkMs, o.count, o.micros, o.lost = p.WatermarkMs, p.Count, p.Micros, p.Lost
		o.transportDuplicates, o.late, o.rejected = p.TransportDuplicates, p.Late, p.Rejected
		o.events, o.adjustments, o.minute = appliedFrom(p.Applied), appliedFrom(p.AppliedAdjustments), p.Minute
		c.micros += p.Micros
		if p.Micros < 0 || c.micros < 0 || s.RefundedMicros < 0 {
			return fmt.Errorf("spend counter, partition %d: task record has a negative sum: rebuild the store from its changelog",
				c.task.Partition)
		}
	}
	c.conflicts, c.overRefunds = s.Conflicts, s.OverRefunds
	c.closing = closingFrom(s)
	c.window.configure(&c.cfg)
	c.window.earlyDrops, c.window.lateBeforeMs = s.EarlyDrops, s.LateBeforeMs
	c.ringSpans = c.spansFrom(s.Ring)
	return nil
}

func (s *spans) state() *spendpb.Generations {
	return &spendpb.Generations{Number: s.number, Current: s.current, Previous: s.previous}
}

func (c *Counter) spansFrom(g *spendpb.Generations) spans {
	s := spans{number: g.GetNumber(), current: g.GetCurrent(), previous: g.GetPrevious()}
	if s.current == nil {
		s.number, s.current = 1, c.currentMark()
	}
	return s
}

// appliedState returns the positions in an origin as records, ordered by topic id and partition.
func appliedState(list []applied) []*spendpb.Applied {
	var s []*spendpb.Applied
	for _, a := range list {
		s = append(s, &spendpb.Applied{TopicId: bytes.Clone(a.topic[:]), Partition: a.partition, Next: a.next})
	}
	slices.SortFunc(s, func(a, b *spendpb.Applied) int {
		return cmp.Or(bytes.Compare(a.TopicId, b.TopicId), cmp.Compare(a.Partition, b.Partition))
	})
	return s
}

func appliedFrom(s []*spendpb.Applied) []applied {
	var list []applied
	for _, a := range s {
		one := applied{partition: a.Partition, next: a.Next}
		copy(one.topic[:], a.TopicId)
		list = append(list, one)
	}
	return list
}
