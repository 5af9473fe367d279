package processors

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/processors/internal/store"
)

// collector has the metrics that are computed when they are read: those of the store, and ages.
type collector struct {
	r              *Runtime
	store          *store.Collector
	lag, watermark *prometheus.Desc
}

// Collector returns the metrics of the store and the lag in seconds. While Run is not at work, the
// store has no metrics.
func (r *Runtime) Collector() prometheus.Collector {
	desc := func(subsystem, name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName("weir", subsystem, name), help, labels, prometheus.Labels{"app": r.proc.App})
	}
	return &collector{
		r: r, store: store.NewCollector(r.proc.App),
		lag: desc("processor", "lag_seconds",
			"Age of the newest folded record of the partition that is furthest behind; 0 if all are caught up.", "worker"),
		watermark: desc("processor", "watermark_lag_seconds",
			"How far the event time of the slowest partition is behind the clock, for handlers with timers.", "worker"),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	c.store.Describe(ch)
	ch <- c.lag
	ch <- c.watermark
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	now := time.Now().UnixMilli()
	for _, v := range c.r.snapshots {
		lag, mark := int64(0), int64(0)
		for _, s := range v.get() {
			if s.Lag > 0 && s.NewestMs > 0 {
				lag = max(lag, now-s.NewestMs)
			}
			if s.WatermarkMs > 0 {
				mark = max(mark, now-s.WatermarkMs)
			}
		}
		ch <- prometheus.MustNewConstMetric(c.lag, prometheus.GaugeValue, float64(lag)/1000, v.worker)
		ch <- prometheus.MustNewConstMetric(c.watermark, prometheus.GaugeValue, float64(mark)/1000, v.worker)
	}
	c.r.mu.RLock()
	defer c.r.mu.RUnlock()
	if c.r.store == nil {
		return
	}
	c.store.Collect(ch, c.r.store)
}
