package processors

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/processors/internal/store"
)

// collector are what is read when somebody asks, and not kept: the store's own, and ages, which grow by themselves.
type collector struct {
	r              *Runtime
	store          *store.Collector
	lag, watermark *prometheus.Desc
}

// Collector gives the figures of the store and the lag in seconds. While Run is not at work there are none of the store.
func (r *Runtime) Collector() prometheus.Collector {
	desc := func(subsystem, name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName("weir", subsystem, name), help, labels, prometheus.Labels{"app": r.proc.App})
	}
	return &collector{
		r: r, store: store.NewCollector(r.proc.App),
		lag:       desc("processor", "lag_seconds", "Age of the newest folded record of the partition that is furthest behind; 0 if all are caught up.", "worker"),
		watermark: desc("processor", "watermark_lag_seconds", "How far the event time of the slowest partition is behind the clock, for handlers with timers.", "worker"),
	}
}

// Describe implements prometheus.Collector.
func (f *collector) Describe(ch chan<- *prometheus.Desc) {
	f.store.Describe(ch)
	ch <- f.lag
	ch <- f.watermark
}

// Collect implements prometheus.Collector.
func (f *collector) Collect(ch chan<- prometheus.Metric) {
	now := time.Now().UnixMilli()
	for _, v := range f.r.snapshots {
		lag, mark := int64(0), int64(0)
		for _, s := range v.get() {
			if s.Lag > 0 && s.NewestMs > 0 {
				lag = max(lag, now-s.NewestMs)
			}
			if s.WatermarkMs > 0 {
				mark = max(mark, now-s.WatermarkMs)
			}
		}
		ch <- prometheus.MustNewConstMetric(f.lag, prometheus.GaugeValue, float64(lag)/1000, v.worker)
		ch <- prometheus.MustNewConstMetric(f.watermark, prometheus.GaugeValue, float64(mark)/1000, v.worker)
	}
	f.r.mu.RLock()
	defer f.r.mu.RUnlock()
	if f.r.store == nil {
		return
	}
	f.store.Collect(ch, f.r.store)
}
