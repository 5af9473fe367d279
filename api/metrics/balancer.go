package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/stream"
)

// balancerMetrics is weir_balancer_*.
type balancerMetrics struct {
	pools, inTransit, oldest *prometheus.GaugeVec
	state, short             *prometheus.GaugeVec

	transfers                            *prometheus.CounterVec
	arrived, overtaken, refused, expired prometheus.Counter
	timerRun                             prometheus.Histogram
}

func newBalancerMetrics(f families) balancerMetrics {
	finished := f.counterVec("finished_transfers_total",
		"Resources whose transfer ended, by outcome: arrived (the other region has it), overtaken (another writer changed the row first, most often a lease), "+
			"refused (the executor did not carry the command out), expired (neither a result nor a change was seen in time).", "outcome")
	return balancerMetrics{
		pools:     f.gauge("pools", "Pools that the balancer plans, by partition."),
		inTransit: f.gauge("resources_in_transit", "Resources commanded to another region that have not arrived there, by partition."),
		oldest: f.gauge("oldest_transfer_seconds",
			"Age of the oldest transfer that has not ended, by partition; 0 without such a transfer."),
		state: f.gauge("region_state",
			"1 for the state of a region as the balancer sees it, 0 for the other states: active, evacuating, adopted, "+
				"silent (no fresh heartbeat: no resource moves to or from it).", "region", "state"),
		short: f.gauge("short_pools",
			"Pools that need more free resources in a region than they have there and in transit, by more than the dead band.", "region"),
		transfers: f.counterVec("transfers_total",
			"Resources commanded to another region, by kind (move, pull, evacuate) and by the regions that they leave and go to.", "kind",
			"from", "to"),
		arrived:   finished.WithLabelValues("arrived"),
		overtaken: finished.WithLabelValues("overtaken"),
		refused:   finished.WithLabelValues("refused"),
		expired:   finished.WithLabelValues("expired"),
		timerRun:  f.timerRun(),
	}
}

func (m *balancerMetrics) observe(b *balancer.Balancer, partition int32, regions []string) stream.Handler {
	g := newGauges(partition, m.pools, m.inTransit, m.oldest, m.state, m.short)
	arrived, overtaken := increase{counter: m.arrived}, increase{counter: m.overtaken}
	refused, expired := increase{counter: m.refused}, increase{counter: m.expired}
	moved := map[balancer.MovePath]*increase{}
	return &metered{core: b, timerRun: m.timerRun, gauges: g, publish: func() {
		s := b.Stats()
		g.set(m.pools, float64(s.Pools))
		g.set(m.inTransit, float64(s.InTransit))
		g.set(m.oldest, float64(s.OldestTransferMs)/1000)
		for i, is := range s.RegionStates {
			m.setState(&g, regions[i], is)
			g.set(m.short, float64(s.ShortPools[i]), regions[i])
		}
		for path, n := range s.Moved {
			if moved[path] == nil {
				moved[path] = &increase{counter: m.transfers.WithLabelValues(path.Kind, path.From, path.To)}
			}
			moved[path].to(uint64(n))
		}
		arrived.to(uint64(s.Arrived))
		overtaken.to(uint64(s.Overtaken))
		refused.to(uint64(s.Refused))
		expired.to(uint64(s.Expired))
	}}
}

// setState sets the series of all states of a region.
func (m *balancerMetrics) setState(g *gauges, region, is string) {
	for _, state := range []string{plan.StateActive, plan.StateEvacuating, plan.StateAdopted, plan.StateSilent} {
		value := 0.0
		if state == is {
			value = 1
		}
		g.set(m.state, value, region, state)
	}
}
