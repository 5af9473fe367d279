package main

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
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
)

// node is one weir process at work: the spend counter's runtime and the API over its state, the lease loop, or both.
type node struct {
	runtime  *processors.Runtime // of the spend counter; nil without it, as are router, view and figures
	loop     *leaseLoop          // nil without
	server   *api.Server
	registry *obs.Registry
	router   *api.Router
	view     *local.ClusterInfo
	figures  *local.SpendReader
	endpoint string        // where others reach the API; empty: where it listens
	patience time.Duration // of a stop
}

// countingRole is the role with everything that decides what it counts. memory is what it has.
func countingRole(c *config.Config, memory shares) spendcounter.ProcessorConfig {
	role := spendRole(c)
	role.DuplicateWindow, role.MaxIDs, role.Memory = c.Spend.DuplicateWindow, c.Spend.MaxIDs, memory.campaigns
	return role
}

// soleCounter is the role of a process that does nothing else.
func soleCounter(c *config.Config) spendcounter.ProcessorConfig { return countingRole(c, spendAlone(c)) }

// spendAlone is what the spend counter has in a process that does nothing else.
func spendAlone(c *config.Config) shares { return budgetOf(c, []string{roleSpend}).of(roleSpend) }

// processorConfig is how a processor runs here, with the memory that its role has.
func processorConfig(c *config.Config, k processors.Kafka, log *zerolog.Logger, memory shares) processors.Config {
	return processors.Config{
		Kafka: k, Dir: c.DataDir, Instance: c.Instance, Log: log,
		Workers: workersOf(c, memory.role), CommitInterval: c.Processor.CommitInterval, CommitMax: c.Processor.CommitIntervalMax,
		CommitRecords: c.Processor.CommitRecords, CommitBytes: int(memory.changes), PollRecords: c.Processor.PollRecords, PoisonLimit: c.Processor.PoisonLimit,
		Standbys: c.Processor.Standbys, SessionTimeout: c.Processor.SessionTimeout, TransactionTimeout: c.Processor.TransactionTimeout,
		CacheBytes: memory.cache, WriteBytes: memory.writes, FetchBytes: int32(memory.fetch),
	}
}

// nodeParts are what a node is made with, beside the configuration.
type nodeParts struct {
	kafka  processors.Kafka
	log    zerolog.Logger
	traces trace.TracerProvider // nil: none
	roles  []string
	table  *leases // for the roles of the lease loop
	// poll is how often a stream with nothing new is asked; 0: the bridge's default.
	poll time.Duration
}

// newNode makes a node.
func newNode(c *config.Config, p nodeParts) (*node, error) {
	reg := obs.NewRegistry(buildVersion().Version)
	debug.SetGCPercent(gcPercent)
	metrics, memory := processors.NewMetrics(reg), budgetOf(c, p.roles)
	n := &node{registry: reg, endpoint: c.API.Advertise, patience: c.Processor.ShutdownTimeout}
	serve := api.Config{Listen: c.API.Listen, OpsListen: c.API.OpsListen, Ready: n.ready, Registry: reg, Logger: p.log}
	x, err := accessOf(c)
	if err != nil {
		return nil, err
	}
	serve.Token = x.token
	if serve.TLS, err = serving(c); err != nil {
		return nil, err
	}
	if host, _, err := net.SplitHostPort(c.API.Advertise); err == nil {
		serve.AllowedHosts = []string{host} // by which the others ask
	}
	if slices.Contains(p.roles, roleSpend) {
		if err := n.addSpend(c, p, spendParts{memory.of(roleSpend), reg, metrics, x, &serve}); err != nil {
			return nil, err
		}
	}
	if of := loopRoles(p.roles); len(of) > 0 {
		n.loop, err = newLeaseLoop(c, loopParts{kafka: p.kafka, log: p.log, registry: reg, metrics: metrics, table: p.table, roles: of, memory: memory, poll: p.poll})
		if err != nil {
			return nil, err
		}
	}
	if n.server, err = api.New(serve); err != nil {
		return nil, &ConfigError{"cannot set up the API", err, ""}
	}
	return n, nil
}

