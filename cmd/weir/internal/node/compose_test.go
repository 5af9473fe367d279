package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
)

// composeFile reads a file of compose/ into v.
func composeFile(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../../compose", name))
	if err != nil {
		t.Fatal(err)
	}
	decode := yaml.Unmarshal
	if strings.HasSuffix(name, ".json") {
		decode = json.Unmarshal
	}
	if err := decode(text, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// composeProcess is a service in compose.yaml.
type composeProcess struct {
	Command     []string
	Environment map[string]string
	Memory      string `yaml:"mem_limit"`
}

// composeConfigs returns the configuration of each service that is `weir run`, by its name.
func composeConfigs(t *testing.T) (configs map[string]*config.Config, services map[string]composeProcess) {
	t.Helper()
	var file struct{ Services map[string]composeProcess }
	composeFile(t, "compose.yaml", &file)
	configs = map[string]*config.Config{}
	for name, s := range file.Services {
		if len(s.Command) == 0 || s.Command[0] != "run" {
			continue
		}
		var env []string
		for k, v := range s.Environment {
			if strings.HasPrefix(k, "WEIR_") && k != config.EnvFile {
				env = append(env, k+"="+v)
			}
		}
		c, err := config.Load(config.Options{File: "../../../../compose/weir.yaml", Environ: env})
		if err != nil {
			t.Fatal(err)
		}
		configs[name] = c
	}
	return configs, file.Services
}

// The files of compose/ agree on names, addresses and memory.
func TestComposeFiles(t *testing.T) {
	configs, services := composeConfigs(t)
	if len(configs) != 2 {
		t.Fatalf("%d services are `weir run`, want 2", len(configs))
	}
	var scraped struct {
		Scrape []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
			TLS    struct {
				CA string `yaml:"ca_file"`
			} `yaml:"tls_config"`
			Authorization struct {
				File string `yaml:"credentials_file"`
			}
		} `yaml:"scrape_configs"`
	}
	composeFile(t, "prometheus.yml", &scraped)
	targets := scraped.Scrape[0].Static[0].Targets
	if len(targets) != len(configs) {
		t.Errorf("Prometheus scrapes %v", targets)
	}
	hosts := strings.Split(services["tls"].Command[slices.Index(services["tls"].Command, "--host")+1], ",")
	for name, c := range configs {
		if c.Instance != name || c.API.Advertise != name+":8080" || c.API.OpsListen != "0.0.0.0:8081" {
			t.Errorf("%s is %s at %s, metrics at %s", name, c.Instance, c.API.Advertise, c.API.OpsListen)
		}
		if !slices.Contains(targets, name+":8081") || !slices.Contains(hosts, name) {
			t.Errorf("%s is not scraped (%v), or its certificate does not name it (%v)", name, targets, hosts)
		}
		if s := scraped.Scrape[0]; s.TLS.CA != c.API.CAFile || s.Authorization.File != c.API.TokenFile {
			t.Errorf("Prometheus has %+v, %s %s and %s", s, name, c.API.CAFile, c.API.TokenFile)
		}
		const program = 128 << 20 // the code and its stacks
		need := int64(c.Memory) + NewBudget(c, DevRoles()).Outside() + program
		limit, err := config.ParseBytes(strings.TrimSuffix(services[name].Memory, "m") + "MiB")
		if err != nil || int64(limit) < need {
			t.Errorf("%s: mem_limit %s, and memory with event ids and the program is %d MiB: %v", name, services[name].Memory, need>>20, err)
		}
		if err := CheckSettings(c, DevRoles()); err != nil {
			t.Error(err)
		}
	}
}

// Each metric and label that the rules and the dashboard use is registered by a process.
func TestComposeMetrics(t *testing.T) {
	metrics, err := fullRegistry(t).Metrics()
	if err != nil {
		t.Fatal(err)
	}
	exprs := map[string]string{}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	composeFile(t, "rules.yml", &rules)
	for _, r := range rules.Groups[0].Rules {
		exprs[r.Alert] = r.Expr
		for what, text := range r.Annotations {
			exprs[r.Alert+" "+what] = text
		}
	}
	board := readDashboard(t)
	for _, p := range board.Panels {
		for i, q := range p.Targets {
			exprs[fmt.Sprint(p.Title, " ", i)] = q.Expr
		}
	}
	for _, v := range board.Templating.List {
		exprs["variable "+v.Name] = v.Query
	}
	if len(rules.Groups[0].Rules) < 5 || len(board.Panels) < 5 {
		t.Errorf("%d rules and %d panels", len(rules.Groups[0].Rules), len(board.Panels))
	}
	for where, expr := range exprs {
		for _, c := range unknownMetrics(expr, metrics) {
			t.Errorf("%s: %s", where, c)
		}
	}
	for _, bad := range []string{ // the check has to find these
		"weir_processor_lags_seconds > 3", `weir_processor_lag_seconds{works="1"}`, `weir_bridge_records_total{outcome="changed"}`,
		`sum by (campaign) (weir_processor_lag_seconds)`, "process_resident_bytes", `weir_processor_partitions{state!="halted"}`,
	} {
		if unknownMetrics(bad, metrics) == nil {
			t.Errorf("no complaint about %s", bad)
		}
	}
}

// unknownMetrics returns a complaint for each metric and label in text that no process registers.
// The help text of a metric lists the values of its labels, where the set of values is closed.
func unknownMetrics(expr string, metrics []obs.Metric) (bad []string) {
	known := []string{"instance", "job", "le"} // labels that Prometheus and histograms add
	for _, m := range regexp.MustCompile(`\b((?:weir|go|process)_[a-z0-9_]+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(expr, -1) {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m[1], "")
		i := slices.IndexFunc(metrics, func(x obs.Metric) bool { return x.Name == m[1] || x.Name == base })
		if i < 0 {
			bad = append(bad, "no metric is called "+m[1])
			continue
		}
		known = append(known, metrics[i].Labels...)
		for _, l := range regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(known, l[1]) {
				bad = append(bad, m[1]+" has no label "+l[1])
			}
			closed := slices.Contains([]string{"kind", "outcome", "reason", "state"}, l[1])
			if closed && !regexp.MustCompile(`\b`+regexp.QuoteMeta(l[2])+`\b`).MatchString(metrics[i].Help) {
				bad = append(bad, fmt.Sprintf("%s has no %s %s: %s", m[1], l[1], l[2], metrics[i].Help))
			}
		}
	}
	for _, by := range regexp.MustCompile(`\bby \(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(by[1], ",") {
			if l = strings.TrimSpace(l); !slices.Contains(known, l) {
				bad = append(bad, "no metric of the expression has the label "+l)
			}
		}
	}
	return bad
}
