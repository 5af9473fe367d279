package bridge

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the bridges' figures, by region.
type Metrics struct {
	lag      *prometheus.GaugeVec
	shards   *prometheus.GaugeVec
	queued   *prometheus.GaugeVec
	records  *prometheus.CounterVec
	rejected *prometheus.CounterVec
	gaps     *prometheus.CounterVec
	scans    *prometheus.CounterVec
	rows     *prometheus.CounterVec
	failures *prometheus.CounterVec
}

// NewMetrics makes the figures and registers them with r, unless it is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "bridge", Name: name, Help: help}, []string{"region"})
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "weir", Subsystem: "bridge", Name: name, Help: help}, append([]string{"region"}, labels...))
	}
	m := &Metrics{
		lag:      gauge("lag_seconds", "Age of the oldest record of the region's stream that was not read; 0 if all were. DynamoDB keeps them for 24 hours."),
		shards:   gauge("shards", "Shards of the stream that are not finished."),
		queued:   gauge("queued_bytes", "Read and not handed over to Kafka."),
		records:  counter("records_total", "Records read from the stream, by outcome: change, beat, foreign (another region's bridge has it), skipped, reject. Those of aborted transactions count again.", "outcome"),
		rejected: counter("rejected_total", "Records that are not of the table's schema, by reason: see topic lease.rejected.", "reason"),
		gaps:     counter("gaps_total", "Times that the stream had lost records before they were read; each begins a scan."),
		scans:    counter("scans_total", "Times that the region's rows were read to their end, by kind: scan, sweep.", "kind"),
		rows:     counter("scanned_rows_total", "Rows of the region read from the table, by kind: scan, sweep.", "kind"),
		failures: counter("failures_total", "Requests that failed and were sent again, by kind: throttled, unavailable, denied, missing, expired, trimmed, refused.", "kind"),
	}
	if r != nil {
		r.MustRegister(m.lag, m.shards, m.queued, m.records, m.rejected, m.gaps, m.scans, m.rows, m.failures)
	}
	return m
}

// forget is for a region that is not read here any more.
func (m *Metrics) forget(region string) {
	for _, g := range []*prometheus.GaugeVec{m.lag, m.shards, m.queued} {
		g.DeleteLabelValues(region)
	}
}
