package node

import (
	"context"
	"net"
	"runtime/debug"
	"slices"
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
	"github.com/weirhq/weir/spendcounter"
)

// Node is one weir process at work: the spend counter's runtime and the API over its state, the lease loop, or both.
type Node struct {
	runtime     *processors.Runtime // of the spend counter; nil without it, as are router, view and figures
	loop        *leaseLoop          // nil without
	Server      *api.Server
	registry    *obs.Registry
	router      *api.Router
	View        *local.ClusterInfo
	Figures     *local.SpendReader
	endpoint    string        // where others reach the API; empty: where it listens
	stopTimeout time.Duration // of a stop
}

// sizedSpendRole is the role with everything that decides what it counts. memory is what it has.
func sizedSpendRole(c *config.Config, memory allocation) spendcounter.ProcessorConfig {
	role := SpendRole(c)
	role.DuplicateWindow, role.MaxIDs, role.Memory = c.Spend.DuplicateWindow, c.Spend.MaxIDs, memory.campaigns
	return role
}

// processorConfig is how a processor runs here, with the memory that its role has.
func processorConfig(c *config.Config, k kafka.Cluster, log *zerolog.Logger, memory allocation) processors.Config {
	return processors.Config{
		Kafka: k, Dir: c.DataDir, Instance: c.Instance, Log: log,
		Workers: workersOf(c, memory.role), CommitInterval: c.Processor.CommitInterval, CommitIntervalMax: c.Processor.CommitIntervalMax,
		CommitRecords: c.Processor.CommitRecords, CommitBytes: int(memory.changes), PollRecords: c.Processor.PollRecords, PoisonLimit: c.Processor.PoisonLimit,
		Standbys: c.Processor.Standbys, SessionTimeout: c.Processor.SessionTimeout, TransactionTimeout: c.Processor.TransactionTimeout,
		CacheBytes: memory.cache, MemtableBytes: memory.writes, FetchBytes: int32(memory.fetch),
	}
}

// Parts are what a node is made with, beside the configuration.
type Parts struct {
	Kafka  kafka.Cluster
	Log    zerolog.Logger
	Traces trace.TracerProvider // nil: none
	Roles  []string
	Table  *LeaseTable // for the roles of the lease loop
	// StreamPoll is how often a stream with nothing new is asked; 0: the bridge's default.
	StreamPoll time.Duration
}

// New makes a node.
func New(c *config.Config, p Parts) (*Node, error) {
	reg := obs.NewRegistry(buildinfo.Read().Version)
	debug.SetGCPercent(GCPercent)
	metrics, memory := processors.NewMetrics(reg), NewBudget(c, p.Roles)
	n := &Node{registry: reg, endpoint: c.API.Advertise, stopTimeout: c.Processor.ShutdownTimeout}
	serve := api.Config{Listen: c.API.Listen, OpsListen: c.API.OpsListen, Ready: n.ready, Registry: reg, Logger: p.Log}
	x, err := NewAccess(c)
	if err != nil {
		return nil, err
	}
	serve.Token = x.token
	if serve.TLS, err = serverTLS(c); err != nil {
		return nil, err
	}
	if host, _, err := net.SplitHostPort(c.API.Advertise); err == nil {
		serve.AllowedHosts = []string{host} // by which the others ask
	}
	if slices.Contains(p.Roles, RoleSpend) {
		if err := n.addSpend(c, p, spendParts{memory.of(RoleSpend), reg, metrics, x, &serve}); err != nil {
			return nil, err
		}
	}
	if of := LeaseRoles(p.Roles); len(of) > 0 {
		n.loop, err = newLeaseLoop(c, loopParts{kafka: p.Kafka, log: p.Log, registry: reg, metrics: metrics, table: p.Table, roles: of, memory: memory, poll: p.StreamPoll})
		if err != nil {
			return nil, err
		}
	}
	if n.Server, err = api.New(serve); err != nil {
		return nil, &ConfigError{"cannot set up the API", err, ""}
	}
	return n, nil
}

