package executor

import (
	"context"
	"errors"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/table"
)

// Metrics are the executors' figures. Label sets are closed: region, kind, outcome, reason.
type Metrics struct {
	Commands *prometheus.CounterVec // results given, by region, kind and outcome
	Retries  *prometheus.CounterVec // attempts that are made again, by region and reason: see reason
	InFlight *prometheus.GaugeVec   // commands being carried out, by region
	Waiting  *prometheus.GaugeVec   // commands that were fetched and are not done, by region
	Oldest   *prometheus.GaugeVec   // seconds since the oldest of them was written, by region
	Stopped  *prometheus.GaugeVec   // partitions of commands that cannot be read, by region
	Skipped  *prometheus.GaugeVec   // offsets of commands that operators skipped, by region
}

// NewMetrics makes the figures and registers them with r, unless it is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "weir", Subsystem: "executor", Name: name, Help: help}
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts(opts(name, help)), append([]string{"region"}, labels...))
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts(opts(name, help)), []string{"region"})
	}
	m := &Metrics{
		Commands: counter("commands_total",
			"Results of commands by kind (liberate, transfer, supersede, revoke, headroom, unknown) and outcome.", "kind", "outcome"),
		Retries: counter("retries_total",
			"Attempts that failed and are repeated, by reason (throttled, unavailable, table, denied, clock, write_lease, results).",
			"reason"),
		InFlight: gauge("in_flight_commands", "Commands being carried out."),
		Waiting:  gauge("waiting_commands", "Commands that were read and have no result."),
		Oldest:   gauge("oldest_waiting_seconds", "Age of the oldest command that was read and has no result; 0 without any."),
		Stopped:  gauge("stopped_partitions", "Partitions of commands that cannot be read, and wait for an operator."),
		Skipped:  gauge("skipped_commands", "Offsets of commands that operators skipped, in the partitions of the process."),
	}
	if r != nil {
		r.MustRegister(m.Commands, m.Retries, m.InFlight, m.Waiting, m.Oldest, m.Stopped, m.Skipped)
	}
	return m
}

// begin gives the counters of a region the value 0, so that increase and rate see the first event.
func (m *Metrics) begin(region string) {
	for _, why := range []string{"throttled", "unavailable", "table", "denied", "clock", "write_lease", "results"} {
		m.Retries.WithLabelValues(region, why)
	}
}

// outcome is an outcome as a label.
func outcome(o eventspb.LeaseOutcome) string {
	return strings.ToLower(strings.TrimPrefix(o.String(), "LEASE_OUTCOME_"))
}

// errResults marks an error of Config.PublishResult.
var errResults = errors.New("the result could not be written")

// reason is why an attempt is made again, as a label; "" if the executor stops.
func reason(err error) string {
	for _, r := range []struct {
		err  error
		name string
	}{
		{context.Canceled, ""},
		{errResults, "results"},
		{table.ErrThrottled, "throttled"},
		{table.ErrClock, "clock"},
		{table.ErrDenied, "denied"},
		{table.ErrTable, "table"},
		{table.ErrNoWriteLease, "write_lease"},
	} {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return "unavailable"
}
