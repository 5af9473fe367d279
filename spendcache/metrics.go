package spendcache

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/spendcache/selection"
)

// newSwitches returns the counter of the switches, by the mode and the datacentre of the dataset
// that were chosen.
func newSwitches() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "weir", Subsystem: "spendcache", Name: "switches_total",
		Help: "Choices of another dataset or mode for a shard, by what was chosen. The first choices after a start count.",
	}, []string{"mode", "dc"})
}

// collector has the metrics of a cache.
type collector struct {
	cache                           *Cache
	shards, age, lag, deficit, asOf *prometheus.Desc

	leaders, servedBy *prometheus.Desc
}

// Collector returns the metrics of the cache.
func (c *Cache) Collector() prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName("weir", "spendcache", name), help, labels, nil)
	}
	return &collector{
		cache:   c,
		shards:  desc("shards", "Shards of the accounts, by mode and the datacentre whose dataset is used.", "mode", "dc"),
		age:     desc("age_seconds", "Greatest age of the newest health row of a shard in a dataset. Absent: no shard has one.", "dc"),
		lag:     desc("lag_seconds", "Greatest lag of a shard of a dataset behind the newest dataset, over all origins.", "dc"),
		deficit: desc("deficit_ratio", "Greatest part of the events of the last 60 s that a shard of a dataset lacks.", "dc"),
		asOf:    desc("read_age_seconds", "Time since the topics of all datasets were read to their ends. Absent: not yet."),
		leaders: desc("pacing_leaders", "Processes that pace the accounts of a partition, by the rows that they write: 1; 0 if there was "+
			"no row for more than 10 s; 2 if a former leader has written beside its successor in the last 30 s. Absent: it is not known.",
			"dc", "partition"),
		servedBy: desc("pacing_served_by", "Shards whose accounts have the parameters of another datacentre, because no process paces them here "+
			"or an override decides it, by that datacentre.", "dc"),
	}
}

// Describe implements prometheus.Collector.
func (m *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.shards, m.age, m.lag, m.deficit, m.asOf, m.leaders, m.servedBy} {
		to <- d
	}
	m.cache.switches.Describe(to)
}

// Collect implements prometheus.Collector.
func (m *collector) Collect(to chan<- prometheus.Metric) {
	type kind struct {
		mode selection.Mode
		dc   string
	}
	used := map[kind]int{}
	worst := map[string]*selection.Assessment{}
	for n := range m.cache.shards {
		c := m.cache.shards[n].choice.Load()
		if c == nil {
			continue
		}
		used[kind{c.Mode, c.DC}]++
		for i := range c.datasets {
			a := &c.datasets[i]
			if !a.Known {
				continue
			}
			w := worst[a.DC]
			if w == nil {
				w = &selection.Assessment{}
				worst[a.DC] = w
			}
			w.Age, w.Lag, w.Deficit = max(w.Age, a.Age), max(w.Lag, a.Lag), max(w.Deficit, a.Deficit)
		}
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for k, n := range used {
		gauge(m.shards, float64(n), k.mode.String(), k.dc)
	}
	for dc, w := range worst {
		gauge(m.age, w.Age.Seconds(), dc)
		gauge(m.lag, w.Lag.Seconds(), dc)
		gauge(m.deficit, w.Deficit, dc)
	}
	for n := range m.cache.leaders {
		if state := leadership(m.cache.leaders[n].state.Load()); state != unknownLeaders {
			gauge(m.leaders, float64(state-noLeader), m.cache.cfg.DC, strconv.Itoa(n))
		}
	}
	for dc, n := range m.cache.others.served() {
		gauge(m.servedBy, float64(n), dc)
	}
	if at := m.cache.follower.AsOf(); !at.IsZero() {
		gauge(m.asOf, max(0, time.Since(at).Seconds()))
	}
	m.cache.switches.Collect(to)
}
