package obs

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Registry is a Prometheus registry that refuses metrics against the naming rule. It serves as prometheus.Registerer
// and prometheus.Gatherer.
type Registry struct {
	*prometheus.Registry
}

// NewRegistry gives a registry with the collectors of the Go runtime and the process, and weir_build_info{version,
// go_version} = 1. The version is weir's own.
func NewRegistry(version string) *Registry {
	r := &Registry{Registry: prometheus.NewRegistry()}
	// These two are named by the library (go_, process_): the rule is for ours.
	r.Registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "weir_build_info",
		Help: "Always 1; the labels say which weir and which Go built this process.",
	}, []string{"version", "go_version"})
	info.WithLabelValues(version, runtime.Version()).Set(1)
	r.MustRegister(info)
	return r
}

// Register adds c if all its metrics follow the naming rule; see CheckDesc.
func (r *Registry) Register(c prometheus.Collector) error {
	// Describe blocks on its channel, and there is no bound on what it sends.
	ch := make(chan *prometheus.Desc)
	go func() {
		defer close(ch)
		c.Describe(ch)
	}()
	var errs []error
	n := 0
	for d := range ch {
		n++
		if err := CheckDesc(d); err != nil {
			errs = append(errs, err)
		}
	}
	if n == 0 {
		errs = append(errs, errors.New("a collector describes no metric, so its names cannot be checked: send them in Describe"))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return r.Registry.Register(c)
}

// MustRegister is Register that panics: for metrics whose names are literals in the code.
func (r *Registry) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		if err := r.Register(c); err != nil {
			panic(err) //nolint:forbidigo // the names are literals: the first start of a program shows it
		}
	}
}

// Metric is what a registry knows of a metric before it has a value.
type Metric struct {
	Name, Help string // a histogram's name is without _bucket, _sum and _count
	Labels     []string
}

// Metrics are all that were registered, those of the Go runtime and the process too, in no order: what rules and dashboards may
// ask for.
func (r *Registry) Metrics() ([]Metric, error) {
	ch := make(chan *prometheus.Desc)
	go func() {
		defer close(ch)
		r.Describe(ch)
	}()
	var list []Metric
	var errs []error
	for d := range ch {
		p, err := parseDesc(d.String())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, Metric{p.name, p.help, p.labels})
	}
	return list, errors.Join(errs...)
}

// CheckDesc says what in a metric's description is against the naming rule: the name begins with weir_ and is lower
// case, the help text is a sentence, every label is an AllowedLabel.
func CheckDesc(d *prometheus.Desc) error {
	if err := d.Err(); err != nil {
		return fmt.Errorf("metric description: %w", err)
	}
	p, err := parseDesc(d.String())
	if err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(p.name, "weir_"); !ok || !isSnake(rest) {
		return fmt.Errorf("metric %q: a name is weir_ and lower-case words joined by underscores: rename it", p.name)
	}
	if strings.TrimSpace(p.help) == "" {
		return fmt.Errorf("metric %q has no help text: say what it counts and in which unit", p.name)
	}
	for _, l := range p.labels {
		if !AllowedLabel(l) {
			return fmt.Errorf("metric %q has label %q, which is not in the closed list: use one of AllowedLabel's, "+
				"or add it there if its values are bounded by the code", p.name, l)
		}
	}
	return nil
}

// AllowedLabel tells whether a metric may carry the label. Each has a set of values bounded by the code or the
// deployment, never by the data.
func AllowedLabel(name string) bool {
	switch name {
	case "app", // processor application
		"code",       // RPC outcome
		"dc",         // datacentre
		"from",       // of leases.regions
		"go_version", // of the build
		"kind",       // a closed set named in the metric's help
		"listener",   // data, ops
		"outcome",    // of a transaction, of a command
		"partition",  // as many as the topic has
		"phase",      // of a commit
		"clock",      // of a timer: event, wall
		"procedure",  // RPC
		"reason",     // a closed set, such as reject reasons
		"region",     // of leases.regions
		"role",       // of a process
		"state",      // of a task, of a region
		"to",         // of leases.regions
		"topic",      // of the catalogue
		"type",       // event type
		"version",    // of the build
		"worker":     // as many as the process runs
		return true
	}
	return false
}

func isSnake(s string) bool {
	if s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
