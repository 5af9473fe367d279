package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
)

// dev is a run of `weir dev`.
type dev struct {
	a      *cli.App
	cfg    *config.Config
	noLoad bool
	rate   int64
	port   int  // of the dev broker; 0: any free port
	dbPort int  // of DynamoDB in the first region; 0: the ports of leases.regions, or free ones
	keep   bool // the user gave --data-dir
	broker *devbroker.Broker
	node   *node.Node
	leases *devLeases
	log    zerolog.Logger
	// statusLog writes the status where standard error is not a terminal. Its level is info also
	// where that of log is warn.
	statusLog zerolog.Logger
	started   time.Time
	fault     []string
	faults    []fault
	regions   []string // of the configuration; cfg has the regions with their addresses
	dcs       []string // --dcs; none: one datacentre
	latency   time.Duration
}

// Commands returns `weir dev`, `weir load` and `weir dynamodb`.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newDevCmd(a), newLoadCmd(a), newDynamoDBCmd(a)}
}

const streamPoll = 100 * time.Millisecond // interval between reads of a stream without new records

func newDevCmd(a *cli.App) *cobra.Command {
	d := &dev{a: a, started: time.Now()}
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run everything in one process: Kafka, DynamoDB in three regions, all roles, API and load",
		Long: "Run everything in one process: a dev broker for Kafka, a DynamoDB in three regions, all roles, the\n" +
			"API, and a load generator. Nothing needs to be installed. It keeps its data if --data-dir is given.\n" +
			"Ctrl-C stops it.",
		Example: "  weir dev --data-dir ~/weir --rate 5000\n  weir dev --fault jobs=gpu@30s+30s\n  weir dev --dcs eu,us,ap --fault spend=us@30s+60s",
		Args:    cobra.NoArgs,
		RunE:    d.command,
	}
	cli.RefuseServer(c, "it is a server; --listen is its own address")
	f := c.Flags()
	f.BoolVar(&d.noLoad, "no-load", false, "produce no events and use no leases; heartbeats continue")
	f.Int64Var(&d.rate, "rate", 1000, "events per second of the load generator")
	f.IntVar(&d.port, "kafka-port", 0, "port of the dev broker (default: 9092 if it is free, else any free port)")
	f.IntVar(&d.dbPort, "dynamodb-port", 0,
		"port of DynamoDB in the first region; each further region has the next port (default: the ports of leases.regions, 8000 to 8002, and free ports in place of those in use)")
	f.StringArrayVar(&d.fault, "fault", nil,
		"fault to inject: duplicate, or region=us-west-2@5m+2m: the region is down after 5 minutes, for 2 minutes; or jobs=gpu@1m: the jobs of queue demo that need a gpu fail; with --dcs spend=us@30s+60s: the spend counter of us is cut off after 30 s, for 60 s, and likewise mirror=us, push=us, pacing=us, kafka=us, link=us-eu; repeatable")
	f.StringSliceVar(&d.dcs, "dcs", nil,
		"names of datacentres, such as eu,us,ap: run the roles of ad spend in each, with a Kafka of its own, and no leases (default: one datacentre with all roles)")
	f.DurationVar(&d.latency, "latency", 50*time.Millisecond, "with --dcs: time that each request to another datacentre takes longer")
	f.String("data-dir", "", "directory of the data (default: a temporary one, removed at the end)")
	f.String("listen", "", "address of the API (default: api.listen)")
	f.String("ops-listen", "", "address of health checks and metrics (default: api.ops_listen)")
	f.String("memory", "", "memory budget of the roles, such as 512MiB (default: memory); the dev broker is not part of it")
	a.Bind(f, "memory", "memory")
	a.Bind(f, "data-dir", "data_dir")
	a.Bind(f, "listen", "api.listen")
	a.Bind(f, "ops-listen", "api.ops_listen")
	return c
}

func (d *dev) command(cmd *cobra.Command, _ []string) error {
	if d.rate < 0 || d.rate > 1_000_000 {
		return cli.UsageError(fmt.Sprintf("--rate %d is out of range", d.rate), "use 0 to 1000000 events per second")
	}
	if err := checkPort("--kafka-port", d.port); err != nil {
		return err
	}
	if err := checkPort("--dynamodb-port", d.dbPort); err != nil {
		return err
	}
	switch {
	case d.latency < 0 || d.latency > time.Minute:
		return cli.UsageError(fmt.Sprintf("--latency %s is out of range", d.latency), "use 0s to 1m")
	case d.dcs == nil && cmd.Flags().Changed("latency"):
		return cli.UsageError("--latency is about several datacentres", "name them with --dcs, such as eu,us,ap")
	case d.dcs != nil && cmd.Flags().Changed("dynamodb-port"):
		return cli.UsageError("--dynamodb-port: with --dcs there is no DynamoDB", "leave one of the two out")
	}
	d.keep = cmd.Flags().Changed("data-dir")
	return d.run(cmd.Context())
}

