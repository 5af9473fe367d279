package bridge

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of bridges, by region.
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

// NewMetrics makes the metrics and registers them with r, unless r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "bridge", Name: name, Help: help},
			[]string{"region"})
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "weir", Subsystem: "bridge", Name: name, Help: help},
			append([]string{"region"}, labels...))
	}
	m := &Metrics{
		lag: gauge("lag_seconds",
			"Age of the oldest record of the region's stream that was not read; 0 if all were read. DynamoDB keeps records for 24 hours."),
		shards: gauge("shards", "Shards of the stream that are not finished."),
		queued: gauge("queued_bytes", "Size of what was read and is not committed to Kafka."),
		records: counter("records_total",
			"Records read from the stream, by outcome: change, heartbeat, foreign (emitted by the bridge of another region), skipped, reject. Records of aborted transactions count again.", "outcome"),
		rejected: counter("rejected_total", "Records that do not follow the table's schema, by reason: see topic lease.rejected.",
			"reason"),
		gaps:  counter("gaps_total", "Losses of stream records before they were read; each causes a scan."),
		scans: counter("scans_total", "Scans of the region's rows that are complete, by kind: scan, sweep.", "kind"),
		rows:  counter("scanned_rows_total", "Rows of the region read from the table, by kind: scan, sweep.", "kind"),
		failures: counter("failures_total",
			"Requests that failed and are repeated, by kind: throttled, unavailable, denied, missing, expired, trimmed, refused.", "kind"),
	}
	if r != nil {
		r.MustRegister(m.lag, m.shards, m.queued, m.records, m.rejected, m.gaps, m.scans, m.rows, m.failures)
	}
	return m
}

// begin gives the counters of a region the value 0, so that increase and rate see the first event.
func (m *Metrics) begin(region string) {
	m.gaps.WithLabelValues(region)
	for _, kind := range []string{"throttled", "unavailable", "denied", "missing", "expired", "trimmed", "refused"} {
		m.failures.WithLabelValues(region, kind)
	}
}

// forget removes the gauges of a region that this process no longer reads.
func (m *Metrics) forget(region string) {
	for _, g := range []*prometheus.GaugeVec{m.lag, m.shards, m.queued} {
		g.DeleteLabelValues(region)
	}
}
