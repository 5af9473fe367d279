package balancer

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/changes"
	"github.com/weirhq/weir/stream"
)

// Fold applies the records of in. Invalid records go to in.Reject. An error means that the state
// could not be read.
func (b *Balancer) Fold(in *stream.Batch) error {
	if b.broken != nil {
		return b.broken
	}
	b.setTimer(0)
	var err error
	switch in.Topic {
	case b.cfg.Changes:
		err = b.changes.Each(in)
	case b.cfg.Results:
		err = b.foldResults(in)
	default:
		err = fmt.Errorf("topic %s is not an input: use %s or %s", in.Topic, b.cfg.Changes, b.cfg.Results)
	}
	if err != nil {
		return b.fail(err)
	}
	return nil
}

// foldChange applies a change. It moves the clock of the region that wrote the change.
func (b *Balancer) foldChange(c *changes.Change) error {
	from := b.region(c.Region)
	switch m := c.Row.(type) {
	case *eventspb.LeaseChange_Resource:
		if err := b.foldResource(b.pool(c.Client, c.Pool), c, m.Resource); err != nil {
			return err
		}
	case *eventspb.LeaseChange_Settings:
		b.foldSettings(c, m.Settings)
	case *eventspb.LeaseChange_Demand:
		b.foldDemand(c, m.Demand)
	case *eventspb.LeaseChange_RegionRow:
		b.foldRegion(c, m.RegionRow)
	case *eventspb.LeaseChange_Heartbeat:
		b.foldHeartbeat(from, c, m.Heartbeat)
		return nil // it has a clock of its own
	}
	if at := &b.regions[from]; !c.Scanned && c.AtMs > at.clockMs {
		at.clockMs, at.changed = c.AtMs, true
	}
	return nil
}

// foldDemand counts refused keys. They are demand as well: without them the forecast of a region
// without free resources would be zero.
func (b *Balancer) foldDemand(c *changes.Change, m *eventspb.LeaseDemand) {
	s := b.poolRegion(b.pool(c.Client, c.Pool), m.Region)
	if n := s.refuse(c.AtMs, m.Refused, c.Scanned); n > 0 {
		s.series.Add(c.AtMs, float64(n), s.profile)
	}
	b.touch(s)
}

// foldHeartbeat applies a heartbeat that the stream of region from has. A scan does not show when
// the heartbeat arrived, so scanned heartbeats are ignored.
func (b *Balancer) foldHeartbeat(from int, c *changes.Change, m *eventspb.LeaseHeartbeat) {
	switch {
	case c.Scanned:
	case b.region(m.From) == from:
		b.regions[from].observeOwn(m)
	default:
		b.regions[from].observeOther(m)
	}
}

// foldResults applies the results of commands.
func (b *Balancer) foldResults(in *stream.Batch) error {
	for i := range in.Records {
		m := &eventspb.LeaseResult{}
		if err := proto.Unmarshal(in.Records[i].Value, m); err != nil {
			in.Reject(i, changes.ReasonUndecodable, err.Error())
			continue
		}
		if err := b.foldResult(m); err != nil {
			return err
		}
	}
	return nil
}
