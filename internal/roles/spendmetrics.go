package roles

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/internal/stream"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
)

// SpendMetrics are the spend counter's figures, by partition. A partition's values are as of its last commit here.
type SpendMetrics struct {
	figures *prometheus.GaugeVec
}

// NewSpendMetrics makes the figures and registers them with r.
func NewSpendMetrics(r prometheus.Registerer) *SpendMetrics {
	m := &SpendMetrics{figures: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "weir", Subsystem: "spend", Name: "counter",
		Help: "State of the spend counter by kind: duplicates, transport_duplicates, lost, early_rotations (the duplicate window was cut short), ids, entries, evictions (entries that memory had no room for), bytes.",
	}, []string{"partition", "kind"})}
	r.MustRegister(m.figures)
	return m
}

// observed is a Counter whose figures are kept up to date.
type observed struct {
	*spendcounter.Counter
	set map[string]prometheus.Gauge
}

func (m *SpendMetrics) observe(c *spendcounter.Counter, partition int32) processors.Handler {
	if m == nil {
		return c
	}
	o := &observed{Counter: c, set: map[string]prometheus.Gauge{}}
	for _, kind := range []string{"duplicates", "transport_duplicates", "lost", "early_rotations", "ids", "entries", "evictions", "bytes"} {
		o.set[kind] = m.figures.WithLabelValues(strconv.Itoa(int(partition)), kind)
	}
	return o
}

// Flush implements processors.Handler.
func (o *observed) Flush(c stream.Commit, ch *stream.Changes) error {
	err := o.Counter.Flush(c, ch)
	s := o.Stats()
	o.set["duplicates"].Set(float64(s.Duplicates))
	o.set["transport_duplicates"].Set(float64(s.TransportDuplicates))
	o.set["lost"].Set(float64(s.Lost))
	o.set["early_rotations"].Set(float64(s.EarlyRotations))
	o.set["ids"].Set(float64(s.IDs))
	o.set["entries"].Set(float64(s.Entries))
	o.set["evictions"].Set(float64(s.Evictions))
	o.set["bytes"].Set(float64(s.IDBytes + s.EntryBytes))
	return err
}