// spendParts are what the spend counter shares with the rest of its node.
type spendParts struct {
	memory   allocation
	registry *obs.Registry
	metrics  *processors.Metrics
	access   Access
	serve    *api.Config
}

// addSpend gives a node the spend counter, and its server what answers from it.
func (n *Node) addSpend(c *config.Config, p Parts, s spendParts) error {
	role := sizedSpendRole(c, s.memory)
	proc, err := role.Processor()
	if err != nil {
		return &ConfigError{"cannot set up the spend counter", err, "correct dc and peers"}
	}
	proc = metrics.NewSpend(s.registry).Meter(proc)
	pc := processorConfig(c, p.Kafka, &p.Log, s.memory)
	pc.Metrics, pc.Traces = s.metrics, p.Traces
	if n.runtime, err = processors.New(pc, proc); err != nil {
		return &ConfigError{"cannot set up the processor", err, "correct the configuration; `weir config print` shows it"}
	}
	s.registry.MustRegister(n.runtime.Collector())
	n.View = &local.ClusterInfo{Runtime: n.runtime, Kafka: p.Kafka, DC: c.DC, Layout: role.Layout, Version: buildinfo.Read().Version}
	n.router = api.NewRouter(api.RouterConfig{
		State: local.NewStateReader(n.runtime, role.Layout), Peers: local.Peers{Kafka: p.Kafka, App: proc.App}, TLS: s.access.TLS, Roots: s.access.Roots,
	})
	n.Figures = &local.SpendReader{State: n.router, Kafka: p.Kafka, Inputs: proc.Inputs, DC: c.DC, Shards: proc.Partitions}
	s.serve.Spend, s.serve.Cluster, s.serve.Savepoints, s.serve.State = n.Figures, n.View, n.View, n.router
	return nil
}

// ready says whether all that runs here can be answered for.
func (n *Node) ready(ctx context.Context) (ok bool, reasons []string) {
	if n.runtime != nil {
		_, reasons = n.View.Ready(ctx)
	}
	if n.loop != nil {
		_, more := n.loop.ready()
		reasons = append(reasons, more...)
	}
	if n.runtime == nil && n.loop.owned() == 0 {
		reasons = append(reasons, "no partition assigned yet")
	}
	return len(reasons) == 0, reasons
}

// Owned counts the partitions that this process owns.
func (n *Node) Owned() (count int) {
	if n.runtime != nil {
		count = n.View.Owned()
	}
	if n.loop != nil {
		count += n.loop.owned()
	}
	return count
}

// GCPercent trades a little of the processor for memory: most of the heap is tables without pointers, which cost the
// collector nothing to pass over.
const GCPercent = 50

// Run works until ctx ends, and then as long as a stop may take. ready is called once the API serves and every partition
// assigned here is being folded.
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
	if n.router != nil {
		defer n.router.Close()
	}
	// The others learn the address when the runtime joins them, so it comes first.
	if err := n.Server.Listen(ctx); err != nil {
		return err
	}
	if n.endpoint == "" {
		n.endpoint = n.Server.Addr()
	}
	g, ctx := errgroup.WithContext(ctx)
	if n.runtime != nil {
		n.runtime.Advertise(n.endpoint)
		g.Go(func() error { return roleFailure(RoleSpend, n.runtime.Run(ctx)) })
	}
	if n.loop != nil {
		g.Go(func() error { return n.loop.run(ctx) })
	}
	g.Go(func() error { return n.Server.Run(ctx) })
	g.Go(func() error {
		if n.wait(ctx) {
			ready()
		}
		return nil
	})
	return g.Wait()
}

// wait returns true once the node is ready, false if ctx ended before.
func (n *Node) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-n.Server.Ready():
	}
	for ctx.Err() == nil {
		if ok, _ := n.ready(ctx); ok {
			return true
		}
		if !pause.Poll(ctx) {
			return false
		}
	}
	return false
}
