package balancer

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/events/eventspb"
)

// pool is the state of a pool in all regions.
type pool struct {
	client, name string
	key          string       // client NUL name
	regions      []poolRegion // by Config.Regions
	settings     eventspb.LeasePool
	method       forecast.Method
	readMs       int64 // time of the newest scanned row, Unix ms
	floorsNoted  int64 // version of the settings whose high floors are in the journal
	meanLeaseMs  int64 // moving average of the length of its leases; 0 before the first

	changedRows  map[string]*entry    // by resource: what changed since the last Flush
	transfers    map[string]*transfer // by resource
	changed      bool                 // differs from the committed row
	touched      bool                 // is in Balancer.touched
	emptySinceMs int64                // time from which it is empty, Unix ms; 0 if it is not
}

// entry is a resource that changed since the last Flush.
type entry struct {
	row
	before row  // the row at the last Flush
	known  bool // before exists
}

// entryChunk is the number of entries that are allocated at once.
const entryChunk = 128

func (p *pool) state() ([]byte, error) {
	settings, err := proto.MarshalOptions{Deterministic: true}.Marshal(&p.settings)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(
		&balancerpb.Pool{
			Settings: settings, Method: uint32(p.method), ReadMs: p.readMs, FloorsNoted: p.floorsNoted, MeanLeaseMs: p.meanLeaseMs,
		})
}

func (p *pool) restore(value []byte) error {
	m := &balancerpb.Pool{}
	if err := proto.Unmarshal(value, m); err != nil {
		return err
	}
	p.method, p.readMs, p.floorsNoted, p.meanLeaseMs = forecast.Method(m.Method%forecast.Methods), m.ReadMs, m.FloorsNoted, m.MeanLeaseMs
	return proto.Unmarshal(m.Settings, &p.settings)
}

// lengths is the number of leases in the moving average of their length.
const lengths = 16

// recordLength adds the length of a new lease to the average.
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

// horizon returns how far ahead the pool is planned, ms: at most the length of a lease. What
// returns within the horizon counts once, and a resource with short leases returns many times in
// ten minutes.
func (p *pool) horizon() int64 {
	if p.meanLeaseMs == 0 {
		return forecast.DefaultHorizon.Milliseconds()
	}
	return max(forecast.MinHorizon.Milliseconds(), min(p.meanLeaseMs/1000*1000, forecast.DefaultHorizon.Milliseconds()))
}

// choose sets the forecast method of the pool: that of its settings, or the best recent one.
func (p *pool) choose() {
	if m, ok := forecast.ParseMethod(p.settings.Forecast); ok {
		p.changed = p.changed || p.method != m
		p.method = m
		return
	}
	series := make([]*forecast.Series, len(p.regions))
	for i := range p.regions {
		series[i] = &p.regions[i].series
	}
	if m := forecast.Choose(p.method, series); m != p.method {
		p.method, p.changed = m, true
	}
}

// stock returns the number of all resources of the pool.
func (p *pool) stock() (n int64) {
	for i := range p.regions {
		n += p.regions[i].total()
	}
	return n
}
