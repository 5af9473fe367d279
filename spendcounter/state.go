package spendcounter

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/spendcounter/spendpb"
)

// Keys of the tables that hold one record.
const (
	taskKey  = "task"
	ringsKey = "rings"
)

// state returns the task record.
func (c *Counter) state() *spendpb.TaskState {
	s := &spendpb.TaskState{
		TimestampMs: c.timestampMs, Duplicates: c.duplicates, Refunds: c.refunds, RefundedMicros: c.refundedMicros,
		EarlyRotations: c.window.earlyRotations, ServingDcs: c.dcs.sorted(), Ids: c.window.state(), Ring: c.ringSpans.state(),
	}
	for i := range c.origins {
		o := &c.origins[i]
		p := &spendpb.Origin{
			Dc: o.dc, WatermarkMs: o.watermarkMs, Count: o.count, Micros: o.micros, Lost: o.lost,
			TransportDuplicates: o.transportDuplicates,
		}
		for j := range c.inputs {
			if c.inputs[j].origin == i {
				p.Applied = append(p.Applied, appliedState(c.inputs[j].applied)...)
			}
		}
		s.Origins = append(s.Origins, p)
	}
	return s
}

// restore sets the state from the task record, which is empty at the first start.
func (c *Counter) restore(s *spendpb.TaskState) error {
	c.timestampMs, c.duplicates, c.refunds = s.TimestampMs, s.Duplicates, s.Refunds
	c.refundedMicros = s.RefundedMicros
	for _, name := range s.ServingDcs {
		if c.dcs.add([]byte(name)) == noDC {
			return fmt.Errorf("spend counter, partition %d: task record names more than %d serving datacentres",
				c.task.Partition, MaxServingDCs)
		}
	}
	for _, p := range s.Origins {
		// An origin that is no longer configured keeps its figures, because the sums include its
		// charges.
		at := c.addOrigin(p.Dc)
		for i := range c.inputs {
			c.inputs[i].origin = c.addOrigin(string(c.inputs[i].dcName))
			if in := &c.inputs[i]; in.copied && in.origin == at {
				in.applied = appliedFrom(p.Applied)
			}
		}
		o := &c.origins[at]
		o.watermarkMs, o.count, o.micros, o.lost = p.WatermarkMs, p.Count, p.Micros, p.Lost
		o.transportDuplicates = p.TransportDuplicates
		c.micros += p.Micros
		if p.Micros < 0 || c.micros < 0 || s.RefundedMicros < 0 {
			return fmt.Errorf("spend counter, partition %d: task record has a negative sum: rebuild the store from its changelog",
				c.task.Partition)
		}
	}
	c.window.length = c.cfg.DuplicateWindow.Milliseconds()
	c.window.maxIDs = c.cfg.MaxIDs / 2
	c.window.earlyRotations = s.EarlyRotations
	c.window.spans, c.ringSpans = c.spansFrom(s.Ids), c.spansFrom(s.Ring)
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

// appliedState returns the positions in an origin as records, ordered by partition.
func appliedState(list []applied) []*spendpb.Applied {
	var s []*spendpb.Applied
	for _, a := range list {
		s = append(s, &spendpb.Applied{Partition: a.partition, Next: a.next})
	}
	slices.SortFunc(s, func(a, b *spendpb.Applied) int { return int(a.Partition) - int(b.Partition) })
	return s
}

func appliedFrom(s []*spendpb.Applied) []applied {
	var list []applied
	for _, a := range s {
		list = append(list, applied{a.Partition, a.Next})
	}
	return list
}
