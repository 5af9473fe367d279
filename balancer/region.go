package balancer

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events/eventspb"
)

// region is the state of a region.
type region struct {
	settings    eventspb.LeaseRegion
	clockMs     int64                // time of the newest change from its stream, Unix ms
	heartbeatMs int64                // time of its last heartbeat, by its clock, Unix ms
	backlogMs   int64                // how far the reader of its stream was behind at that time
	seen        map[string]heartbeat // last heartbeats of other regions
	changed     bool                 // differs from the committed row
}

// heartbeat is a heartbeat of another region as this region saw it.
type heartbeat struct{ writtenMs, lagMs int64 }

// observeOwn applies a heartbeat of the region from its own stream. Its time of writing counts: a
// reader that is behind reads old heartbeats now.
func (r *region) observeOwn(b *eventspb.LeaseHeartbeat) {
	if b.WrittenMs >= r.heartbeatMs {
		r.heartbeatMs, r.backlogMs, r.changed = b.WrittenMs, b.LagMs, true
		r.clockMs = max(r.clockMs, b.WrittenMs)
	}
}

// observeOther applies a heartbeat of another region that arrived here by replication.
func (r *region) observeOther(b *eventspb.LeaseHeartbeat) {
	if b.WrittenMs >= r.seen[b.From].writtenMs {
		r.seen[b.From] = heartbeat{b.WrittenMs, max(0, b.SeenMs-b.WrittenMs)}
		r.changed = true
	}
}

// fresh reports whether the state of the region is current.
func (r *region) fresh(nowMs, within int64) bool {
	return nowMs-r.heartbeatMs < within && r.backlogMs < within
}

// viewState returns the state of a region as a View has it.
func (b *Balancer) viewState(i int, nowMs int64) string {
	r := &b.regions[i]
	switch s := r.settings.State; {
	case s == plan.StateAdopted:
		return s
	case !r.fresh(nowMs, b.cfg.HeartbeatTimeout.Milliseconds()):
		return plan.StateSilent
	case s == plan.StateEvacuating:
		return s
	}
	return plan.StateActive
}

// lag returns the replication lag to region i, ms: the greatest of the lags that it saw of the
// other fresh regions, and of the age of what it has not seen of them. -1 if it never saw one of
// them.
func (b *Balancer) lag(i int, nowMs int64) int64 {
	to, lag := &b.regions[i], int64(0)
	for j := range b.regions {
		from := &b.regions[j]
		if j == i || from.settings.State == plan.StateAdopted || !from.fresh(nowMs, b.cfg.HeartbeatTimeout.Milliseconds()) {
			continue
		}
		s, ok := to.seen[b.cfg.Regions[j]]
		if !ok {
			return -1
		}
		lag = max(lag, s.lagMs, from.heartbeatMs-s.writtenMs)
	}
	return lag
}

func (r *region) state() ([]byte, error) {
	settings, err := proto.Marshal(&r.settings)
	if err != nil {
		return nil, err
	}
	m := &balancerpb.Region{
		Settings: settings, ClockMs: r.clockMs, HeartbeatMs: r.heartbeatMs, BacklogMs: r.backlogMs,
		Seen: map[string]*balancerpb.Heartbeat{},
	}
	for name, s := range r.seen {
		m.Seen[name] = &balancerpb.Heartbeat{WrittenMs: s.writtenMs, LagMs: s.lagMs}
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

func (r *region) restore(value []byte) error {
	m := &balancerpb.Region{}
	if err := proto.Unmarshal(value, m); err != nil {
		return err
	}
	r.clockMs, r.heartbeatMs, r.backlogMs = m.ClockMs, m.HeartbeatMs, m.BacklogMs
	for name, s := range m.Seen {
		r.seen[name] = heartbeat{s.WrittenMs, s.LagMs}
	}
	return proto.Unmarshal(m.Settings, &r.settings)
}
