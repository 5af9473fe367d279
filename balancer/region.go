package balancer

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/events/eventspb"
)

// region is what is known of a region.
type region struct {
	settings    eventspb.LeaseRegion
	clockMs     int64 // time of the newest change from its stream
	heartbeatMs int64 // of its last heartbeat, by its clock
	backlogMs   int64 // how far the reader of its stream was behind then
	seen        map[string]heartbeat
	changed     bool
}

// heartbeat is a heartbeat of another region as this one saw it.
type heartbeat struct{ writtenMs, lagMs int64 }

// observeOwn takes a heartbeat of the region from its own stream. When it was written is what counts: a reader that is behind reads
// old ones now.
func (r *region) observeOwn(b *eventspb.LeaseHeartbeat) {
	if b.WrittenMs >= r.heartbeatMs {
		r.heartbeatMs, r.backlogMs, r.changed = b.WrittenMs, b.LagMs, true
		r.clockMs = max(r.clockMs, b.WrittenMs)
	}
}

// observeOther takes a heartbeat of another region that came here by replication.
func (r *region) observeOther(b *eventspb.LeaseHeartbeat) {
	if b.WrittenMs >= r.seen[b.From].writtenMs {
		r.seen[b.From] = heartbeat{b.WrittenMs, max(0, b.SeenMs-b.WrittenMs)}
		r.changed = true
	}
}

// fresh says whether what is known of the region is of now.
func (r *region) fresh(nowMs, within int64) bool {
	return nowMs-r.heartbeatMs < within && r.backlogMs < within
}

// viewState is the region's state as a View has it.
func (b *Balancer) viewState(i int, nowMs int64) string {
	r := &b.regions[i]
	switch s := r.settings.State; {
	case s == StateAdopted:
		return s
	case !r.fresh(nowMs, b.cfg.HeartbeatTimeout.Milliseconds()):
		return StateSilent
	case s == StateEvacuating:
		return s
	}
	return StateActive
}

// lag is how far replication to region i lags, ms: the most of what it saw of the others that live, and of what it should
// have seen since. -1: one of them was never seen there.
func (b *Balancer) lag(i int, nowMs int64) int64 {
	to, lag := &b.regions[i], int64(0)
	for j := range b.regions {
		from := &b.regions[j]
		if j == i || from.settings.State == StateAdopted || !from.fresh(nowMs, b.cfg.HeartbeatTimeout.Milliseconds()) {
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
