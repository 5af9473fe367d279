package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/stream"
)

// liberatorMetrics is weir_liberator_*.
type liberatorMetrics struct {
	leases *prometheus.GaugeVec

	commands, repeated     prometheus.Counter
	deferred, waits, stale prometheus.Counter
	delay, timerRun        prometheus.Histogram
}

func newLiberatorMetrics(f families) liberatorMetrics {
	return liberatorMetrics{
		leases:   f.gauge("leases", "Leases whose end the liberator waits for, by partition."),
		commands: f.counter("commands_total", "Commands that release the resource of an ended lease: the first one for each lease."),
		repeated: f.counter("repeated_commands_total",
			"Commands sent again, because the DynamoDB stream does not show yet that the resource was released."),
		deferred: f.counter("deferred_leases_total",
			"Ended leases whose first command was put off, because the rate of the bucket was exhausted."),
		waits: f.counter("settings_waits_total",
			"Ended leases whose command was put off, because the settings of the pool or the region of the owner are unknown. A lease counts at each attempt."),
		stale: f.counter("stale_changes_total", "Changes of resources that were ignored, because the same or a newer version is known."),
		delay: f.histogram("lease_end_to_command_seconds",
			"Time from the end of a lease to the first command that releases its resource.", delays()),
		timerRun: f.timerRun(),
	}
}

func (m *liberatorMetrics) observe(l *liberator.Liberator, partition int32) stream.Handler {
	g := newGauges(partition, m.leases)
	commands, repeated := increase{counter: m.commands}, increase{counter: m.repeated}
	deferred, waits, stale := increase{counter: m.deferred}, increase{counter: m.waits}, increase{counter: m.stale}
	return &metered{core: l, timerRun: m.timerRun, gauges: g, publish: func() {
		s := l.Stats()
		g.set(m.leases, float64(s.Leases))
		commands.to(s.Commands)
		repeated.to(s.Repeated)
		deferred.to(s.Deferred)
		waits.to(s.SettingsWaits)
		stale.to(s.Stale)
		observeAll(m.delay, s.Delays)
	}}
}
