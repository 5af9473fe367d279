package processors

import (
	"testing"

	"github.com/weirhq/weir/internal/obs"
)

// TestMetricsBegin: the counters of a runtime exist before the first event. increase and rate see
// no event that makes its series.
func TestMetricsBegin(t *testing.T) {
	reg := obs.NewRegistry("test")
	NewMetrics(reg).begin("app")
	list, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	for _, f := range list {
		for _, m := range f.GetMetric() {
			if f.GetName() != "weir_build_info" && m.GetCounter() != nil {
				series[f.GetName()]++
			}
		}
	}
	for name, want := range map[string]int{
		"weir_processor_records_total": 1, "weir_processor_transactions_total": 3, "weir_processor_aborts_total": 6, "weir_processor_restores_total": 1,
	} {
		if series[name] != want {
			t.Errorf("%s has %d series before the first event, want %d", name, series[name], want)
		}
	}
}
