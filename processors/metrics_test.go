//go:build synctests

package processors_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// gather returns the metrics of a registry: counters and gauges by value, histograms by count and
// sum.
func gather(t *testing.T, reg *obs.Registry) map[string]float64 {
	t.Helper()
	fams, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range fams {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if l.GetName() != "app" && l.GetName() != "worker" {
					labels = append(labels, l.GetValue())
				}
			}
			name := strings.Join(append([]string{f.GetName()}, labels...), " ")
			switch f.GetType() {
			case dto.MetricType_HISTOGRAM:
				out[name+" count"] += float64(m.GetHistogram().GetSampleCount())
				out[name+" sum"] += m.GetHistogram().GetSampleSum()
			case dto.MetricType_COUNTER:
				out[name] += m.GetCounter().GetValue()
			default:
				out[name] += m.GetGauge().GetValue()
			}
		}
	}
	return out
}

// TestMetrics folds records of a known age and a poison record, and falls behind.
func TestMetrics(t *testing.T) {
	var hold chan struct{}
	o := ledgerOptions(1)
	o.Processor.New = func(task stream.Task) (stream.Handler, error) {
		l, err := ledger.New(task)
		return waiter{l.(*ledger.Handler), hold}, err
	}
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		hold = make(chan struct{})
		release := sync.OnceFunc(func() { close(hold) })
		defer release() // a failed test must not leave a handler that waits
		reg := obs.NewRegistry("test")
		h.Disk("a").TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 12345})
		p := h.StartWith("a", processors.Config{Workers: 1, PollRecords: 1, CommitRecords: 1, Metrics: processors.NewMetrics(reg)}, o.Processor)
		reg.MustRegister(p.Runtime().Collector())
		h.WaitFor("the process runs", time.Minute, func() bool { return p.Status(0).State == "running" })
		produceAged(t, h, time.Hour, "1", "2", "poison", "3")
		h.WaitFor("the records are folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 4 })
		got := gather(t, reg)
		lintMetrics(t, reg)
		for name, want := range map[string]float64{
			"weir_processor_aborts_total poison":           1,
			"weir_processor_transactions_total aborted":    1,
			"weir_processor_records_total":                 3,
			"weir_processor_lag_seconds":                   0,
			"weir_processor_watermark_lag_seconds":         0, // no timers
			"weir_processor_transaction_bytes sum":         got["weir_processor_transaction_bytes sum"],
			"weir_processor_event_to_commit_seconds count": 4, // a dead letter is committed, too
			"weir_store_disk_free_bytes":                   12345,
		} {
			if got[name] != want {
				t.Errorf("%s is %g, want %g", name, got[name], want)
			}
		}
		if age := got["weir_processor_event_to_commit_seconds sum"] / 4; age < 3600 || age > 3610 {
			t.Errorf("the age of records of an hour ago is %g s", age)
		}
		for _, name := range []string{
			"weir_store_bytes", "weir_store_memtable_bytes", "weir_processor_transaction_changes sum", "weir_processor_transaction_bytes sum",
			"weir_processor_transaction_records sum", "weir_processor_transaction_phase_seconds poll sum", "weir_processor_transaction_phase_seconds end count",
			"weir_processor_transaction_phase_seconds fold count", "weir_processor_transaction_phase_seconds apply count",
		} {
			if got[name] <= 0 {
				t.Errorf("%s is %g", name, got[name])
			}
		}
		produceAged(t, h, time.Minute, "slow", "slow", "slow")
		h.WaitFor("the process is behind", time.Minute, func() bool { return p.Status(0).Lag > 0 })
		time.Sleep(5 * time.Second)
		if lag := gather(t, reg)["weir_processor_lag_seconds"]; lag < 65 || lag > 68 {
			t.Errorf("the lag is %g s, want 60 and 5", lag)
		}
		release()
		h.WaitFor("the process has caught up", time.Minute, func() bool { return p.Status(0).Lag == 0 })
		if lag := gather(t, reg)["weir_processor_lag_seconds"]; lag != 0 {
			t.Errorf("caught up, the lag is %g s", lag)
		}
		p.Stop()
		for name := range gather(t, reg) {
			if strings.HasPrefix(name, "weir_store") {
				t.Errorf("the store is closed, and there is still %s", name)
			}
		}
	})
}

// lintMetrics checks the metrics of a running process by the conventions of Prometheus.
func lintMetrics(t *testing.T, reg *obs.Registry) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "weir_") { // not those of the Go runtime
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// waiter waits for hold in the second "slow" record and in those after it.
type waiter struct {
	*ledger.Handler
	hold chan struct{}
}

func (s waiter) Fold(b *stream.Batch) error {
	for i := range b.Records {
		if string(b.Records[i].Value) == "slow" {
			b.Records[i].Value = []byte("1")
			if b.Records[i].Offset > 4 {
				<-s.hold
			}
		}
	}
	return s.Handler.Fold(b)
}

// produceAged produces records with a timestamp in the past.
func produceAged(t *testing.T, h *processorstest.Harness, age time.Duration, values ...string) {
	var list []*kgo.Record
	for i, v := range values {
		list = append(list, &kgo.Record{Topic: "in", Key: fmt.Appendf(nil, "k%d", i), Value: []byte(v), Timestamp: time.Now().Add(-age)})
	}
	// One batch: with the first record alone, the fetch would show no lag.
	cl := h.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(10*time.Millisecond))
	if err := cl.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}
