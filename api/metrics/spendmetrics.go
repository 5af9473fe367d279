package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// Spend are the spend counter's figures, by partition. A partition's values are as of its last commit here;
// those of a partition that went elsewhere are not here any more.
type Spend struct {
	figures *prometheus.GaugeVec
}

// NewSpend makes the figures and registers them with r.
func NewSpend(r prometheus.Registerer) *Spend {
	m := &Spend{figures: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "weir", Subsystem: "spend", Name: "counter",
		Help: "State of the spend counter by kind: duplicates, transport_duplicates, lost, early_rotations (the duplicate window was cut short), ids, entries, evictions (entries that memory had no room for), bytes.",
	}, []string{"partition", "kind"})}
	r.MustRegister(m.figures)
	return m
}

// meteredCounter is a Counter whose figures are kept up to date.
type meteredCounter struct {
	*spendcounter.Counter
	figures   *prometheus.GaugeVec
	partition string
	reported  bool
}

// Meter is p, the spend counter's processor, with handlers that show their figures.
func (m *Spend) Meter(p stream.Processor) stream.Processor {
	return meter(p, func(h stream.Handler, partition int32) stream.Handler {
		c, ok := h.(*spendcounter.Counter)
		if !ok {
			return h
		}
		return m.observe(c, partition)
	})
}

func (m *Spend) observe(c *spendcounter.Counter, partition int32) stream.Handler {
	return &meteredCounter{Counter: c, figures: m.figures, partition: strconv.Itoa(int(partition))}
}

// Flush implements stream.Handler.
func (o *meteredCounter) Flush(c stream.Commit, ch *stream.Changes) error {
	err := o.Counter.Flush(c, ch)
	o.reported = true
	s := o.Stats()
	for kind, n := range map[string]float64{
		"duplicates": float64(s.Duplicates), "transport_duplicates": float64(s.TransportDuplicates), "lost": float64(s.Lost), "early_rotations": float64(s.EarlyRotations),
		"ids": float64(s.IDs), "entries": float64(s.Entries), "evictions": float64(s.Evictions), "bytes": float64(s.IDBytes + s.EntryBytes),
	} {
		o.figures.WithLabelValues(o.partition, kind).Set(n)
	}
	return err
}

// Close implements stream.Closer. One that was only made to look at its state has shown nothing: figures are another's.
func (o *meteredCounter) Close() {
	if o.reported {
		o.figures.DeletePartialMatch(prometheus.Labels{"partition": o.partition})
	}
}

var _ stream.Closer = (*meteredCounter)(nil)
