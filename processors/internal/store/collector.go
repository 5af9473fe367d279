package store

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// Collector are read from the database when somebody asks.
type Collector struct {
	list []storeMetric
	free *prometheus.Desc
}

// storeMetric is one of the database's.
type storeMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*pebble.Metrics) float64
}

// NewCollector describes the figures of the store of app.
func NewCollector(app string) *Collector {
	desc := func(subsystem, name, help string) *prometheus.Desc {
		// The application is a constant: a process registers one collector for each of its runtimes.
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
func (f *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range f.list {
		ch <- s.desc
	}
	ch <- f.free
}

// Collect hands over the figures of s.
func (f *Collector) Collect(ch chan<- prometheus.Metric, s *Store) {
	m := s.DB.Metrics()
	for _, s := range f.list {
		ch <- prometheus.MustNewConstMetric(s.desc, s.kind, s.of(m))
	}
	if use, err := s.disk.GetDiskUsage(s.dir); err == nil {
		ch <- prometheus.MustNewConstMetric(f.free, prometheus.GaugeValue, float64(use.AvailBytes))
	}
}
