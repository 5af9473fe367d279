package node

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/processors/kafka"
)

// fullRegistry returns the registry of a node with all roles. No broker answers it.
func fullRegistry(t *testing.T) *obs.Registry {
	t.Helper()
	cfg, err := config.Load(config.Options{Environ: []string{"WEIR_DATA_DIR=" + t.TempDir()}, Hostname: func() (string, error) { return "host", nil }})
	if err != nil {
		t.Fatal(err)
	}
	table, err := ConnectLeaseTable(t.Context(), cfg.Leases)
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(cfg, Config{Kafka: kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}, Log: zerolog.Nop(), Roles: Roles(), Table: table})
	if err != nil {
		t.Fatal(err)
	}
	return n.registry
}

// ownMetrics returns what r registers, without the metrics of the Go runtime and the process.
func ownMetrics(t *testing.T, r *obs.Registry) []obs.Metric {
	t.Helper()
	all, err := r.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(m obs.Metric) bool { return !strings.HasPrefix(m.Name, "weir_") })
}

// ownFamilies returns a family for each metric of r, with a value in each family of labels. The
// collectors that read a running store have no type here; a test of processors lints them.
func ownFamilies(t *testing.T, r *obs.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	metrics := ownMetrics(t, r)
	for _, c := range r.Collectors() {
		labels := prometheus.Labels{}
		descs := make(chan *prometheus.Desc, 1)
		switch v := c.(type) {
		case *prometheus.CounterVec, *prometheus.GaugeVec, *prometheus.HistogramVec:
			v.Describe(descs)
			name := regexp.MustCompile(`fqName: "([^"]*)"`).FindStringSubmatch((<-descs).String())[1]
			m := metrics[slices.IndexFunc(metrics, func(m obs.Metric) bool { return m.Name == name })]
			for _, l := range m.Labels {
				labels[l] = "x"
			}
		}
		switch v := c.(type) {
		case *prometheus.CounterVec:
			v.With(labels)
		case *prometheus.GaugeVec:
			v.With(labels)
		case *prometheus.HistogramVec:
			v.With(labels)
		}
	}
	list, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]*dto.MetricFamily{}
	for _, m := range metrics {
		families[m.Name] = &dto.MetricFamily{Name: &m.Name, Help: &m.Help, Type: dto.MetricType_UNTYPED.Enum()}
	}
	for _, f := range list {
		if families[f.GetName()] != nil {
			families[f.GetName()] = f
		}
	}
	return families
}

// TestMetricNames lints all metrics of the program by the conventions of Prometheus. A gauge has no
// label kind: one family has one unit.
func TestMetricNames(t *testing.T) {
	families, typed := ownFamilies(t, fullRegistry(t)), 0
	var list []*dto.MetricFamily
	for _, f := range families {
		list = append(list, f)
		if f.GetType() != dto.MetricType_UNTYPED {
			typed++
		}
		if f.GetType() != dto.MetricType_GAUGE {
			continue
		}
		for _, l := range f.GetMetric()[0].GetLabel() {
			if l.GetName() == "kind" {
				t.Errorf("%s: a gauge with the label kind: make a family for each kind", f.GetName())
			}
		}
	}
	problems, err := promlint.NewWithMetricFamilies(list).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if len(families) < 70 || typed < 55 {
		t.Errorf("%d metrics, %d of them with a type: the list lacks some", len(families), typed)
	}
}

// TestMetricsInDocs: every metric that a document names exists, and docs/operations.md lists every
// metric. A name in a document may end in an asterisk.
func TestMetricsInDocs(t *testing.T) {
	metrics := ownMetrics(t, fullRegistry(t))
	var names []string
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names) // a process has one collector of a store for each application
	const root = "../../../.."
	files, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, root+"/README.md", root+"/compose/README.md")
	name := regexp.MustCompile(`\bweir_(?:api|balancer|bridge|build|dedup|executor|jobqueue|lease|liberator|mirror|processor|push|role|spend|spendcache|spendcounter|store)_[a-z0-9_]*\*?`)
	documented := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range name.FindAllString(string(text), -1) {
			prefix, wild := strings.CutSuffix(found, "*")
			if !slices.ContainsFunc(names, func(n string) bool { return n == found || wild && strings.HasPrefix(n, prefix) }) {
				t.Errorf("%s names %s, which no registry has", filepath.Base(file), found)
			}
			if filepath.Base(file) == "operations.md" {
				documented[found] = true
			}
		}
	}
	for _, n := range names {
		if !documented[n] {
			t.Errorf("docs/operations.md does not list %s", n)
		}
	}
}
