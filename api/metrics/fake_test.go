package metrics

import (
	"fmt"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/stream"
)

// timers records the timers that a handler sets.
type timers struct{ set []stream.Timer }

func (s *timers) Set(t stream.Timer)  { s.set = append(s.set, t) }
func (s *timers) Cancel(stream.Timer) {}

// taskWith returns a task whose state is values, by table and key.
func taskWith(values map[string][]byte) stream.Task {
	return stream.Task{
		Timers: &timers{},
		Get:    func(table byte, key []byte) ([]byte, error) { return values[string(table)+string(key)], nil },
		Scan:   func(byte, []byte, func(key, value []byte) error) error { return nil },
	}
}

// series returns all series of the cores by "name{label=value ...}": values of gauges and counters,
// and numbers of observations of histograms.
func series(t *testing.T, r *obs.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "weir_") || f.GetName() == "weir_build_info" {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := fmt.Sprintf("%s{%s}", f.GetName(), strings.Join(labels, " "))
			switch f.GetType() {
			case dto.MetricType_HISTOGRAM:
				all[name] = float64(m.GetHistogram().GetSampleCount())
			case dto.MetricType_COUNTER:
				all[name] = m.GetCounter().GetValue()
			default:
				all[name] = m.GetGauge().GetValue()
			}
		}
	}
	return all
}

// gaugesOf returns the series that have the label partition.
func gaugesOf(all map[string]float64) map[string]float64 {
	gauges := map[string]float64{}
	for name, value := range all {
		if strings.Contains(name, "partition=") {
			gauges[name] = value
		}
	}
	return gauges
}
