package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/internal/roles"
	"github.com/weirhq/weir/processors"
)

// node is one weir process at work: the spend counter's runtime and the API over its state.
type node struct {
	runtime  *processors.Runtime
	server   *api.Server
	router   *api.Router
	view     *roles.View
	figures  *roles.Figures
	endpoint string        // where others reach the API; empty: where it listens
	patience time.Duration // of a stop
}

// countingRole is the role with everything that decides what it counts.
func countingRole(c *config.Config) roles.Spend {
	role := spendRole(c)
	role.DuplicateWindow, role.MaxIDs, role.Memory = c.Spend.DuplicateWindow, c.Spend.MaxIDs, sharesOf(c).campaigns
	return role
}

// processorConfig is how a processor runs here.
func processorConfig(c *config.Config, k processors.Kafka, log *zerolog.Logger) processors.Config {
	memory := sharesOf(c)
	return processors.Config{
		Kafka: k, Dir: c.DataDir, Instance: c.Instance, Log: log,
		Workers: c.Processor.Workers, CommitInterval: c.Processor.CommitInterval, CommitMax: c.Processor.CommitIntervalMax,
		CommitRecords: c.Processor.CommitRecords, CommitBytes: int(memory.changes), PollRecords: c.Processor.PollRecords, PoisonLimit: c.Processor.PoisonLimit,
		Standbys: c.Processor.Standbys, SessionTimeout: c.Processor.SessionTimeout, TransactionTimeout: c.Processor.TransactionTimeout,
		CacheBytes: memory.cache, WriteBytes: memory.writes, FetchBytes: int32(memory.fetch),
	}
}

// newNode makes a node. traces may be nil.
func newNode(c *config.Config, k processors.Kafka, log zerolog.Logger, traces trace.TracerProvider) (*node, error) {
	reg := obs.NewRegistry(buildVersion().Version)
	debug.SetGCPercent(gcPercent)
	role := countingRole(c)
	role.Metrics = roles.NewSpendMetrics(reg)
	proc, err := role.Processor()
	if err != nil {
		return nil, fail(exitConfig, "cannot set up the spend counter", err, "correct dc and peers")
	}
	pc := processorConfig(c, k, &log)
	pc.Metrics, pc.Traces = processors.NewMetrics(reg), traces
	rt, err := processors.New(pc, proc)
	if err != nil {
		return nil, fail(exitConfig, "cannot set up the processor", err, "correct the configuration; `weir config print` shows it")
	}
	reg.MustRegister(rt.Collector())
	v := &roles.View{Runtime: rt, Kafka: k, DC: c.DC, Layout: role.Layout, Version: buildVersion().Version}
	x, err := accessOf(c)
	if err != nil {
		return nil, err
	}
	router := api.NewRouter(api.RouterConfig{State: roles.NewState(rt, role.Layout), Peers: roles.Peers{Kafka: k, App: proc.App}, TLS: x.tls, Roots: x.roots})
	f := &roles.Figures{State: router, Kafka: k, Inputs: proc.Inputs, DC: c.DC, Shards: proc.Partitions}
	serve := api.Config{
		Listen: c.API.Listen, OpsListen: c.API.OpsListen, Spend: f, Cluster: v, Savepoints: v, State: router, Ready: v.Ready, Registry: reg, Logger: log,
	}
	serve.Token = x.token
	if serve.TLS, err = serving(c); err != nil {
		return nil, err
	}
	if host, _, err := net.SplitHostPort(c.API.Advertise); err == nil {
		serve.AllowedHosts = []string{host} // by which the others ask
	}
	server, err := api.New(serve)
	if err != nil {
		return nil, fail(exitConfig, "cannot set up the API", err, "")
	}
	return &node{
		runtime: rt, server: server, router: router, view: v, figures: f, endpoint: c.API.Advertise, patience: c.Processor.ShutdownTimeout,
	}, nil
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
		return fail(exitFailed, "the stop took too long", fmt.Errorf("after %s it still commits or leaves the group", n.patience),
			"nothing is lost: what was not committed is folded at the next start; processor.shutdown_timeout is how long it waits")
	}
}

func (n *node) work(ctx context.Context, ready func()) error {
	defer n.router.Close()
	// The others learn the address when the runtime joins them, so it comes first.
	if err := n.server.Listen(ctx); err != nil {
		return err
	}
	if n.endpoint == "" {
		n.endpoint = n.server.Addr()
	}
	n.runtime.Advertise(n.endpoint)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return explainRun(n.runtime.Run(ctx)) })
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
		if ok, _ := n.view.Ready(ctx); ok {
			return true
		}
		if !pause(ctx) {
			return false
		}
	}
	return false
}

// explainRun gives the runtime's errors their exit codes.
func explainRun(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, processors.ErrLocked):
		return fail(exitLocked, "cannot use the state directory", err, "stop the other process, or set another data_dir")
	case errors.Is(err, processors.ErrNewer), errors.Is(err, processors.ErrForeign):
		return fail(exitConfig, "cannot use the state directory", err, "see above: nothing was changed")
	case errors.Is(err, processors.ErrDiskFull):
		return fail(exitIO, "the disk of the state directory is full", err, "free space there, or give data_dir a larger disk, and start it again: nothing is lost, what the store lacks is read from the changelog")
	case errors.Is(err, processors.ErrDisk):
		return fail(exitIO, "the disk of the state directory fails", err, "see the system's log; start it again on a disk that works: the state is rebuilt from the changelog")
	case errors.Is(err, processors.ErrTopics):
		return fail(exitUnavailable, "the topics are not as they must be", err, "`weir topics plan` shows the difference, `weir topics apply` makes it good; another number of partitions is a matter of `weir rekey`")
	case errors.Is(err, processors.ErrTransactions):
		return fail(exitUnavailable, "the brokers cannot do this", err, "see above")
	}
	return fail(0, "the processor stopped", fmt.Errorf("%w", err), "")
}
