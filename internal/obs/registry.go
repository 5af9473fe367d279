package obs

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/weirhq/weir/internal/buildinfo"
)

// Registry is a Prometheus registry that enforces the naming rule of CheckDesc. It implements
// prometheus.Registerer and prometheus.Gatherer.
type Registry struct {
	*prometheus.Registry

	mu         sync.Mutex
	collectors []prometheus.Collector // that were registered, in order
}

// NewRegistry returns a registry with the collectors of the Go runtime and the process, and with
// weir_build_info{version, commit, go_version} = 1. version is the version of weir.
func NewRegistry(version string) *Registry {
	r := &Registry{Registry: prometheus.NewRegistry()}
	// The metrics of these collectors begin with go_ and process_: the naming rule does not apply.
	r.Registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "weir_build_info",
		Help: "Always 1; the labels are the version and the commit of weir, and the version of Go.",
	}, []string{"version", "commit", "go_version"})
	info.WithLabelValues(version, buildinfo.Read().Commit, runtime.Version()).Set(1)
	r.MustRegister(info)
	return r
}

// Register registers c if all its metrics follow the naming rule of CheckDesc.
func (r *Registry) Register(c prometheus.Collector) error {
	// Describe blocks until its descriptions are received; their number is not bounded.
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
		errs = append(errs,
			errors.New("a collector describes no metric, so its names cannot be checked: send its descriptions in Describe"))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if err := r.Registry.Register(c); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collectors = append(r.collectors, c)
	return nil
}

// Collectors returns the registered collectors, without those of the Go runtime and the process, in
// the order of their registration. Tests use it to give every metric a value.
func (r *Registry) Collectors() []prometheus.Collector {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.collectors)
}

// MustRegister registers collectors whose names are literals in the code, and panics on an error.
func (r *Registry) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		if err := r.Register(c); err != nil {
			panic(err) //nolint:forbidigo // the names are literals: the first start shows it
		}
	}
}

// Metric describes a registered metric, which need not have a value yet.
type Metric struct {
	Name, Help string // of a histogram without _bucket, _sum and _count
	Labels     []string
}

// Metrics returns all registered metrics, including those of the Go runtime and the process, in no
// particular order. Tests compare alert rules and dashboards with them.
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

// CheckDesc returns an error if a metric violates the naming rule: the name begins with weir_ and
// continues in lower-case words, the help text is not empty, and every label is an AllowedLabel.
func CheckDesc(d *prometheus.Desc) error {
	if err := d.Err(); err != nil {
		return fmt.Errorf("metric description: %w", err)
	}
	p, err := parseDesc(d.String())
	if err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(p.name, "weir_"); !ok || !isSnake(rest) {
		return fmt.Errorf("metric %q: a name is weir_ followed by lower-case words joined by underscores: rename it", p.name)
	}
	if strings.TrimSpace(p.help) == "" {
		return fmt.Errorf("metric %q has no help text: write what it counts and in which unit", p.name)
	}
	for _, l := range p.labels {
		if !AllowedLabel(l) {
			return fmt.Errorf("metric %q has label %q, which is not in the closed list: use a label of obs.AllowedLabel, "+
				"or add this one there if the code bounds its values", p.name, l)
		}
	}
	return nil
}

// AllowedLabel reports whether a metric may have the label. The values of each label are bounded by
// the code or the deployment, never by the data.
func AllowedLabel(name string) bool {
	switch name {
	case "app", // application of a processor
		"code",       // outcome of an RPC
		"commit",     // of the build
		"currency",   // of the list of ISO 4217
		"dc",         // datacentre
		"from",       // region
		"go_version", // of the build
		"kind",       // a closed set, listed in the metric's help text
		"listener",   // data or ops
		"mode",       // of the answers of a spend cache
		"name",       // of a counter in the code of a processor
		"outcome",    // of a transaction or a command
		"partition",  // of a topic
		"phase",      // of a commit
		"clock",      // of a timer: event or wall
		"procedure",  // RPC
		"queue",      // of jobs; the first 1,000 of a partition
		"reason",     // a closed set, such as the reasons of refusals
		"region",     // of the lease regions
		"role",       // of a process
		"state",      // of a task or a region
		"target",     // datacentre into which another one writes
		"to",         // region
		"topic",      // of weir
		"type",       // of an event
		"version",    // of the build
		"worker":     // of a process
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