// spendParts are what the spend counter shares with the rest of its node.
type spendParts struct {
	memory   shares
	registry *obs.Registry
	metrics  *processors.Metrics
	access   access
	serve    *api.Config
}

// addSpend gives a node the spend counter, and its server what answers from it.
func (n *node) addSpend(c *config.Config, p nodeParts, s spendParts) error {
	role := countingRole(c, s.memory)
	proc, err := role.Processor()
	if err != nil {
		return &ConfigError{"cannot set up the spend counter", err, "correct dc and peers"}
	}
	proc = metrics.NewSpend(s.registry).Meter(proc)
	pc := processorConfig(c, p.kafka, &p.log, s.memory)
	pc.Metrics, pc.Traces = s.metrics, p.traces
	if n.runtime, err = processors.New(pc, proc); err != nil {
		return &ConfigError{"cannot set up the processor", err, "correct the configuration; `weir config print` shows it"}
	}
	s.registry.MustRegister(n.runtime.Collector())
	n.view = &local.ClusterInfo{Runtime: n.runtime, Kafka: p.kafka, DC: c.DC, Layout: role.Layout, Version: buildVersion().Version}
	n.router = api.NewRouter(api.RouterConfig{
		State: local.NewStateReader(n.runtime, role.Layout), Peers: local.Peers{Kafka: p.kafka, App: proc.App}, TLS: s.access.tls, Roots: s.access.roots,
	})
	n.figures = &local.SpendReader{State: n.router, Kafka: p.kafka, Inputs: proc.Inputs, DC: c.DC, Shards: proc.Partitions}
	s.serve.Spend, s.serve.Cluster, s.serve.Savepoints, s.serve.State = n.figures, n.view, n.view, n.router
	return nil
}

// ready says whether all that runs here can be answered for.
func (n *node) ready(ctx context.Context) (ok bool, reasons []string) {
	if n.runtime != nil {
		_, reasons = n.view.Ready(ctx)
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

// owned counts the partitions that this process owns.
func (n *node) owned() (count int) {
	if n.runtime != nil {
		count = n.view.Owned()
	}
	if n.loop != nil {
		count += n.loop.owned()
	}
	return count
}

// gcPercent trades a little of the processor for memory: most of the heap is tables without pointers, which cost the
// collector nothing to pass over.
const gcPercent = 50

// run works until ctx ends, and then as long as a stop may take. ready is called once the API serves and every partition
// assigned here is being folded.
func (n *node) run(ctx context.Context, ready func()) error {
	ended := make(chan error, 1)
	go func() { ended <- n.work(ctx, ready) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(n.patience)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return &StopTimeoutError{n.patience}
	}
}

func (n *node) work(ctx context.Context, ready func()) error {
	if n.router != nil {
		defer n.router.Close()
	}
	// The others learn the address when the runtime joins them, so it comes first.
	if err := n.server.Listen(ctx); err != nil {
		return err
	}
	if n.endpoint == "" {
		n.endpoint = n.server.Addr()
	}
	g, ctx := errgroup.WithContext(ctx)
	if n.runtime != nil {
		n.runtime.Advertise(n.endpoint)
		g.Go(func() error { return roleFailure(roleSpend, n.runtime.Run(ctx)) })
	}
	if n.loop != nil {
		g.Go(func() error { return n.loop.run(ctx) })
	}
	g.Go(func() error { return n.server.Run(ctx) })
	g.Go(func() error {
		if n.wait(ctx) {
			ready()
		}
		return nil
	})
	return g.Wait()
}

// wait returns true once the node is ready, false if ctx ended before.
func (n *node) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-n.server.Ready():
	}
	for ctx.Err() == nil {
		if ok, _ := n.ready(ctx); ok {
			return true
		}
		if !pause(ctx) {
			return false
		}
	}
	return false
}
