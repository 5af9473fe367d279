package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/stream"
)

// Lease are the figures of the liberator, of dedup and of the balancer, by partition. A partition's values are as of its last
// commit here; those of a partition that went elsewhere are not here any more.
type Lease struct {
	liberator, dedup, balancer *prometheus.GaugeVec
	moved                      *prometheus.GaugeVec // by kind, from and to
	states                     *prometheus.GaugeVec // by region and state
	short                      *prometheus.GaugeVec // by region
}

// NewLease makes the figures and registers them with r.
func NewLease(r prometheus.Registerer) *Lease {
	figures := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "lease", Name: name, Help: help}, append([]string{"partition"}, labels...))
		r.MustRegister(v)
		return v
	}
	const fire = "fire_ms (how long it takes to do what is due, slowly falling maximum)."
	return &Lease{
		liberator: figures("liberator", "State of the liberator by kind: leases (watched now), commands, repeated (commands said again), deferred (the budget was spent), "+
			"waited (settings of the pool were not known), old (changes of known versions), delay_ms (from a lease's end to its first command, slowly falling maximum), "+fire, "kind"),
		dedup: figures("dedup", "State of dedup by kind: keys (known now), open (duplicates not resolved now), found, resolved, supersedes, revokes (commands), "+
			"repeated (commands said again), waited (settings of the pool were not known), old (changes of known versions), took_ms (from finding to resolving, slowly falling maximum), "+fire, "kind"),
		balancer: figures("balancer", "State of the balancer by kind: pools, flying (resources commanded to another region and not seen there now), oldest_ms (how long the one that flies the longest does), "+
			"arrived, overtaken (leased or written by somebody else first), refused (by the executor, or too late), given_up (nothing was heard of them), "+fire, "kind"),
		moved: figures("balancer_moved", "Resources that were commanded by kind (move, pull, evacuate), and the regions that they go from and to.", "kind", "from", "to"),
		states: figures("balancer_region", "1 for the state that the balancer takes a region to be in, 0 for the others: active, evacuating, adopted, silent (no fresh heartbeat: nothing moves to or from it).",
			"region", "state"),
		short: figures("balancer_short_pools", "Pools that want more free resources in a region than they have and get there, by more than the dead band.", "region"),
	}
}

// core is what a core of the lease loop is to the runtime.
type core interface {
	stream.Handler
	stream.TimerHandler
	stream.PendingSizer
}

// metered is a core whose figures are kept up to date.
type metered struct {
	core
	partition string
	gauges    func() map[string]float64 // by kind; it may set figures of more, too
	figures   *prometheus.GaugeVec
	more      []*prometheus.GaugeVec
	fired     time.Duration // slowly falling maximum
	reported  bool
}

func meterCore(c core, partition int32, show func() map[string]float64, figures *prometheus.GaugeVec, more ...*prometheus.GaugeVec) *metered {
	return &metered{core: c, partition: strconv.Itoa(int(partition)), gauges: show, figures: figures, more: more}
}

// OnTimer implements stream.TimerHandler.
func (w *metered) OnTimer(nowMs int64, due []stream.Timer) error {
	begun := time.Now()
	err := w.core.OnTimer(nowMs, due)
	w.fired = max(time.Since(begun), w.fired-w.fired/100)
	return err
}

// Flush implements stream.Handler.
func (w *metered) Flush(c stream.Commit, ch *stream.Changes) error {
	err := w.core.Flush(c, ch)
	w.reported = true
	for kind, v := range w.gauges() {
		w.figures.WithLabelValues(w.partition, kind).Set(v)
	}
	w.figures.WithLabelValues(w.partition, "fire_ms").Set(float64(w.fired.Microseconds()) / 1000)
	return err
}

// Close implements stream.Closer. One that was only made to look at its state has shown nothing: figures are another's.
func (w *metered) Close() {
	if !w.reported {
		return
	}
	for _, v := range append(w.more, w.figures) {
		v.DeletePartialMatch(prometheus.Labels{"partition": w.partition})
	}
}

// Meter is p with handlers that show their figures: those of the liberator, of dedup and of the balancer. regions are the
// balancer's, in its order.
func (m *Lease) Meter(p stream.Processor, regions []string) stream.Processor {
	return meter(p, func(h stream.Handler, partition int32) stream.Handler {
		switch h := h.(type) {
		case *liberator.Liberator:
			return m.observeLiberator(h, partition)
		case *dedup.Dedup:
			return m.observeDedup(h, partition)
		case *balancer.Balancer:
			return m.observeBalancer(h, partition, regions)
		}
		return h
	})
}

// meter is p with its handlers as observe gives them.
func meter(p stream.Processor, observe func(h stream.Handler, partition int32) stream.Handler) stream.Processor {
	inner := p.New
	p.New = func(t stream.Task) (stream.Handler, error) {
		h, err := inner(t)
		if err != nil {
			return nil, err
		}
		return observe(h, t.Partition), nil
	}
	return p
}

func (m *Lease) observeLiberator(l *liberator.Liberator, partition int32) stream.Handler {
	return meterCore(l, partition, func() map[string]float64 {
		s := l.Stats()
		return map[string]float64{
			"leases": float64(s.Leases), "commands": float64(s.Commands), "repeated": float64(s.Repeated), "deferred": float64(s.Deferred),
			"waited": float64(s.Waited), "old": float64(s.Old), "delay_ms": float64(s.DelayMs),
		}
	}, m.liberator)
}

func (m *Lease) observeDedup(d *dedup.Dedup, partition int32) stream.Handler {
	return meterCore(d, partition, func() map[string]float64 {
		s := d.Stats()
		return map[string]float64{
			"keys": float64(s.Keys), "open": float64(s.Open), "found": float64(s.Found), "resolved": float64(s.Resolved), "supersedes": float64(s.Supersedes),
			"revokes": float64(s.Revokes), "repeated": float64(s.Repeated), "waited": float64(s.Waited), "old": float64(s.Old), "took_ms": float64(s.TookMs),
		}
	}, m.dedup)
}

func (m *Lease) observeBalancer(b *balancer.Balancer, partition int32, regions []string) stream.Handler {
	p := strconv.Itoa(int(partition))
	return meterCore(b, partition, func() map[string]float64 {
		s := b.Stats()
		for path, n := range s.Moved {
			m.moved.WithLabelValues(p, path.Kind, path.From, path.To).Set(float64(n))
		}
		for i, is := range s.States {
			for _, state := range []string{balancer.StateActive, balancer.StateEvacuating, balancer.StateAdopted, balancer.StateSilent} {
				v := 0.0
				if state == is {
					v = 1
				}
				m.states.WithLabelValues(p, regions[i], state).Set(v)
			}
			m.short.WithLabelValues(p, regions[i]).Set(float64(s.Short[i]))
		}
		return map[string]float64{
			"pools": float64(s.Pools), "flying": float64(s.InTransit), "oldest_ms": float64(s.OldestMs), "arrived": float64(s.Arrived), "overtaken": float64(s.Overtaken),
			"refused": float64(s.Refused), "given_up": float64(s.GivenUp),
		}
	}, m.balancer, m.moved, m.states, m.short)
}

var _ stream.Closer = (*metered)(nil)
