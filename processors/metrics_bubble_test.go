//go:build synctests

package processors

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/stream"
)

// figuresOf gives what a registry shows: counters and gauges by value, histograms by _count and _sum.
func figuresOf(t *testing.T, reg *obs.Registry) map[string]float64 {
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

// TestFigures folds records of a known age, meets a poison record and a rebalance, and falls behind.
func TestFigures(t *testing.T) {
	bubble(t, 1, func(t *testing.T, w *crashRun) {
		reg := obs.NewRegistry("test")
		fs := vfs.NewCrashableMem()
		fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 12345})
		proc := ledgers("in")
		hold := make(chan struct{})
		proc.New = func(task stream.Task) (stream.Handler, error) {
			h, err := newLedger(task)
			return waiter{h.(*ledger), hold}, err
		}
		rt, end := w.begin("a", Config{Workers: 1, PollRecords: 1, CommitRecords: 1, FS: fs, Metrics: NewMetrics(reg)}, proc)
		reg.MustRegister(rt.Collector())
		w.until("it runs", time.Minute, func() bool { return len(rt.Status()) == 1 && rt.Status()[0].State == "running" })
		w.aged(time.Hour, "1", "2", "poison", "3")
		w.until("they are folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 4 })
		got := figuresOf(t, reg)
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
			t.Errorf("records of an hour ago took %g s", age)
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
		w.aged(time.Minute, "slow", "slow", "slow")
		w.until("it is behind", time.Minute, func() bool { return w.status(rt, 0).Lag > 0 })
		time.Sleep(5 * time.Second)
		if lag := figuresOf(t, reg)["weir_processor_lag_seconds"]; lag < 65 || lag > 68 {
			t.Errorf("behind by %g s, want 60 and 5", lag)
		}
		close(hold)
		w.until("it is caught up", time.Minute, func() bool { return w.status(rt, 0).Lag == 0 })
		if lag := figuresOf(t, reg)["weir_processor_lag_seconds"]; lag != 0 {
			t.Errorf("caught up, and behind by %g s", lag)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		for name := range figuresOf(t, reg) {
			if strings.HasPrefix(name, "weir_store") {
				t.Errorf("%s of a store that is closed", name)
			}
		}
	})
}

// waiter waits in its second slow record.
type waiter struct {
	*ledger
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
	return s.ledger.Fold(b)
}

// aged produces records with the timestamp of a while ago.
func (w *crashRun) aged(age time.Duration, values ...string) {
	cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	var list []*kgo.Record
	for i, v := range values {
		list = append(list, &kgo.Record{Topic: "in", Key: fmt.Appendf(nil, "k%d", i), Value: []byte(v), Timestamp: time.Now().Add(-age)})
	}
	if err := cl.ProduceSync(context.Background(), list...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}
