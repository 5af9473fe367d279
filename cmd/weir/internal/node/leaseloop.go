package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api/metrics"
	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/bridge"
	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/executor"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// leaseLoop is the part of the lease loop that runs in this process.
type leaseLoop struct {
	cfg       *config.Config
	log       zerolog.Logger
	table     *LeaseTable
	runtimes  []*processors.Runtime
	roles     []string // of the runtimes
	executors []*executor.Executor
	board     bridge.StatusRegistry
}

// loopParts are what a loop is made with, beside the configuration.
type loopParts struct {
	kafka    kafka.Cluster
	log      zerolog.Logger
	registry *obs.Registry
	metrics  *processors.Metrics
	table    *LeaseTable
	roles    []string
	memory   Budget
	// poll is how often a stream with nothing new is asked; 0: the bridge's default.
	poll time.Duration
}

func newLeaseLoop(c *config.Config, p loopParts) (*leaseLoop, error) {
	l := &leaseLoop{cfg: c, log: p.log, table: p.table}
	metrics := metrics.NewLease(p.registry)
	regions, _ := c.Leases.RegionEndpoints()
	partitions := int32(c.Leases.Partitions)
	made := map[string]func() (stream.Processor, error){
		RoleBridge: func() (stream.Processor, error) {
			return bridge.Config{
				Timeout: c.Leases.Bridge.Timeout, ScanRate: c.Leases.Bridge.ScanRate, SweepInterval: cmp.Or(c.Leases.Bridge.Sweep, -1),
				Regions: regions, Table: c.Leases.Table, DB: p.table.connection.Client, Streams: p.table.connection.Streams, Partitions: partitions,
				PollMin: p.poll, PollMax: 2 * p.poll, QueueBytes: int(p.memory.of(RoleBridge).queue), Metrics: bridge.NewMetrics(p.registry), Registry: &l.board, Log: &l.log,
			}.Processor(), nil
		},
		roleLiberator: liberator.ProcessorConfig{Regions: regions, Partitions: partitions, Skew: c.Leases.Skew, BucketRate: c.Leases.Liberator.Rate}.Processor,
		roleDedup:     dedup.ProcessorConfig{Regions: regions, Partitions: partitions, Skew: c.Leases.Skew}.Processor,
		roleBalancer:  balancer.ProcessorConfig{Regions: regions, Partitions: partitions, Config: BalancerConfig(c)}.Processor,
	}
	for _, role := range p.roles {
		if made[role] == nil {
			continue
		}
		proc, err := made[role]()
		if err != nil {
			return nil, &ConfigError{"cannot set up the " + role, err, "correct leases.regions"}
		}
		if err := l.add(metrics.Meter(proc, regions), p, role); err != nil {
			return nil, err
		}
	}
	if slices.Contains(p.roles, RoleExecutor) {
		return l, l.addExecutors(regions, p)
	}
	return l, nil
}

// BalancerConfig is how the balancer works by the settings.
func BalancerConfig(c *config.Config) balancer.Config {
	b := c.Leases.Balancer
	return balancer.Config{PlanInterval: b.Every, TickInterval: b.Tick, Limits: balancer.Limits{MaxMoved: int64(b.Cap), MaxMovedShare: float64(b.CapPercent) / 100, Evacuate: int64(b.Evacuate)}}
}

// add makes the runtime of a role's core.
func (l *leaseLoop) add(proc stream.Processor, p loopParts, role string) error {
	pc := processorConfig(l.cfg, p.kafka, &l.log, p.memory.of(role))
	pc.Tick, pc.Metrics, pc.BallastBytes = bridge.Tick, p.metrics, 16<<20
	rt, err := processors.New(pc, proc)
	if err != nil {
		return &ConfigError{"cannot set up " + proc.App, err, "correct the configuration; `weir config print` shows it"}
	}
	p.registry.MustRegister(rt.Collector())
	l.runtimes, l.roles = append(l.runtimes, rt), append(l.roles, role)
	return nil
}

// addExecutors makes those of leases.region, or of all regions.
func (l *leaseLoop) addExecutors(regions []string, p loopParts) (err error) {
	e := executor.RegionsConfig{
		Config: executor.Config{
			Regions: regions, Partitions: int32(l.cfg.Leases.Partitions), Kafka: p.kafka, Instance: l.cfg.Instance, Log: &l.log, Metrics: executor.NewMetrics(p.registry),
			Pending: int(p.memory.of(RoleExecutor).pending), Concurrency: l.cfg.Leases.Executor.Concurrency, MaxRate: l.cfg.Leases.Executor.Rate,
		},
		Connection: l.table.connection, Table: l.cfg.Leases.Table, Skew: l.cfg.Leases.Skew, Timeout: l.cfg.Leases.Executor.Timeout,
	}
	if l.cfg.Leases.Region != "" {
		e.Regions = []string{l.cfg.Leases.Region}
	}
	if l.executors, err = e.New(); err != nil {
		return &ConfigError{"cannot set up the executors", err, "correct leases.regions and leases.region"}
	}
	return nil
}

// run works until it is told to stop, or a role fails.
func (l *leaseLoop) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for i, rt := range l.runtimes {
		g.Go(func() error { return roleFailure(l.roles[i], rt.Run(ctx)) })
	}
	if len(l.executors) > 0 {
		g.Go(func() error { return roleFailure(RoleExecutor, executor.RunAll(ctx, l.executors)) })
	}
	stop := l.renewWriteLeases(context.WithoutCancel(ctx))
	defer stop()
	return g.Wait()
}

// ready says whether all that this process has to do here is being done.
func (l *leaseLoop) ready() (ok bool, reasons []string) {
	for _, rt := range l.runtimes {
		if d, cut := rt.BrokerIdle(); cut {
			reasons = append(reasons, fmt.Sprintf("no broker has answered for %s", d.Round(time.Second)))
		}
		tasks := rt.Status()
		if len(tasks) == 0 {
			reasons = append(reasons, rt.App()+" has no partition assigned yet")
		}
		for _, s := range tasks {
			if s.State != "running" && s.State != "standby" {
				reasons = append(reasons, fmt.Sprintf("%s partition %d is %s %s", s.App, s.Partition, s.State, s.Reason))
			}
		}
	}
	for _, e := range l.executors {
		for _, s := range e.Status() {
			if s.Stopped != nil {
				reasons = append(reasons, fmt.Sprintf("executor of %s, partition %d: %v", e.Region(), s.Partition, s.Stopped))
			}
		}
	}
	return len(reasons) == 0, reasons
}

// owned counts the partitions that this process has of all applications.
func (l *leaseLoop) owned() (n int) {
	for _, rt := range l.runtimes {
		n += len(rt.Status())
	}
	for _, e := range l.executors {
		n += len(e.Status())
	}
	return n
}

var errNoRegion = errors.New("leases.region is none of leases.regions")

// CheckLeaseRoles says what is wrong with the settings for the roles of the loop.
func CheckLeaseRoles(c *config.Config) error {
	regions, _ := c.Leases.RegionEndpoints()
	if c.Leases.Region != "" && !slices.Contains(regions, c.Leases.Region) {
		return &ConfigError{"cannot run the lease loop", fmt.Errorf("%w: %s is not among %s", errNoRegion, c.Leases.Region, strings.Join(regions, ", ")), "correct leases.region"}
	}
	return nil
}
