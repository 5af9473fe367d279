package mirror

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of mirrors, by the datacentre that is copied and the topic there.
type Metrics struct {
	lag        *prometheus.GaugeVec
	lagSeconds *prometheus.GaugeVec
	waiting    *prometheus.GaugeVec
	records    *prometheus.CounterVec
	bytes      *prometheus.CounterVec
	stops      *prometheus.CounterVec
}

// NewMetrics makes the metrics and registers them with r, unless r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	labels := []string{"dc", "topic"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "mirror", Name: name, Help: help},
			append(labels, "partition"))
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "weir", Subsystem: "mirror", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		lag: gauge("lag_records", "Offsets of the other datacentre's partition that were not copied."),
		lagSeconds: gauge("lag_seconds",
			"Upper bound of the age of the records that were not copied, also while the other datacentre does not answer. Absent while not known."),
		waiting: gauge("waiting",
			"1 while a partition is not copied because its datacentre does not answer, 2 while it is stopped and waits for an operator, 0 otherwise."),
		records: counter("records_total", "Records copied. Those of aborted transactions count again."),
		bytes:   counter("bytes_total", "Bytes copied: keys, values and headers. Those of aborted transactions count again."),
		stops:   counter("stops_total", "Times that a partition stopped and waited for an operator."),
	}
	if r != nil {
		r.MustRegister(m.lag, m.lagSeconds, m.waiting, m.records, m.bytes, m.stops)
	}
	return m
}

func (m *Metrics) set(s Status) {
	p := strconv.Itoa(int(s.Partition))
	m.lag.WithLabelValues(s.Peer, s.Topic, p).Set(float64(s.Lag()))
	if s.LagMs < 0 {
		m.lagSeconds.DeleteLabelValues(s.Peer, s.Topic, p)
	} else {
		m.lagSeconds.WithLabelValues(s.Peer, s.Topic, p).Set(float64(s.LagMs) / 1000)
	}
	waiting := 0.0
	switch {
	case s.Stopped:
		waiting = 2
	case s.Problem != "":
		waiting = 1
	}
	m.waiting.WithLabelValues(s.Peer, s.Topic, p).Set(waiting)
}

func (m *Metrics) copied(c *copier, records, bytes int) {
	m.records.WithLabelValues(c.peer.DC, c.topic).Add(float64(records))
	m.bytes.WithLabelValues(c.peer.DC, c.topic).Add(float64(bytes))
}

// forget removes the gauges of a partition that this process no longer copies.
func (m *Metrics) forget(c *copier) {
	p := strconv.Itoa(int(c.m.task.Partition))
	for _, g := range []*prometheus.GaugeVec{m.lag, m.lagSeconds, m.waiting} {
		g.DeleteLabelValues(c.peer.DC, c.topic, p)
	}
}
