package obs

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestRegistryRule(t *testing.T) {
	gauge := func(name, help string, labels ...string) prometheus.Collector {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	for _, c := range []struct {
		name string
		c    prometheus.Collector
		want string // part of the error; empty: accepted
	}{
		{"good", gauge("weir_lag_records", "Records behind, by partition.", "app", "partition"), ""},
		{"no labels", gauge("weir_lag_seconds", `A "quoted" help, with {braces}.`), ""},
		{"no prefix", gauge("lag_records", "Records behind."), "rename it"},
		{"upper case", gauge("weir_Lag", "Records behind."), "rename it"},
		{"double underscore", gauge("weir_lag__records", "Records behind."), "rename it"},
		{"prefix only", gauge("weir_", "Records behind."), "rename it"},
		{"no help", gauge("weir_lag", " "), "no help text"},
		{"campaign label", gauge("weir_spend", "Spend.", "app", "campaign"), `label "campaign"`},
		{"const label", prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_x", Help: "X.", ConstLabels: prometheus.Labels{"account": `a"=,}b`, "app": "y"},
		}), `label "account"`},
		{"constrained label", prometheus.V2.NewGaugeVec(prometheus.GaugeVecOpts{
			GaugeOpts:      prometheus.GaugeOpts{Name: "weir_x", Help: "X."},
			VariableLabels: prometheus.ConstrainedLabels{{Name: "key", Constraint: strings.ToLower}},
		}), `label "key"`},
		{"describes nothing", silent{}, "describes no metric"},
		{"broken", gauge("weir_x", "X.", "app", "app"), "duplicate label"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := NewRegistry("test").Register(c.c)
			switch {
			case c.want == "" && err != nil:
				t.Fatalf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// silent describes no metric.
type silent struct{}

func (silent) Describe(chan<- *prometheus.Desc) {}
func (silent) Collect(chan<- prometheus.Metric) {}

func TestMustRegisterPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("a metric that violates the rule was registered")
		}
	}()
	NewRegistry("test").MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "x", Help: "X."}))
}

// TestNewRegistry checks the collectors of a registry, and that two registries share nothing.
func TestNewRegistry(t *testing.T) {
	for range 2 {
		fams, err := NewRegistry("v9").Gather()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range fams {
			names = append(names, f.GetName())
			if f.GetName() == "weir_build_info" {
				labels := map[string]string{}
				for _, l := range f.GetMetric()[0].GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if labels["version"] != "v9" || labels["commit"] == "" || labels["go_version"] == "" {
					t.Errorf("weir_build_info labels: %v", labels)
				}
			}
		}
		for _, want := range []string{"weir_build_info", "go_goroutines", "process_start_time_seconds"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s is missing in %v", want, names)
			}
		}
	}
}

func TestParseDescUnknownForm(t *testing.T) {
	for _, s := range []string{
		"", "Desc{}", `Desc{fqName: "a", help: "b", constLabels: {}, variableLabels: {}}`,
		`Desc{fqName: "a", help: "b", unit: "", constLabels: {x}, variableLabels: {}}`,
	} {
		if d, err := parseDesc(s); err == nil {
			t.Errorf("parseDesc(%q) = %+v, want an error", s, d)
		}
	}
}

// TestMetrics: Metrics includes metrics without a value and those of the library.
func TestMetrics(t *testing.T) {
	r := NewRegistry("test")
	r.MustRegister(prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_lag_records", Help: "Records behind.", ConstLabels: prometheus.Labels{"app": "a"}}, []string{"partition"}))
	list, err := r.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Metric{}
	for _, m := range list {
		found[m.Name] = m
	}
	m := found["weir_lag_records"]
	if m.Help != "Records behind." || !slices.Equal(m.Labels, []string{"app", "partition"}) {
		t.Errorf("%+v", m)
	}
	for _, name := range []string{"weir_build_info", "go_goroutines", "process_resident_memory_bytes"} {
		if found[name].Help == "" {
			t.Errorf("%s does not exist", name)
		}
	}
}
