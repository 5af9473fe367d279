package balancer

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/events/eventspb"
)

// Widths of the bins of times.
const (
	freeGrain   = 2_000  // ms; of the time from which a resource is available
	leasedGrain = 10_000 // ms; of the end of a lease
)

// poolRegion is the state of a pool in a region. The counts are of its resources, which are in the
// store only.
type poolRegion struct {
	free      int64 // available up to freeBin
	freeBin   int64 // last bin of free
	freeLater bins  // available later, by freeGrain
	leased    bins  // by the end of the lease, by leasedGrain
	leases    int64 // sum of leased
	other     int64 // neither free nor leased: retired

	inTransit, outbound int64 // in transfers
	excluded            int64 // counted in free, but with a failed transfer

	series  forecast.Series
	profile *forecast.Profile

	refused                   int64 // last count plus one; 0 before the first
	minute                    int64 // number of the minute of refusedNow
	refusedNow, refusedBefore int64 // in this minute, in the minute before

	published   *eventspb.LeaseHeadroom
	commandedMs int64
	tableStale  bool // the table does not have published
	changed     bool // differs from the committed row
}

// count adds a resource to the counts (n is 1) or removes it (n is -1).
func (s *poolRegion) count(r *row, n int64) {
	switch {
	case r.gone:
	case r.leased():
		s.leased.add(r.expires/leasedGrain, n)
		s.leases += n
	case r.free():
		if at := r.available / freeGrain; at <= s.freeBin {
			s.free += n
		} else {
			s.freeLater.add(at, n)
		}
	default:
		s.other += n
	}
}

// advance counts as free the resources that became available before a time. A bin is counted when
// all of it is in the past.
func (s *poolRegion) advance(nowMs int64) {
	if bin := nowMs/freeGrain - 1; bin > s.freeBin {
		s.free += s.freeLater.take(bin)
		s.freeBin = bin
	}
}

// total returns the number of resources.
func (s *poolRegion) total() int64 { return s.free + s.freeLater.all() + s.leases + s.other }

// refuse records the cumulative count of refused keys, and returns how many are new.
func (s *poolRegion) refuse(atMs, count int64, scanned bool) (n int64) {
	const most = 1_000_000 // in one change: more is an error, not demand
	if s.refused > 0 && !scanned {
		n = min(most, max(0, count+1-s.refused))
	}
	s.refused = max(s.refused, count+1) // a lower count is from a replay
	s.rollMinute(atMs)
	s.refusedNow += n
	return n
}

func (s *poolRegion) rollMinute(atMs int64) {
	switch m := atMs / 60_000; {
	case m == s.minute+1:
		s.minute, s.refusedBefore, s.refusedNow = m, s.refusedNow, 0
	case m > s.minute:
		s.minute, s.refusedBefore, s.refusedNow = m, 0, 0
	}
}

// refusals estimates how many keys were refused in the minute before a time.
func (s *poolRegion) refusals(atMs int64) int64 {
	switch m := atMs / 60_000; {
	case m <= s.minute:
		return s.refusedNow + s.refusedBefore*(60_000-atMs%60_000)/60_000
	case m == s.minute+1:
		return s.refusedNow * (60_000 - atMs%60_000) / 60_000
	}
	return 0
}

func (s *poolRegion) state() ([]byte, error) {
	m := &balancerpb.PoolRegion{
		Series: s.series.Encode(nil), Refused: s.refused, Minute: s.minute, RefusedNow: s.refusedNow, RefusedBefore: s.refusedBefore,
		CommandedMs: s.commandedMs, TableStale: s.tableStale,
	}
	var err error
	if s.published != nil {
		if m.Published, err = proto.Marshal(s.published); err != nil {
			return nil, err
		}
	}
	return proto.Marshal(m)
}

func (s *poolRegion) restore(value []byte) (err error) {
	m := &balancerpb.PoolRegion{}
	if err := proto.Unmarshal(value, m); err != nil {
		return err
	}
	if s.series, err = forecast.DecodeSeries(m.Series); err != nil {
		return err
	}
	if m.Published != nil {
		s.published = &eventspb.LeaseHeadroom{}
		if err := proto.Unmarshal(m.Published, s.published); err != nil {
			return err
		}
	}
	s.refused, s.minute, s.refusedNow, s.refusedBefore = m.Refused, m.Minute, m.RefusedNow, m.RefusedBefore
	s.commandedMs, s.tableStale = m.CommandedMs, m.TableStale
	return nil
}
