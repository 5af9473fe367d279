package processors

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// LatencyHistogram is a histogram of seconds, by app, that adds many equal observations at once. A
// histogram of the Prometheus client would need one call for each of a million records.
type LatencyHistogram struct {
	desc   *prometheus.Desc
	bounds []float64

	mu   sync.Mutex
	apps map[string]*histogram
}

type histogram struct {
	buckets []uint64 // not cumulative; an observation above all bounds is in no bucket
	count   uint64
	sum     float64
}

func newLatency(desc *prometheus.Desc) *LatencyHistogram {
	return &LatencyHistogram{desc: desc, bounds: prometheus.ExponentialBuckets(0.005, 2, 22), apps: map[string]*histogram{}}
}

func (l *LatencyHistogram) observe(app string, seconds float64, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.apps[app]
	if t == nil {
		t = &histogram{buckets: make([]uint64, len(l.bounds))}
		l.apps[app] = t
	}
	if i, _ := slices.BinarySearch(l.bounds, seconds); i < len(t.buckets) {
		t.buckets[i] += n
	}
	t.count += n
	t.sum += seconds * float64(n)
}

// Describe implements prometheus.Collector.
func (l *LatencyHistogram) Describe(ch chan<- *prometheus.Desc) { ch <- l.desc }

// Collect implements prometheus.Collector.
func (l *LatencyHistogram) Collect(ch chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for app, t := range l.apps {
		sum, cumulative := uint64(0), make(map[float64]uint64, len(l.bounds))
		for i, bound := range l.bounds {
			sum += t.buckets[i]
			cumulative[bound] = sum
		}
		ch <- prometheus.MustNewConstHistogram(l.desc, t.count, t.sum, cumulative, app)
	}
}
