package roles

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/internal/stream"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/processors"
)

// LeaseMetrics are the figures of the liberator and of dedup, by partition. A partition's values are as of its last commit
// here.
type LeaseMetrics struct {
	liberator *prometheus.GaugeVec
	dedup     *prometheus.GaugeVec
}

// NewLeaseMetrics makes the figures and registers them with r.
func NewLeaseMetrics(r prometheus.Registerer) *LeaseMetrics {
	figures := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "lease", Name: name, Help: help}, []string{"partition", "kind"})
	}
	m := &LeaseMetrics{
		liberator: figures("liberator", "State of the liberator by kind: leases (watched now), commands, repeated (commands said again), deferred (the budget was spent), "+
			"waited (settings of the pool were not known), old (changes of known versions), delay_ms (from a lease's end to its first command, slowly falling maximum)."),
		dedup: figures("dedup", "State of dedup by kind: keys (known now), open (duplicates not resolved now), found, resolved, supersedes, revokes (commands), "+
			"repeated (commands said again), waited (settings of the pool were not known), old (changes of known versions), took_ms (from finding to resolving, slowly falling maximum)."),
	}
	r.MustRegister(m.liberator, m.dedup)
	return m
}

type observedLiberator struct {
	*liberator.Liberator
	set func(kind string, v float64)
}

func (m *LeaseMetrics) observeLiberator(l *liberator.Liberator, partition int32) processors.Handler {
	if m == nil {
		return l
	}
	return &observedLiberator{l, setter(m.liberator, partition)}
}

// setter sets a partition's figures.
func setter(figures *prometheus.GaugeVec, partition int32) func(kind string, v float64) {
	p := strconv.Itoa(int(partition))
	return func(kind string, v float64) { figures.WithLabelValues(p, kind).Set(v) }
}

// Flush implements processors.Handler.
func (o *observedLiberator) Flush(c stream.Commit, ch *stream.Changes) error {
	err := o.Liberator.Flush(c, ch)
	s := o.Stats()
	o.set("leases", float64(s.Leases))
	o.set("commands", float64(s.Commands))
	o.set("repeated", float64(s.Repeated))
	o.set("deferred", float64(s.Deferred))
	o.set("waited", float64(s.Waited))
	o.set("old", float64(s.Old))
	o.set("delay_ms", float64(s.DelayMs))
	return err
}

type observedDedup struct {
	*dedup.Dedup
	set func(kind string, v float64)
}

func (m *LeaseMetrics) observeDedup(d *dedup.Dedup, partition int32) processors.Handler {
	if m == nil {
		return d
	}
	return &observedDedup{d, setter(m.dedup, partition)}
}

// Flush implements processors.Handler.
func (o *observedDedup) Flush(c stream.Commit, ch *stream.Changes) error {
	err := o.Dedup.Flush(c, ch)
	s := o.Stats()
	o.set("keys", float64(s.Keys))
	o.set("open", float64(s.Open))
	o.set("found", float64(s.Found))
	o.set("resolved", float64(s.Resolved))
	o.set("supersedes", float64(s.Supersedes))
	o.set("revokes", float64(s.Revokes))
	o.set("repeated", float64(s.Repeated))
	o.set("waited", float64(s.Waited))
	o.set("old", float64(s.Old))
	o.set("took_ms", float64(s.TookMs))
	return err
}

var (
	_ processors.Timed = (*observedLiberator)(nil)
	_ processors.Sizer = (*observedLiberator)(nil)
	_ processors.Timed = (*observedDedup)(nil)
	_ processors.Sizer = (*observedDedup)(nil)
)
