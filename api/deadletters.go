package api

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/api/page"
)

// deadLetters has the counts of dead letters of the applications, for the page and for a metric.
// They are read when one of the two asks for them.
type deadLetters struct {
	server  *Server
	samples []*sample[page.Rejected] // by application; nil: it has no dead letters
	depth   *prometheus.Desc
}

func newDeadLetters(s *Server) *deadLetters {
	d := &deadLetters{server: s, depth: prometheus.NewDesc("weir_processor_dead_letters",
		"Unresolved records of the dead-letter topic of an application, the same in each of its processes. Above 20000 offsets of the topic their number.", []string{"app"}, nil)}
	for _, app := range s.apps.list {
		var m *sample[page.Rejected]
		if app.DeadLetters != nil {
			m = &sample[page.Rejected]{read: app.DeadLetters.DeadLetters, every: deadLettersEvery, panicked: s.panicked}
		}
		d.samples = append(d.samples, m)
	}
	return d
}

// each calls fn with the last counts of each application that has dead letters. A zero At means
// that nothing has been read.
func (d *deadLetters) each(ctx context.Context, fn func(page.Rejected)) {
	for i, m := range d.samples {
		if r, last, ok := m.get(ctx, d.server.samples); ok {
			r.App, r.Sampled = d.server.apps.list[i].Name, last
			fn(r)
		}
	}
}

// Describe implements prometheus.Collector.
func (d *deadLetters) Describe(ch chan<- *prometheus.Desc) { ch <- d.depth }

// Collect implements prometheus.Collector. An unknown number has no series. A server
// that does not run reads nothing.
func (d *deadLetters) Collect(ch chan<- prometheus.Metric) {
	select {
	case <-d.server.ready:
	default:
		return
	}
	d.each(context.Background(), func(r page.Rejected) {
		if r.At.IsZero() || r.Err != "" {
			return
		}
		n := r.Unread
		for _, reason := range r.Reasons {
			n += int64(reason.Count)
		}
		ch <- prometheus.MustNewConstMetric(d.depth, prometheus.GaugeValue, float64(n), r.App)
	})
}
