package balancer

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
)

// Fold folds the records of in. Those that it refuses go to in.Reject; an error means that state could not be read.
func (b *Balancer) Fold(in *stream.Batch) error {
	if b.broken != nil {
		return b.broken
	}
	b.setTimer(0)
	for i := range in.Records {
		var bad refusal
		var err error
		switch r := &in.Records[i]; in.Topic {
		case b.cfg.Changes:
			bad, err = b.foldChange(r)
		case b.cfg.Results:
			bad, err = b.foldResult(r)
		default:
			err = fmt.Errorf("topic %s is none of its inputs", in.Topic)
		}
		if err != nil {
			return b.fail(err)
		}
		if bad.reason != "" {
			in.Reject(i, bad.reason, bad.detail)
		}
	}
	return nil
}

func (b *Balancer) foldChange(r *stream.Record) (refusal, error) {
	c := &eventspb.LeaseChange{}
	if err := proto.Unmarshal(r.Value, c); err != nil {
		return refusal{ReasonUndecodable, err.Error()}, nil //nolint:nilerr // the record is refused, nothing failed
	}
	from := b.region(c.Region)
	switch {
	case c.Row == nil:
		return refusal{ReasonNoRow, "the change has no row"}, nil
	case from < 0:
		return refusal{ReasonUnknownRegion, fmt.Sprintf("the stream is of region %q, which is not among the declared", c.Region)}, nil
	case c.AtMs <= 0 || c.AtMs > maxTime || c.AtMs > r.TimeMs+maxAhead.Milliseconds():
		// Forecasts go by it: one change of the far future would make the past of all others.
		return refusal{ReasonBadTime, fmt.Sprintf("written at %d, and the record is of %d", c.AtMs, r.TimeMs)}, nil
	}
	bad, err := b.foldRow(from, r, c)
	_, beat := c.Row.(*eventspb.LeaseChange_Heartbeat)
	if at := &b.regions[from]; bad.reason == "" && err == nil && !c.Scanned && !beat && c.AtMs > at.clockMs {
		at.clockMs, at.changed = c.AtMs, true
	}
	return bad, err
}

func (b *Balancer) foldRow(from int, r *stream.Record, c *eventspb.LeaseChange) (refusal, error) {
	switch m := c.Row.(type) {
	case *eventspb.LeaseChange_Resource:
		if bad := checkPool(c); bad.reason != "" {
			return bad, nil
		}
		if bad := b.checkResource(c, m.Resource); bad.reason != "" {
			return bad, nil
		}
		return refusal{}, b.foldResource(b.pool(c.Client, c.Pool), c, m.Resource)
	case *eventspb.LeaseChange_Settings:
		return b.foldSettings(c, m.Settings), nil
	case *eventspb.LeaseChange_Demand:
		return b.foldDemand(c, m.Demand), nil
	case *eventspb.LeaseChange_RegionRow:
		return b.foldRegion(c, m.RegionRow), nil
	case *eventspb.LeaseChange_Heartbeat:
		return b.foldHeartbeat(from, r, c.Scanned, m.Heartbeat), nil
	default: // keys and what is to come: of no interest
		return refusal{}, nil
	}
}

func checkPool(c *eventspb.LeaseChange) refusal {
	err := lease.CheckName("client", c.Client, lease.MaxName)
	if err == nil {
		err = lease.CheckName("pool", c.Pool, lease.MaxName)
	}
	if err != nil {
		return refusal{ReasonBadName, err.Error()}
	}
	return refusal{}
}

// foldDemand counts keys that were refused: they are demand as well, else a region without stock would forecast that it
// needs none.
func (b *Balancer) foldDemand(c *eventspb.LeaseChange, m *eventspb.LeaseDemand) refusal {
	if bad := checkPool(c); bad.reason != "" {
		return bad
	}
	i := b.region(m.Region)
	switch {
	case i < 0:
		return refusal{ReasonUnknownRegion, fmt.Sprintf("demand in region %q, which is not among the declared", m.Region)}
	case m.Refused < 0 || m.Refused > maxTime:
		return refusal{ReasonBadState, fmt.Sprintf("%d keys were refused", m.Refused)}
	}
	s := &b.pool(c.Client, c.Pool).regions[i]
	if n := s.refuse(c.AtMs, m.Refused, c.Scanned); n > 0 {
		s.series.Add(c.AtMs, float64(n), s.profile)
	}
	b.touch(s)
	return refusal{}
}

// foldHeartbeat takes a heartbeat. Its own time is the writer's, that of the change when it was read.
func (b *Balancer) foldHeartbeat(from int, r *stream.Record, scanned bool, m *eventspb.LeaseHeartbeat) refusal {
	i := b.region(m.From)
	switch {
	case i < 0:
		return refusal{ReasonUnknownRegion, fmt.Sprintf("heartbeat of region %q, which is not among the declared", m.From)}
	case m.WrittenMs < 0 || m.WrittenMs > min(maxTime, r.TimeMs+maxAhead.Milliseconds()) || m.SeenMs < 0 || m.SeenMs > maxTime || m.LagMs < 0:
		return refusal{ReasonBadTime, fmt.Sprintf("heartbeat of %d, seen at %d, with a lag of %d", m.WrittenMs, m.SeenMs, m.LagMs)}
	case scanned: // by whom it was seen says nothing then
	case i == from:
		b.regions[i].observeOwn(m)
	default:
		b.regions[from].observeOther(m)
	}
	return refusal{}
}
