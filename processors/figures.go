package processors

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// storeFigures are read from the database when somebody asks.
type storeFigures struct {
	list []storeFigure
	free *prometheus.Desc
}

// storeFigure is one of the database's.
type storeFigure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*pebble.Metrics) float64
}

// newStoreFigures describes the figures of the store of app.
func newStoreFigures(app string) *storeFigures {
	desc := func(subsystem, name, help string) *prometheus.Desc {
		// The application is a constant: a process registers one collector for each of its runtimes.
		return prometheus.NewDesc(prometheus.BuildFQName("weir", subsystem, name), help, nil, prometheus.Labels{"app": app})
	}
	gauge := func(name, help string, of func(*pebble.Metrics) float64) storeFigure {
		return storeFigure{desc("store", name, help), prometheus.GaugeValue, of}
	}
	counter := func(name, help string, of func(*pebble.Metrics) float64) storeFigure {
		return storeFigure{desc("store", name, help), prometheus.CounterValue, of}
	}
	return &storeFigures{
		list: []storeFigure{
			gauge("bytes", "Disk space of the store.", func(m *pebble.Metrics) float64 { return float64(m.DiskSpaceUsage()) }),
			gauge("log_bytes", "Of it the write-ahead log.", func(m *pebble.Metrics) float64 { return float64(m.WAL.PhysicalSize) }),
			gauge("memtable_bytes", "Write buffers in memory.", func(m *pebble.Metrics) float64 { return float64(m.MemTable.Size) }),
			gauge("cache_bytes", "Block cache in memory.", func(m *pebble.Metrics) float64 { return float64(m.BlockCache.Size) }),
			counter("cache_hits_total", "Blocks read from the cache, since the store was opened.", func(m *pebble.Metrics) float64 { return float64(m.BlockCache.Hits) }),
			counter("cache_misses_total", "Blocks read from the disk, since the store was opened.", func(m *pebble.Metrics) float64 { return float64(m.BlockCache.Misses) }),
			gauge("level0_tables", "Tables that no compaction has taken up. Commits wait from about 32 on top of each other.", func(m *pebble.Metrics) float64 { return float64(m.Levels[0].TablesCount) }),
			gauge("read_amplification", "Tables that a read may have to look into.", func(m *pebble.Metrics) float64 { return float64(m.ReadAmp()) }),
			gauge("compaction_debt_bytes", "What compactions have to write until the store is in order.", func(m *pebble.Metrics) float64 { return float64(m.Compact.EstimatedDebt) }),
			counter("compactions_total", "Compactions, since the store was opened.", func(m *pebble.Metrics) float64 { return float64(m.Compact.Count) }),
			counter("flushes_total", "Write buffers written to tables, since the store was opened.", func(m *pebble.Metrics) float64 { return float64(m.Flush.Count) }),
		},
		free: desc("store", "disk_free_bytes", "Free space of the disk under the store."),
	}
}

// Describe hands over the descriptions of all figures.
func (f *storeFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range f.list {
		ch <- s.desc
	}
	ch <- f.free
}

// collect hands over the figures of s.
func (f *storeFigures) collect(ch chan<- prometheus.Metric, s *store) {
	m := s.db.Metrics()
	for _, s := range f.list {
		ch <- prometheus.MustNewConstMetric(s.desc, s.kind, s.of(m))
	}
	if use, err := s.disk.GetDiskUsage(s.dir); err == nil {
		ch <- prometheus.MustNewConstMetric(f.free, prometheus.GaugeValue, float64(use.AvailBytes))
	}
}

// figures are what is read when somebody asks, and not kept: the store's own, and ages, which grow by themselves.
type figures struct {
	r              *Runtime
	store          *storeFigures
	lag, watermark *prometheus.Desc
}

// Collector gives the figures of the store and the lag in seconds. While Run is not at work there are none of the store.
func (r *Runtime) Collector() prometheus.Collector {
	desc := func(subsystem, name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName("weir", subsystem, name), help, labels, prometheus.Labels{"app": r.proc.App})
	}
	return &figures{
		r: r, store: newStoreFigures(r.proc.App),
		lag:       desc("processor", "lag_seconds", "Age of the newest folded record of the partition that is furthest behind; 0 if all are caught up.", "worker"),
		watermark: desc("processor", "watermark_lag_seconds", "How far the event time of the slowest partition is behind the clock, for handlers with timers.", "worker"),
	}
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(ch chan<- *prometheus.Desc) {
	f.store.Describe(ch)
	ch <- f.lag
	ch <- f.watermark
}

// Collect implements prometheus.Collector.
func (f *figures) Collect(ch chan<- prometheus.Metric) {
	now := time.Now().UnixMilli()
	for _, v := range f.r.viewers {
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
	f.store.collect(ch, f.r.store)
}
