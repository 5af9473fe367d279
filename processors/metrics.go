package processors

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of the runtime. The values of every label are a closed set.
type Metrics struct {
	Records            *prometheus.CounterVec   // folded input records, by app
	Rejected           *prometheus.CounterVec   // records sent to the DLQ, by app and reason
	Commits            *prometheus.CounterVec   // transactions, by app and outcome: committed, aborted, unknown
	Aborts             *prometheus.CounterVec   // transactions that were aborted, by app and reason: see abortReason
	PhaseSeconds       *prometheus.HistogramVec // seconds by app and phase: poll, fold, flush, produce, end, apply
	Latency            *LatencyHistogram        // seconds from an input record's timestamp until its fold is committed, by app
	TransactionRecords *prometheus.HistogramVec // input records of a transaction, by app
	ChangelogRecords   *prometheus.CounterVec   // changelog records, by app
	TransactionChanges *prometheus.HistogramVec // changes and outputs of a transaction, by app
	TransactionBytes   *prometheus.HistogramVec // their bytes, by app
	Restores           *prometheus.CounterVec   // finished takeovers, by app
	RestoreRemaining   *prometheus.GaugeVec     // changelog records that takeovers have yet to read, by app and worker
	RestoredRecords    *prometheus.CounterVec   // changelog records read in takeovers, by app
	Timers             *prometheus.CounterVec   // timers fired, by app and clock: event, wall
	Lag                *prometheus.GaugeVec     // records behind the end of the inputs, by app and worker
	Partitions         *prometheus.GaugeVec     // partitions by app, worker and state
	Counts             *prometheus.CounterVec   // what handlers count, by app and name: see stream.Changes.Count
	Skipped            *prometheus.GaugeVec     // input offsets that operators skipped, by app and worker
}

// NewMetrics makes the metrics and registers them with r, unless r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "weir", Subsystem: "processor", Name: name, Help: help},
			append([]string{"app"}, labels...))
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "processor", Name: name, Help: help},
			append([]string{"app"}, labels...))
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Namespace: "weir", Subsystem: "processor", Name: name, Help: help, Buckets: buckets},
			append([]string{"app"}, labels...))
	}
	m := &Metrics{
		Records:  counter("records_total", "Input records folded."),
		Rejected: counter("rejected_total", "Input records sent to the dead-letter topic.", "reason"),
		Commits:  counter("transactions_total", "Transactions by outcome.", "outcome"),
		Aborts: counter("aborts_total",
			"Transactions that were aborted, by reason: stopped, poison, handler, produce, revoked, coordinator.", "reason"),
		ChangelogRecords: counter("changelog_records_total", "State changes written to the changelog."),
		Restores:         counter("restores_total", "Partitions taken over."),
		RestoredRecords:  counter("restore_records_total", "Changelog records read while taking over."),
		RestoreRemaining: gauge("restore_remaining_records", "Changelog records that takeovers have yet to read.", "worker"),
		Timers:           counter("timers_fired_total", "Timers fired, by clock.", "clock"),
		PhaseSeconds: histogram("transaction_phase_seconds",
			"Time of a transaction by phase: poll (waiting for records), fold, flush, produce, end, apply.",
			prometheus.ExponentialBuckets(0.0005, 2, 14), "phase"),
		TransactionRecords: histogram("transaction_records", "Input records of a transaction.", prometheus.ExponentialBuckets(1, 4, 12)),
		TransactionChanges: histogram("transaction_changes", "Changes of state and outputs of a transaction.",
			prometheus.ExponentialBuckets(1, 4, 11)),
		TransactionBytes: histogram("transaction_bytes", "Bytes of the changes of state and outputs of a transaction.",
			prometheus.ExponentialBuckets(256, 4, 11)),
		Latency: newLatency(prometheus.NewDesc("weir_processor_event_to_commit_seconds",
			"From the timestamp of an input record to the commit of its changes. The records of a batch are taken as spread evenly between the oldest and the newest.", []string{"app"}, nil)),
		Counts: counter("counts_total", "What the code of the processor counts, by name.", "name"),
		Lag:    gauge("lag_records", "Records between the next offset and the end of the inputs.", "worker"),
		Partitions: gauge("partitions", "Partitions by state: barrier, restoring, running, stopped; standby (another process owns it).",
			"worker", "state"),
		Skipped: gauge("skipped_records",
			"Offsets of the inputs that operators skipped because they could not be read, in the partitions of this process.", "worker"),
	}
	if r != nil {
		r.MustRegister(m.Records, m.Rejected, m.Commits, m.Aborts, m.PhaseSeconds, m.Latency, m.TransactionRecords, m.ChangelogRecords,
			m.TransactionChanges, m.TransactionBytes, m.Restores, m.RestoredRecords, m.RestoreRemaining, m.Timers, m.Lag, m.Partitions,
			m.Counts, m.Skipped)
	}
	return m
}

// begin gives the counters of an application the value 0, so that increase and rate see the first
// event. Rejected is not among them: the processor alone knows its reasons.
func (m *Metrics) begin(app string) {
	for _, c := range []*prometheus.CounterVec{m.Records, m.ChangelogRecords, m.Restores, m.RestoredRecords} {
		c.WithLabelValues(app)
	}
	for _, outcome := range []string{"committed", "aborted", "unknown"} {
		m.Commits.WithLabelValues(app, outcome)
	}
	for _, reason := range []string{abortStopped, abortPoison, abortHandler, abortProduce, abortRevoked, abortCoordinator} {
		m.Aborts.WithLabelValues(app, reason)
	}
}
