package push

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of pushes, by target.
type Metrics struct {
	lag         *prometheus.GaugeVec
	age         *prometheus.GaugeVec
	waiting     *prometheus.GaugeVec
	comparing   *prometheus.GaugeVec
	rows        *prometheus.CounterVec
	bytes       *prometheus.CounterVec
	comparisons *prometheus.CounterVec
	stops       *prometheus.CounterVec
}

// NewMetrics makes the metrics and registers them with r, unless r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "push", Name: name, Help: help},
			[]string{"target", "partition"})
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "weir", Subsystem: "push", Name: name, Help: help},
			[]string{"target"})
	}
	m := &Metrics{
		lag: gauge("lag_records", "Offsets of a partition of the dataset that are not committed at the target."),
		age: gauge("age_seconds",
			"Age of the copy of a partition: it has the rows that were written before. Absent while the copy is compared."),
		waiting: gauge("waiting",
			"1 while a partition is not pushed because a cluster does not answer, 2 while it is stopped and waits for an operator, 0 otherwise."),
		comparing:   gauge("comparing", "1 while the dataset and the copy of a partition are compared, 0 otherwise."),
		rows:        counter("rows_total", "Rows pushed. Those of aborted transactions count again."),
		bytes:       counter("bytes_total", "Bytes pushed: keys and values. Those of aborted transactions count again."),
		comparisons: counter("comparisons_total", "Comparisons of a partition of the dataset with its copy."),
		stops:       counter("stops_total", "Times that a partition stopped and waited for an operator."),
	}
	if r != nil {
		r.MustRegister(m.lag, m.age, m.waiting, m.comparing, m.rows, m.bytes, m.comparisons, m.stops)
	}
	return m
}

func (m *Metrics) set(s Status) {
	p := strconv.Itoa(int(s.Partition))
	m.lag.WithLabelValues(s.Target, p).Set(float64(s.Lag()))
	if s.AsOfMs > 0 {
		m.age.WithLabelValues(s.Target, p).Set(max(0, time.Since(time.UnixMilli(s.AsOfMs)).Seconds()))
	} else {
		m.age.DeleteLabelValues(s.Target, p)
	}
	waiting, comparing := 0.0, 0.0
	switch {
	case s.Stopped:
		waiting = 2
	case s.Problem != "":
		waiting = 1
	}
	if s.Comparing != "" {
		comparing = 1
	}
	m.waiting.WithLabelValues(s.Target, p).Set(waiting)
	m.comparing.WithLabelValues(s.Target, p).Set(comparing)
}

func (m *Metrics) handed(p *pusher, rows int64, bytes int) {
	m.rows.WithLabelValues(p.cfg.Target).Add(float64(rows))
	m.bytes.WithLabelValues(p.cfg.Target).Add(float64(bytes))
}

// forget removes the gauges of a partition that this process no longer pushes.
func (m *Metrics) forget(p *pusher) {
	n := strconv.Itoa(int(p.task.Partition))
	for _, g := range []*prometheus.GaugeVec{m.lag, m.age, m.waiting, m.comparing} {
		g.DeleteLabelValues(p.cfg.Target, n)
	}
}