func (d *dev) run(ctx context.Context) (err error) {
	if d.cfg, err = d.a.LoadConfig(); err != nil {
		return err
	}
	var several *datacentres
	regions, _ := d.cfg.Leases.RegionEndpoints()
	if d.dcs != nil {
		several, err = d.checkDatacentres()
	} else {
		err = d.checkFaults(regions)
	}
	if err != nil {
		return err
	}
	if d.statusLog, err = obs.NewLogger(d.a.Stderr, d.cfg.Log.Level, d.cfg.Log.Format); err != nil {
		return cli.Fail(cli.ExitConfig, "cannot set up the log", err, "correct log.level and log.format")
	}
	defer node.LogStop(ctx, d.statusLog)() // after all that follows has ended
	if !d.keep {
		if d.cfg.DataDir, err = os.MkdirTemp("", "weir-dev-"); err != nil {
			return cli.Fail(cli.ExitIO, "cannot create a temporary directory", err, "give a directory with --data-dir")
		}
		defer func() { err = errors.Join(err, os.RemoveAll(d.cfg.DataDir)) }()
	}
	d.log = d.statusLog
	if d.cfg.Log.Level == "info" {
		d.log = d.log.Level(zerolog.WarnLevel) // the status replaces the log
	}
	if d.port == 0 && portIsFree(ctx, 9092) {
		d.port = 9092
	}
	if several != nil {
		return several.run(ctx)
	}
	dir, kafkaDir := "", ""
	if d.keep {
		dir, kafkaDir = d.cfg.DataDir, filepath.Join(d.cfg.DataDir, "kafka")
	}
	//nolint:contextcheck // the broker runs until Close, after everything that uses it has ended
	d.broker, err = devbroker.Start(
		devbroker.Config{DataDir: kafkaDir, Port: d.port, Topics: node.Topics(d.cfg, node.Roles()), Log: &d.log})
	if err != nil {
		return brokerFailure(err)
	}
	defer func() { err = errors.Join(err, d.broker.Close()) }()
	d.cfg.Processor.Workers = 1
	k := kafka.Cluster{Brokers: d.broker.Addrs()}
	if d.leases, err = startLeases(ctx, d.cfg.Leases, d.dbPort, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.leases.close()) }()
	d.regions, d.cfg.Leases.Regions = d.cfg.Leases.Regions, d.leases.cfg.Regions
	d.node, err = node.New(d.cfg, node.Config{Kafka: k, Log: d.log, Roles: node.DevRoles(), Table: d.leases.table, StreamPoll: streamPoll})
	if err != nil {
		return connect.NodeFailure(err)
	}
	budget := node.NewBudget(d.cfg, node.DevRoles())
	budget.LimitHeap(budget.Outside() + d.broker.MaxBytes())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return d.leases.run(ctx, !d.noLoad, func() {
			g.Go(func() error {
				return connect.NodeFailure(d.node.Run(ctx, func() {
					d.ready()
					g.Go(func() error { return d.load(ctx, k) })
					g.Go(func() error { return d.jobs(ctx) })
					g.Go(func() error { return d.watch(ctx) })
					g.Go(func() error {
						injector := faultInjector{cloud: d.leases.cloud, regions: regions, agents: d.leases.agents, report: d.print}
						return injector.run(ctx, d.faults)
					})
				}))
			})
		})
	})
	return diskFailure(g.Wait(), d.broker.DiskFull())
}

// checkFaults parses --fault.
func (d *dev) checkFaults(regions []string) (err error) {
	if d.faults, err = parseFaults(d.fault, regions); err == nil && d.noLoad && slices.ContainsFunc(d.faults, ofJobs) {
		err = cli.UsageError("--fault jobs is about the load", "leave --no-load out")
	}
	return err
}

// print writes a line to stdout.
func (d *dev) print(format string, args ...any) { fmt.Fprintf(d.a.Stdout, format+"\n", args...) }

// portIsFree reports whether port can be listened on.
func portIsFree(ctx context.Context, port int) bool {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	return err == nil && l.Close() == nil
}

