package store

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// Collector exports metrics of the store. They are read from Pebble at each scrape.
type Collector struct {
	list []storeMetric
	free *prometheus.Desc
}

// storeMetric is one metric of Pebble.
type storeMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*pebble.Metrics) float64
}

// NewCollector returns the collector of the store of app.
func NewCollector(app string) *Collector {
	desc := func(subsystem, name, help string) *prometheus.Desc {
		// The application is a constant label: a process registers one collector for each runtime.
		return prometheus.NewDesc(prometheus.BuildFQName("weir", subsystem, name), help, nil, prometheus.Labels{"app": app})
	}
	gauge := func(name, help string, of func(*pebble.Metrics) float64) storeMetric {
		return storeMetric{desc("store", name, help), prometheus.GaugeValue, of}
	}
	counter := func(name, help string, of func(*pebble.Metrics) float64) storeMetric {
		return storeMetric{desc("store", name, help), prometheus.CounterValue, of}
	}
	return &Collector{
		list: []storeMetric{
			gauge("bytes", "Disk space of the store.", func(m *pebble.Metrics) float64 { return float64(m.DiskSpaceUsage()) }),
			gauge("log_bytes", "Disk space of the store's write-ahead log.",
				func(m *pebble.Metrics) float64 { return float64(m.WAL.PhysicalSize) }),
			gauge("memtable_bytes", "Memory of the memtables.", func(m *pebble.Metrics) float64 { return float64(m.MemTable.Size) }),
			gauge("cache_bytes", "Memory of the block cache.", func(m *pebble.Metrics) float64 { return float64(m.BlockCache.Size) }),
			counter("cache_hits_total", "Block reads answered by the cache, since the store was opened.",
				func(m *pebble.Metrics) float64 { return float64(m.BlockCache.Hits) }),
			counter("cache_misses_total", "Block reads that went to the disk, since the store was opened.",
				func(m *pebble.Metrics) float64 { return float64(m.BlockCache.Misses) }),
			gauge("level0_tables", "Tables in level 0, which wait for a compaction. Commits stall from about 32 overlapping tables.",
				func(m *pebble.Metrics) float64 { return float64(m.Levels[0].TablesCount) }),
			gauge("read_amplification", "Tables that a read may have to search.",
				func(m *pebble.Metrics) float64 { return float64(m.ReadAmp()) }),
			gauge("compaction_debt_bytes", "Estimated bytes that compactions have to write until every level has its target size.",
				func(m *pebble.Metrics) float64 { return float64(m.Compact.EstimatedDebt) }),
			counter("compactions_total", "Compactions, since the store was opened.",
				func(m *pebble.Metrics) float64 { return float64(m.Compact.Count) }),
			counter("flushes_total", "Memtables written to tables, since the store was opened.",
				func(m *pebble.Metrics) float64 { return float64(m.Flush.Count) }),
		},
		free: desc("store", "disk_free_bytes", "Free space of the store's disk."),
	}
}

// Describe sends the descriptions of all metrics.
func (f *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range f.list {
		ch <- s.desc
	}
	ch <- f.free
}

// Collect sends the metrics of s.
func (f *Collector) Collect(ch chan<- prometheus.Metric, s *Store) {
	m := s.DB.Metrics()
	for _, s := range f.list {
		ch <- prometheus.MustNewConstMetric(s.desc, s.kind, s.of(m))
	}
	if use, err := s.disk.GetDiskUsage(s.dir); err == nil {
		ch <- prometheus.MustNewConstMetric(f.free, prometheus.GaugeValue, float64(use.AvailBytes))
	}
}
