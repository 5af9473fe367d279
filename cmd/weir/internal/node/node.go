package node

import (
	"cmp"
	"context"
	"errors"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/api/metrics"
	"github.com/weirhq/weir/internal/buildinfo"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

// Node is one weir process: its roles, and the API over their state.
type Node struct {
	Server *api.Server
	// Spend answers requests of the API. Nil: no role of the process does.
	Spend api.SpendSource
	// SpendCache is the spend cache of the process. Nil: no role has one.
	SpendCache api.SpendCacheSource
	// Apps are the applications of the process.
	Apps []api.App

	parts       []rolePart
	registry    *obs.Registry
	endpoint    string        // address of the API for other processes; empty: where it listens
	stopTimeout time.Duration // bounds a stop
	log         zerolog.Logger
}

// rolePart is a role of the process.
type rolePart struct {
	role Role
	Part
}

// Config is what New takes beside the settings.
type Config struct {
	Kafka  kafka.Cluster
	Log    zerolog.Logger
	Traces trace.TracerProvider // nil: no traces
	Roles  []Role
	Table  *LeaseTable // needed if NeedLeaseTable(Roles)
	// StreamPoll is the interval between reads of a DynamoDB stream without new records. 0: the
	// default of package bridge.
	StreamPoll time.Duration
	// Dial returns how a role connects to the brokers of a datacentre without TLS. Nil: by TCP.
	Dial func(role, dc string) Dial
}

// Dial connects to an address, host:port.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// New makes a node. It starts nothing. Its error is a *ConfigError.
func New(c *config.Config, cfg Config) (*Node, error) {
	debug.SetGCPercent(GCPercent)
	n := &Node{
		registry: obs.NewRegistry(buildinfo.Read().Version), endpoint: c.API.Advertise, stopTimeout: c.Processor.ShutdownTimeout,
		log: cfg.Log,
	}
	serve := api.Config{
		Listen: c.API.Listen, OpsListen: c.API.OpsListen, Ready: n.ready, Waiting: n.waiting, Registry: n.registry, Log: &cfg.Log,
	}
	x, err := NewAccess(c)
	if err != nil {
		return nil, err
	}
	serve.Token = x.Token
	if serve.TLS, err = serverTLS(c); err != nil {
		return nil, err
	}
	n.registry.MustRegister(newCertificateCollector(serve.TLS))
	if host, _, err := net.SplitHostPort(c.API.Advertise); err == nil {
		serve.AllowedHosts = []string{host} // other processes send this name in the Host header
	}
	cluster := &local.ClusterInfo{Kafka: cfg.Kafka, Version: buildinfo.Read().Version}
	if cfg.Table != nil {
		cluster.Leases = LeaseSettings(&cfg.Table.Config)
	}
	serve.Cluster, serve.Find, serve.SpendApp = cluster, local.Find(cfg.Kafka), SpendCounter(c).App()
	setup := Setup{
		Config: c, Cluster: cluster, cache: &sharedCache{}, Kafka: cfg.Kafka, brokers: &brokers{cluster: cfg.Kafka, log: cfg.Log},
		Table: cfg.Table, Log: cfg.Log,
		Traces: cfg.Traces, StreamPoll: cfg.StreamPoll, Dial: cfg.Dial,
		Access: x, API: &serve, Registry: n.registry, Runtime: processors.NewMetrics(n.registry),
		LeaseMetrics: sync.OnceValue(func() *metrics.Lease { return metrics.NewLease(n.registry) }),
		RoleMetrics:  newRoleMetrics(n.registry),
	}
	if err := n.addParts(setup, cfg.Roles); err != nil {
		return nil, err
	}
	n.Spend, n.SpendCache, n.Apps = serve.Spend, serve.SpendCache, serve.Apps
	if n.Server, err = api.New(serve); err != nil {
		return nil, &ConfigError{"cannot set up the API", err, apiRemedy(err)}
	}
	return n, nil
}

// apiRemedy names the settings of the fields of api.Config that an error is about.
func apiRemedy(err error) string {
	var wrong *api.FieldError
	if !errors.As(err, &wrong) {
		return ""
	}
	settings := map[string]string{
		"Listen": "api.listen", "OpsListen": "api.ops_listen", "TLS": "api.tls_cert_file, api.tls_key_file", "Token": "api.token_file",
	}
	var names []string
	for _, f := range wrong.Fields {
		names = append(names, cmp.Or(settings[f], f))
	}
	return "correct " + strings.Join(names, ", ")
}

// addParts makes the part of each role.
func (n *Node) addParts(s Setup, roles []Role) error {
	budget := NewBudget(s.Config, roles)
	for _, r := range roles {
		setup := s
		setup.Memory, setup.Role = budget.Of(r), r.Name
		if s.Dial != nil {
			setup.Kafka = setup.reach(s.Kafka, s.Config.DC)
			setup.brokers = &brokers{cluster: setup.Kafka, log: s.Log}
		}
		if r.Topics != nil {
			setup.Topics = r.Topics(s.Config)
		}
		part, err := r.New(&setup)
		var explained *ConfigError
		if errors.As(err, &explained) {
			return err
		}
		if err != nil {
			return r.configError(err)
		}
		if r.Remote != nil && r.Remote(s.Config) != "" {
			part = newSupervisor(r.Name, r.Remote(s.Config), part, &setup)
		}
		n.parts = append(n.parts, rolePart{r, part})
	}
	return nil
}

// GCPercent is the garbage collector's target of a process. It takes processor time to save
// memory: most of the heap is tables without pointers, which the collector does not scan.
const GCPercent = 50

// Run works until ctx ends, and then until the roles have stopped or processor.shutdown_timeout is
// over. ready is called once, when the API serves and all roles are ready.
func (n *Node) Run(ctx context.Context, ready func()) error {
	ended := make(chan error, 1)
	go func() { ended <- n.work(ctx, ready) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(n.stopTimeout)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return &StopTimeoutError{n.stopTimeout}
	}
}

func (n *Node) work(ctx context.Context, ready func()) error {
	for _, p := range n.parts {
		if c, ok := p.Part.(closer); ok {
			defer c.Close()
		}
	}
	// Other processes learn the address when a runtime joins its group, so the address comes first.
	if err := n.Server.Listen(ctx); err != nil {
		return err
	}
	if n.endpoint == "" {
		n.endpoint = n.Server.Addr()
	}
	for _, p := range n.parts {
		if a, ok := p.Part.(advertiser); ok {
			a.Advertise(n.endpoint)
		}
	}
	for _, p := range n.parts {
		if b, ok := p.Part.(background); ok {
			stop := b.Background(context.WithoutCancel(ctx))
			defer stop()
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.runParts(ctx) })
	g.Go(func() error { return n.Server.Run(ctx) })
	g.Go(func() error {
		if n.wait(ctx) {
			ready()
		}
		return nil
	})
	return g.Wait()
}

// runParts runs the parts of all roles. The first error ends all of them.
func (n *Node) runParts(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range n.parts {
		g.Go(func() error { return roleFailure(p.role, p.Run(ctx)) })
	}
	return g.Wait()
}

// wait returns true once all roles are ready, false if ctx ended before.
func (n *Node) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-n.Server.Ready():
	}
	report := startReport{began: time.Now()}
	for ctx.Err() == nil {
		r := n.ready(ctx)
		if r.Ready {
			return true
		}
		if report.due(time.Now()) {
			n.log.Warn().Strs("reasons", r.Reasons).Dur("after_ms", time.Since(report.began)).Msg("start_waiting")
		}
		if !pause.Poll(ctx) {
			return false
		}
	}
	return false
}