// ready prints the addresses and commands to try.
func (d *dev) ready() {
	addr := d.node.Server.Addr()
	out := d.print
	out("ready in %d ms: API %s://%s, Kafka %s, metrics %[2]s://%[5]s/metrics", time.Since(d.started).Milliseconds(),
		d.node.Server.Scheme(), addr, d.broker.Addrs()[0], d.node.Server.OpsAddr())
	out("  tables %s", strings.Join(d.leases.cfg.Regions, ", "))
	for _, moved := range d.leases.moved {
		out("  note   %s; --dynamodb-port sets the ports", moved)
	}
	server := ""
	if addr != "127.0.0.1:8080" {
		server = " --server " + addr
	}
	if d.keep {
		out("  data   %s", d.cfg.DataDir)
	} else {
		out("  data   temporary, removed at the end; --data-dir DIR keeps it")
	}
	out("  try    weir spend show --campaign %s%s", d.example(), server)
	if !d.noLoad {
		out("         weir pacing show %s%s", pacedExample(), server)
		out("         weir queue signals %s%s", demoQueue, server)
	}
	out("         weir ingest FILE --format csv|jsonl|ipinyou|openbandit%s", server)
	out("         curl -s http://%s/weir.v1.SpendService/GetSpend -H 'Content-Type: application/json' -d '{\"campaign\":\"%s\"}'", addr,
		d.example())
	leases := d.leases.regionsFlag(d.regions)
	if d.settings(isLeaseSetting) != "" { // the server has the others, too
		leases = " --server " + addr + leases
	}
	out("         weir lease get --client %s --pool %[1]s --key mine%s", demoName, leases)
	brokers := ""
	if d.port != 9092 {
		brokers = " --brokers " + d.broker.Addrs()[0]
	}
	if brokers+leases+d.environ() != "" { // the server has them
		server = " --server " + addr
	}
	out("         weir status%s", server)
	out("  join   weir run --roles %s --instance second --data-dir DIR --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0%s%s%s",
		node.RoleList(node.DevRoles()), brokers, d.leases.regionsFlag(d.regions), d.environ())
}

// environ returns the settings that a second process needs, "" if all have their defaults.
func (d *dev) environ() string {
	if environ := d.settings(isCommonSetting); environ != "" {
		return "   with" + environ
	}
	return ""
}

// settings returns the variables of the settings that have a property and are not the defaults.
func (d *dev) settings(is func(key string) bool) (environ string) {
	for _, e := range d.cfg.Entries() {
		if e.Value != e.Default && is(e.Key) {
			environ += " " + e.Env + "=" + e.Value
		}
	}
	return environ
}

// isLeaseSetting reports whether all users of the lease table need the setting in common. The
// regions are not among them: they have a flag.
func isLeaseSetting(key string) bool {
	return slices.Contains([]string{"leases.table", "leases.home", "leases.skew"}, key)
}

// isCommonSetting reports whether all processes need the setting in common.
func isCommonSetting(key string) bool {
	return key == "dc" || key == "leases.partitions" || strings.HasPrefix(key, "spend.") || isLeaseSetting(key)
}

// example returns the campaign with the most spend of the load generator.
func (d *dev) example() string {
	if d.noLoad {
		return "ID"
	}
	return loadgen.BusiestCampaign()
}

// load produces events and heartbeats.
func (d *dev) load(ctx context.Context, k kafka.Cluster) error {
	l := eventLoad{layout: node.SpendCounter(d.cfg).Layout, rate: d.rate}
	if d.noLoad {
		l.rate = 0
	}
	return d.serveAds(ctx, k, d.node, l)
}

// jobs submits and runs jobs.
func (d *dev) jobs(ctx context.Context) error {
	if d.noLoad {
		return nil
	}
	j, err := d.newJobDemo(d.node.Server.Scheme() + "://" + d.node.Server.Addr())
	if err != nil {
		return err
	}
	return j.run(ctx, d.faults)
}

// serveAds produces the load of a node: events of the campaigns that take part in auctions. The
// first node gets the budgets.
func (d *dev) serveAds(ctx context.Context, k kafka.Cluster, n *node.Node, l eventLoad) error {
	if l.rate == 0 {
		return produceEvents(ctx, k, l)
	}
	s, err := newAdServer(d.cfg, n.Server.Scheme()+"://"+n.Server.Addr())
	if err != nil {
		return err
	}
	defer s.close()
	l.takesPart, l.shown = s.takesPart(ctx), s.shown
	var budgets sync.WaitGroup
	defer budgets.Wait()
	if l.number == 0 {
		budgets.Go(func() {
			if err := s.setBudgets(ctx, d.rate); err != nil && ctx.Err() == nil {
				d.print("  note   %s has no budgets: %v", demoAccount, err)
			}
		})
	}
	return produceEvents(ctx, k, l)
}
