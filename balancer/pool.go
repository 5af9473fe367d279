package balancer

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/events/eventspb"
)

// pool is a pool in all regions.
type pool struct {
	client, name string
	key          string       // both, see joined
	regions      []poolRegion // by Config.Regions
	settings     eventspb.LeasePool
	method       Method
	readMs       int64 // when a scan last told something new
	floorsNoted  int64 // version of the settings whose floors were complained of
	meanLeaseMs  int64 // how long its leases are, on average of late; 0: none was seen

	changedRows  map[string]*entry    // by resource: what changed since the last Flush
	transfers    map[string]*transfer // by resource
	changed      bool
	touched      bool  // is in Balancer.touched
	emptySinceMs int64 // since when it is over; 0: it is not
}

// entry is a resource that changed since the last Flush.
type entry struct {
	row
	before row  // as the last Flush left it
	known  bool // there was one
}

func (p *pool) state() ([]byte, error) {
	settings, err := proto.MarshalOptions{Deterministic: true}.Marshal(&p.settings)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&balancerpb.Pool{Settings: settings, Method: uint32(p.method), ReadMs: p.readMs, FloorsNoted: p.floorsNoted, MeanLeaseMs: p.meanLeaseMs})
}

func (p *pool) restore(value []byte) error {
	m := &balancerpb.Pool{}
	if err := proto.Unmarshal(value, m); err != nil {
		return err
	}
	p.method, p.readMs, p.floorsNoted, p.meanLeaseMs = Method(m.Method%methods), m.ReadMs, m.FloorsNoted, m.MeanLeaseMs
	return proto.Unmarshal(m.Settings, &p.settings)
}

// lengths is over how many leases their length is averaged, with weights that fall.
const lengths = 16

// recordLength takes note of the length of a lease that began.
func (p *pool) recordLength(ms int64) {
	if ms <= 0 {
		return
	}
	if p.meanLeaseMs == 0 {
		p.meanLeaseMs = ms
	}
	p.meanLeaseMs += (ms - p.meanLeaseMs) / lengths
	p.changed = true
}

// horizon is how far it is planned for the pool, in ms: no longer than a lease, because what is expected back within it counts
// once, and a short lease's resource comes back many times in ten minutes.
func (p *pool) horizon() int64 {
	if p.meanLeaseMs == 0 {
		return DefaultHorizon.Milliseconds()
	}
	return max(MinHorizon.Milliseconds(), min(p.meanLeaseMs/1000*1000, DefaultHorizon.Milliseconds()))
}

// choose is the method that the pool is forecast by: what its settings say, else what was best of late.
func (p *pool) choose() {
	if m, ok := MethodOf(p.settings.Forecast); ok {
		p.changed = p.changed || p.method != m
		p.method = m
		return
	}
	series := make([]*Series, len(p.regions))
	for i := range p.regions {
		series[i] = &p.regions[i].series
	}
	if m := Choose(p.method, series); m != p.method {
		p.method, p.changed = m, true
	}
}

// stock is all resources of the pool.
func (p *pool) stock() (n int64) {
	for i := range p.regions {
		n += p.regions[i].total()
	}
	return n
}
