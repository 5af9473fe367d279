package processors

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/weirhq/weir/stream"
)

// TestLatency compares Latency with a histogram of the Prometheus client that observes each record.
// Some batches are spread evenly over a time, and others have records of one timestamp.
func TestLatency(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := newLatency(prometheus.NewDesc("weir_l", "L.", []string{"app"}, nil))
	exact := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "e", Help: "E.", Buckets: l.bounds})
	now := time.UnixMilli(1_000_000_000)
	var c txnTiming
	for range 300 {
		n, oldest := 1+rng.IntN(5000), now.UnixMilli()-int64(rng.IntN(100_000))
		length := int64(rng.IntN(3)) * int64(rng.IntN(3000))
		records := make([]stream.Record, n)
		for i := range records {
			records[i].TimeMs = min(now.UnixMilli()+5, oldest+length*int64(i)/int64(n))
			exact.Observe(float64(max(0, now.UnixMilli()-records[i].TimeMs)) / 1000)
		}
		rng.Shuffle(n, func(i, j int) { records[i], records[j] = records[j], records[i] })
		c.observeBatch(records)
	}
	for _, s := range c.batches {
		s.eachAge(now, func(seconds float64, n uint64) { l.observe("a", seconds, n) })
	}
	got, want := histogramOf(t, l), histogramOf(t, exact)
	if got.GetSampleCount() != want.GetSampleCount() {
		t.Fatalf("%d records, want %d", got.GetSampleCount(), want.GetSampleCount())
	}
	if a, b := got.GetSampleSum(), want.GetSampleSum(); a < b*0.99 || a > b*1.01 {
		t.Errorf("the ages sum up to %g s, want %g", a, b)
	}
	for i, b := range got.GetBucket() {
		a, e := float64(b.GetCumulativeCount()), float64(want.GetBucket()[i].GetCumulativeCount())
		if d := (a - e) / float64(want.GetSampleCount()); b.GetUpperBound() != want.GetBucket()[i].GetUpperBound() || d < -0.02 || d > 0.02 {
			t.Errorf("up to %g s: %g, want %g", b.GetUpperBound(), a, e)
		}
	}
}

func histogramOf(t *testing.T, c prometheus.Collector) *dto.Histogram {
	t.Helper()
	ch := make(chan prometheus.Metric, 1)
	c.Collect(ch)
	var m dto.Metric
	if err := (<-ch).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetHistogram()
}

func TestSpanCountsEachRecord(t *testing.T) {
	for n := range 100 {
		sum := uint64(0)
		batchTimes{n, 0, 50}.eachAge(time.UnixMilli(100), func(s float64, k uint64) {
			if sum += k; k == 0 || s < 0.05 || s > 0.1 {
				t.Errorf("%d records: %d of %g s", n, k, s)
			}
		})
		if sum != uint64(n) {
			t.Errorf("%d records count as %d", n, sum)
		}
	}
}

// TestLagIsTheSlowestPartitions: the lag is that of the partition that is furthest behind.
func TestLagIsTheSlowestPartitions(t *testing.T) {
	ago := func(d time.Duration) int64 { return time.Now().Add(-d).UnixMilli() }
	r := &Runtime{proc: stream.Processor{App: "a"}, snapshots: []*statusSnapshot{{worker: "0", list: []Status{
		{Lag: 0, NewestMs: ago(time.Hour), WatermarkMs: ago(20 * time.Second)}, {Lag: 1, NewestMs: ago(10 * time.Second), WatermarkMs: ago(30 * time.Second)}, {Lag: 9},
	}}}}
	f, ok := r.Collector().(*collector)
	if !ok {
		t.Fatal("another collector")
	}
	ch := make(chan prometheus.Metric, 2)
	f.Collect(ch)
	for _, want := range []float64{10, 30} {
		var m dto.Metric
		if err := (<-ch).Write(&m); err != nil {
			t.Fatal(err)
		}
		if got := m.GetGauge().GetValue(); got < want || got > want+5 {
			t.Errorf("%g s, want %g", got, want)
		}
	}
}
