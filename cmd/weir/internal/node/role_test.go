package node

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// loadConfig returns the default configuration with environ.
func loadConfig(t *testing.T, environ ...string) *config.Config {
	t.Helper()
	c, err := config.Load(config.Options{
		Environ: append([]string{"WEIR_DATA_DIR=" + t.TempDir()}, environ...), Hostname: func() (string, error) { return "host", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each entry of the role table is complete.
func TestRoles(t *testing.T) {
	c := loadConfig(t, "WEIR_DC=eu", "WEIR_DCS=eu,us=127.0.0.1:2", "WEIR_SPEND_GENERATION=2")
	var keys []string
	for _, e := range c.Entries() {
		keys = append(keys, e.Key)
	}
	topics := catalog(c)
	var names, applications []string
	for _, r := range Roles() {
		if !regexp.MustCompile(`^[a-z]+$`).MatchString(r.Name) || slices.Contains(names, r.Name) {
			t.Errorf("%q: not a name, or the name of two roles", r.Name)
		}
		names = append(names, r.Name)
		if r.Summary == "" || strings.HasSuffix(r.Summary, ".") || r.Group.Name == "" || r.Group.Summary == "" || r.Group.Partitions == "" || r.Group.Repartition == "" {
			t.Errorf("%s: summary %q, group %+v", r.Name, r.Summary, r.Group)
		}
		if r.New == nil || r.Memory == nil || r.Weight <= 0 {
			t.Fatalf("%s: constructor %t, memory %t, weight %d", r.Name, r.New != nil, r.Memory != nil, r.Weight)
		}
		if a := r.Memory(c, 1<<30); a.Share != 1<<30 || len(a.Uses) == 0 {
			t.Errorf("%s: the memory is %+v", r.Name, a)
		}
		for _, topic := range Topics(c, []Role{r}) {
			if !slices.ContainsFunc(topics, func(o stream.Topic) bool { return o.Name == topic.Name && o.Partitions == topic.Partitions }) {
				t.Errorf("%s: topic %s with %d partitions is not in the catalog of events", r.Name, topic.Name, topic.Partitions)
			}
		}
		apps, err := Apps(c, []Role{r})
		if err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		for _, a := range apps {
			if a.Name == "" || slices.Contains(applications, a.Name) {
				t.Errorf("%s: application %q has no name of its own", r.Name, a.Name)
			}
			applications = append(applications, a.Name)
			if len(a.Inputs) == 0 {
				t.Errorf("%s: %s has no inputs", r.Name, a.Name)
			}
			for _, input := range a.Inputs {
				if !slices.ContainsFunc(topics, func(o stream.Topic) bool { return o.Name == input }) {
					t.Errorf("%s: input %s of %s is not in the catalog of events", r.Name, input, a.Name)
				}
			}
			if p := a.Processor; p != nil && (p.App != a.Name || len(p.Tables) == 0 || p.DLQ == "") {
				t.Errorf("%s: %s is described as %s with %d tables, dead letters in %q", r.Name, a.Name, p.App, len(p.Tables), p.DLQ)
			}
			if found, err := FindApp(c, a.Name); err != nil || found.Role != r.Name {
				t.Errorf("%s is found at role %q, %v", a.Name, found.Role, err)
			}
		}
		if len(r.Settings) == 0 {
			t.Errorf("%s: no settings to correct", r.Name)
		}
		for _, key := range r.Settings {
			if !slices.Contains(keys, key) {
				t.Errorf("%s: %q is not a setting", r.Name, key)
			}
		}
		if err := CheckSettings(c, []Role{r}); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	if want := []string{"spendcounter.g2", "mirror.g2", "push.us.eu.g2", "pacing.g2", "lease-bridge", "lease-liberator", "lease-dedup", "lease-balancer"}; len(applications) < 9 || !slices.Equal(applications[:8], want) {
		t.Errorf("the applications are %q", applications)
	}
	var unknown *UnknownAppError
	if _, err := FindApp(c, "spendcounter"); !errors.As(err, &unknown) || len(unknown.Known) != len(applications) { // generation 2 has another name
		t.Errorf("an unknown application: %v", err)
	}
	for _, g := range Groups() {
		if others := InGroups(g.Name); len(others) > 1 && slices.Contains(names, g.Name) {
			t.Errorf("%s is a role and a group of %d roles", g.Name, len(others))
		}
	}
}

// catalog returns every topic of a deployment with this configuration.
func catalog(c *config.Config) []stream.Topic {
	layout := events.Layout{Shards: int32(c.Spend.Partitions), Generation: c.Spend.Generation}
	topics := append(events.Catalog(c.DC, layout), events.LeaseCatalog(regionNames(c), int32(c.Leases.Partitions))...)
	topics = append(topics, events.MirrorCatalog(layout)...)
	topics = append(topics, events.JobsCatalog(events.Layout{Shards: int32(c.Jobs.Partitions)})...)
	topics = append(topics, events.PacingCatalog(c.DC, layout)...)
	for _, peer := range c.PeerNames() {
		topics = append(topics, events.CopiedTopics(peer, layout)...)
		topics = append(topics, events.CopiedBudgets(c.DC, peer, layout))
	}
	for _, writer := range c.PushWriters() {
		topics = append(topics, events.PushCatalog(writer, c.DC, layout)...)
	}
	return topics
}

// Each role makes a part. Without the roles beside it, the part is not ready and has no partition.
func TestRolePartsStandAlone(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, r := range Roles() {
		c := loadConfig(t)
		cfg := Config{Kafka: kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}, Log: zerolog.Nop(), Roles: []Role{r}}
		if NeedLeaseTable(cfg.Roles) {
			var err error
			if cfg.Table, err = ConnectLeaseTable(t.Context(), c.Leases); err != nil {
				t.Fatal(err)
			}
		}
		n, err := New(c, cfg)
		if err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		if now := n.ready(t.Context()); r.Name != "push" && now.Ready || len(now.Reasons) == 0 || n.Owned(t.Context()) != 0 {
			t.Errorf("%s: %+v, %d partitions", r.Name, now, n.Owned(t.Context()))
		}
	}
}

func TestSelect(t *testing.T) {
	if got := strings.Join(RoleNames(), ","); got != "spend,spendcounter,mirror,push,spendcache,pacing,leases,bridge,liberator,dedup,balancer,executor,jobs" {
		t.Errorf("--roles takes %s", got)
	}
	for names, want := range map[string]string{
		"leases,spendcounter":                         "spendcounter,leases",
		"mirror,spendcounter":                         "spendcounter,mirror",
		"push,mirror,spendcache,pacing,spendcounter":  "spend",
		"leases,mirror":                               "mirror,leases",
		"leases,bridge":                               "leases",
		"executor,bridge":                             "bridge,executor",
		"balancer,balancer":                           "balancer",
		"bridge,liberator,dedup,balancer,executor":    "leases",
		"spendcounter,executor,balancer,dedup,bridge": "spendcounter,bridge,dedup,balancer,executor",
	} {
		roles, err := Select(strings.Split(names, ","))
		if got := RoleList(roles); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", names, got, err, want)
		}
	}
	var unknown *UnknownRoleError
	if roles, err := Select([]string{"bridge", "count"}); !errors.As(err, &unknown) || unknown.Name != "count" || roles != nil {
		t.Errorf("count: %v, %v", roles, err)
	}
}

// A part of a test records what Node calls, in order.
type recordingPart struct {
	mu    *sync.Mutex
	calls *[]string
	name  string
	err   error // of Run; nil: it runs until ctx ends
}

func (p recordingPart) record(call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*p.calls = append(*p.calls, call+" "+p.name)
}

func (p recordingPart) Run(ctx context.Context) error {
	p.record("run")
	defer p.record("end")
	if p.err == nil {
		<-ctx.Done()
	}
	return p.err
}

func (p recordingPart) Ready(context.Context) Readiness { return Readiness{Partitions: 1} }

func (p recordingPart) Advertise(endpoint string) { p.record("advertise " + endpoint) }

func (p recordingPart) Background(ctx context.Context) (stop func()) {
	p.record("begin")
	return func() {
		if ctx.Err() == nil { // the end of the parts does not end ctx
			p.record("stop")
		}
	}
}

func (p recordingPart) Close() { p.record("close") }

// The background work of all parts begins before every part runs, and stops after every part has
// ended; parts are closed last. The error of a part names its role.
func TestPartsInOrder(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	failure := errors.New("broken")
	role := func(name string, err error) Role {
		return Role{
			Name: name, Weight: 1, Memory: func(_ *config.Config, share int64) Allocation { return Allocation{Share: share} },
			New: func(*Setup) (Part, error) { return recordingPart{&mu, &calls, name, err}, nil },
		}
	}
	c := loadConfig(t, "WEIR_API_LISTEN=127.0.0.1:0", "WEIR_API_OPS_LISTEN=127.0.0.1:0", "WEIR_API_ADVERTISE=weir-0:80")
	n, err := New(c, Config{Log: zerolog.Nop(), Roles: []Role{role("first", nil), role("second", failure)}})
	if err != nil {
		t.Fatal(err)
	}
	var stopped *RoleError
	if err := n.Run(t.Context(), func() {}); !errors.As(err, &stopped) || !errors.Is(err, failure) || stopped.Role.Name != "second" {
		t.Errorf("Run returned %v", err)
	}
	if len(calls) != 12 {
		t.Fatalf("the calls are %q", calls)
	}
	for i, want := range []string{"advertise weir-0:80", "advertise weir-0:80", "begin", "begin", "run|end", "run|end", "run|end", "run|end", "stop", "stop", "close", "close"} {
		if !regexp.MustCompile(`^(` + want + `) (first|second)$`).MatchString(calls[i]) {
			t.Errorf("call %d is %q, want %s", i, calls[i], want)
		}
	}
}
