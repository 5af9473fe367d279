package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/stream"
)

// dedupMetrics is weir_dedup_*.
type dedupMetrics struct {
	keys, open *prometheus.GaugeVec

	duplicates, resolved   prometheus.Counter
	supersedes, revokes    prometheus.Counter
	repeated, waits, stale prometheus.Counter
	resolution, timerRun   prometheus.Histogram
}

func newDedupMetrics(f families) dedupMetrics {
	commands := f.counterVec("commands_total",
		"Commands to regions whose lease of a key lost, by kind: supersede (marks the key's row), revoke (releases the resource at once). Repeated commands are included.", "kind")
	return dedupMetrics{
		keys:       f.gauge("keys", "Keys of which dedup knows a row, by partition."),
		open:       f.gauge("open_duplicates", "Keys that are leased in several regions at once, by partition."),
		duplicates: f.counter("duplicates_total", "Keys that were found leased in several regions at once."),
		resolved:   f.counter("resolved_duplicates_total", "Duplicates that ended: at most one region holds the key."),
		supersedes: commands.WithLabelValues("supersede"),
		revokes:    commands.WithLabelValues("revoke"),
		repeated: f.counter("repeated_commands_total",
			"Supersede commands sent again, because the stream does not show their effect yet, or because the winner changed."),
		waits: f.counter("settings_waits_total",
			"Decisions that were put off, because the settings of the pool or a region are unknown. A decision counts at each attempt."),
		stale:      f.counter("stale_changes_total", "Changes of keys that were ignored, because the same or a newer version is known."),
		resolution: f.histogram("resolution_seconds", "Time from finding a duplicate to its end.", delays()),
		timerRun:   f.timerRun(),
	}
}

func (m *dedupMetrics) observe(d *dedup.Dedup, partition int32) stream.Handler {
	g := newGauges(partition, m.keys, m.open)
	duplicates, resolved := increase{counter: m.duplicates}, increase{counter: m.resolved}
	supersedes, revokes := increase{counter: m.supersedes}, increase{counter: m.revokes}
	repeated, waits, stale := increase{counter: m.repeated}, increase{counter: m.waits}, increase{counter: m.stale}
	return &metered{core: d, timerRun: m.timerRun, gauges: g, publish: func() {
		s := d.Stats()
		g.set(m.keys, float64(s.Keys))
		g.set(m.open, float64(s.OpenDuplicates))
		duplicates.to(s.Duplicates)
		resolved.to(s.Resolved)
		supersedes.to(s.Supersedes)
		revokes.to(s.Revokes)
		repeated.to(s.Repeated)
		waits.to(s.SettingsWaits)
		stale.to(s.Stale)
		observeAll(m.resolution, s.Resolutions)
	}}
}
