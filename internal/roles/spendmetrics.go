package roles

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/internal/stream"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
)

// SpendMetrics are the spend counter's figures, by partition. A partition's values are as of its last commit here;
// those of a partition that went elsewhere are not here any more.
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
	figures   *prometheus.GaugeVec
	partition string
	shown     bool
}

func (m *SpendMetrics) observe(c *spendcounter.Counter, partition int32) processors.Handler {
	if m == nil {
		return c
	}
	return &observed{Counter: c, figures: m.figures, partition: strconv.Itoa(int(partition))}
}

// Flush implements processors.Handler.
func (o *observed) Flush(c stream.Commit, ch *stream.Changes) error {
	err := o.Counter.Flush(c, ch)
	o.shown = true
	s := o.Stats()
	for kind, n := range map[string]float64{
		"duplicates": float64(s.Duplicates), "transport_duplicates": float64(s.TransportDuplicates), "lost": float64(s.Lost), "early_rotations": float64(s.EarlyRotations),
		"ids": float64(s.IDs), "entries": float64(s.Entries), "evictions": float64(s.Evictions), "bytes": float64(s.IDBytes + s.EntryBytes),
	} {
		o.figures.WithLabelValues(o.partition, kind).Set(n)
	}
	return err
}

// Close implements processors.Closer. One that was only made to look at its state has shown nothing: figures are another's.
func (o *observed) Close() {
	if o.shown {
		o.figures.DeletePartialMatch(prometheus.Labels{"partition": o.partition})
	}
}

var _ processors.Closer = (*observed)(nil)
