package metrics

import "github.com/prometheus/client_golang/prometheus"

// families makes the metrics of one core and registers them.
type families struct {
	subsystem string
	r         prometheus.Registerer
}

// gauge makes a gauge by partition and further labels.
func (f families) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: f.subsystem, Name: name, Help: help},
		append([]string{"partition"}, labels...))
	f.r.MustRegister(g)
	return g
}

// counter makes a counter of the process.
func (f families) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "weir", Subsystem: f.subsystem, Name: name, Help: help})
	f.r.MustRegister(c)
	return c
}

// counterVec makes a counter of the process by labels.
func (f families) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "weir", Subsystem: f.subsystem, Name: name, Help: help}, labels)
	f.r.MustRegister(c)
	return c
}

// histogram makes a histogram of the process, in seconds.
func (f families) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: "weir", Subsystem: f.subsystem, Name: name, Help: help, Buckets: buckets,
	})
	f.r.MustRegister(h)
	return h
}

// timerRun makes the histogram of OnTimer, from 0.1 ms to 6.6 s.
func (f families) timerRun() prometheus.Histogram {
	return f.histogram("timer_run_seconds", "Time that one run of the due timers of a partition took.",
		prometheus.ExponentialBuckets(0.0001, 4, 9))
}

// delays are bounds for durations that are a second in a healthy system and hours in a region that
// is down.
func delays() []float64 {
	return []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600}
}
