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
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/loadgen"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
)

// dev is `weir dev`: everything in one process, with nothing installed.
type dev struct {
	a       *cli.App
	cfg     *config.Config
	noLoad  bool
	rate    int64
	port    int  // of the embedded Kafka; 0: choose
	keep    bool // the data directory is the user's
	broker  *devbroker.Broker
	node    *node.Node
	leases  *devLeases
	log     zerolog.Logger
	started time.Time
	fault   []string
	faults  []fault
	regions []string // as they were configured; what they are is in cfg
}

// Commands returns the commands for tries: `weir dev`, `weir load` and `weir dynamodb`.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newDevCmd(a), newLoadCmd(a), newDynamoDBCmd(a)}
}

const devPoll = 100 * time.Millisecond // of a stream with nothing new

func newDevCmd(a *cli.App) *cobra.Command {
	d := &dev{a: a, started: time.Now()}
	c := &cobra.Command{
		Use:   "dev",
		Short: "Runs everything in this process: Kafka, DynamoDB of three regions, the spend counter, the API, and some load",
		Long: "Runs everything in this process: an embedded Kafka, a DynamoDB of three regions, the spend counter, the API, and some load.\n" +
			"Nothing needs to be installed. It keeps its data with --data-dir, else it forgets them. Ctrl-C stops it.",
		Example: "  weir dev --data-dir ~/weir --rate 5000",
		Args:    cobra.NoArgs,
		RunE:    d.command,
	}
	f := c.Flags()
	f.BoolVar(&d.noLoad, "no-load", false, "produce no events and use no leases; heartbeats go on")
	f.Int64Var(&d.rate, "rate", 1000, "events a second of the load generator")
	f.IntVar(&d.port, "kafka-port", 0, "port of the embedded Kafka (default: 9092 if it is free, else any)")
	f.StringArrayVar(&d.fault, "fault", nil, "something that goes wrong on purpose, such as duplicate, or region=us-west-2@5m+2m: down after five minutes, for two; can be given again")
	f.String("data-dir", "", "directory that keeps the data (default: a temporary one, removed at the end)")
	f.String("listen", "", "address of the API (default: api.listen)")
	f.String("ops-listen", "", "address of health and metrics (default: api.ops_listen)")
	f.String("memory", "", "budget of memory, such as 512MiB (default: memory)")
	a.Bind(f, "memory", "memory")
	a.Bind(f, "data-dir", "data_dir")
	a.Bind(f, "listen", "api.listen")
	a.Bind(f, "ops-listen", "api.ops_listen")
	return c
}

func (d *dev) command(cmd *cobra.Command, _ []string) error {
	if d.rate < 0 || d.rate > 1_000_000 {
		return cli.UsageError(fmt.Sprintf("--rate %d is out of range", d.rate), "use 0 to 1000000 events a second")
	}
	d.keep = cmd.Flags().Changed("data-dir")
	return d.run(cmd.Context())
}

func (d *dev) run(ctx context.Context) (err error) {
	if d.cfg, err = d.a.LoadConfig(); err != nil {
		return err
	}
	regions, _ := d.cfg.Leases.RegionEndpoints()
	for _, text := range d.fault {
		fault, err := parseFault(text, regions)
		if err != nil {
			return err
		}
		d.faults = append(d.faults, fault)
	}
	if !d.keep {
		if d.cfg.DataDir, err = os.MkdirTemp("", "weir-dev-"); err != nil {
			return cli.Fail(cli.ExitIO, "cannot make a temporary directory", err, "give one with --data-dir")
		}
		defer func() { err = errors.Join(err, os.RemoveAll(d.cfg.DataDir)) }()
	}
	level := d.cfg.Log.Level
	if level == "info" {
		level = "warn" // the terminal shows what happens in its own words
	}
	if d.log, err = obs.NewLogger(d.a.Stderr, level, d.cfg.Log.Format); err != nil {
		return cli.Fail(cli.ExitConfig, "cannot set up the log", err, "correct log.level and log.format")
	}
	if d.port == 0 && free(ctx, 9092) {
		d.port = 9092
	}
	kafkaDir := ""
	if d.keep {
		kafkaDir = filepath.Join(d.cfg.DataDir, "kafka")
	}
	//nolint:contextcheck // it lives until Close, which comes after everything that uses it has ended
	d.broker, err = devbroker.Start(devbroker.Config{DataDir: kafkaDir, Port: d.port, Topics: append(node.SpendRole(d.cfg).Topics(), node.LeaseTopics(d.cfg)...), Log: d.log})
	if err != nil {
		return cli.Fail(0, "cannot start the embedded Kafka", err, "choose another --kafka-port, or another --data-dir")
	}
	defer func() { err = errors.Join(err, d.broker.Close()) }()
	d.cfg.Processor.Workers = 1
	k := kafka.Cluster{Brokers: d.broker.Addrs()}
	dir := ""
	if d.keep {
		dir = d.cfg.DataDir
	}
	if d.leases, err = startLeases(ctx, d.cfg.Leases, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.leases.close()) }()
	d.regions, d.cfg.Leases.Regions = d.cfg.Leases.Regions, d.leases.cfg.Regions
	d.node, err = node.New(d.cfg, node.Parts{Kafka: k, Log: d.log, Roles: []string{node.RoleSpend, node.RoleLeases}, Table: d.leases.table, StreamPoll: devPoll})
	if err != nil {
		return connect.NodeFailure(err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return d.leases.run(ctx, !d.noLoad, func() {
			g.Go(func() error {
				return connect.NodeFailure(d.node.Run(ctx, func() {
					d.ready()
					g.Go(func() error { return d.load(ctx, k) })
					g.Go(func() error { return d.watch(ctx) })
					g.Go(func() error {
						return (&faultInjector{cloud: d.leases.cloud, regions: regions, agents: d.leases.agents, say: func(format string, args ...any) { fmt.Fprintf(d.a.Stdout, format+"\n", args...) }}).run(ctx, d.faults)
					})
				}))
			})
		})
	})
	return g.Wait()
}

func free(ctx context.Context, port int) bool {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	return err == nil && l.Close() == nil
}

// ready says where to look and what to try.
func (d *dev) ready() {
	addr := d.node.Server.Addr()
	out := func(format string, args ...any) { fmt.Fprintf(d.a.Stdout, format+"\n", args...) }
	out("ready in %d ms: API %s://%s, Kafka %s, metrics %[2]s://%[5]s/metrics", time.Since(d.started).Milliseconds(), d.node.Server.Scheme(), addr, d.broker.Addrs()[0], d.node.Server.OpsAddr())
	out("  tables %s", strings.Join(d.leases.cfg.Regions, ", "))
	server := ""
	if addr != "127.0.0.1:8080" {
		server = " --server " + addr
	}
	if d.keep {
		out("  data   %s", d.cfg.DataDir)
	} else {
		out("  data   in memory and a temporary directory: gone at the end; --data-dir DIR keeps them")
	}
	out("  try    weir spend show --campaign %s%s", d.example(), server)
	out("         weir ingest FILE --format csv|jsonl|ipinyou|openbandit%s", server)
	out("         curl -s http://%s/weir.v1.SpendService/GetSpend -H 'Content-Type: application/json' -d '{\"campaign\":\"%s\"}'", addr, d.example())
	out("         weir lease get --client %s --pool %[1]s --key mine%s", demoName, d.leases.regionsFlag(d.regions))
	brokers := ""
	if d.port != 9092 {
		brokers = " --brokers " + d.broker.Addrs()[0]
	}
	out("         weir status%s", brokers)
	out("  join   weir run --roles %s,%s --instance second --data-dir DIR --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0%s%s%s",
		node.RoleSpend, node.RoleLeases, brokers, d.leases.regionsFlag(d.regions), d.shape())
}

// shape is what a process that joins needs to be told of the topics, if they are not as it takes them to be.
func (d *dev) shape() (environ string) {
	for _, e := range d.cfg.Entries() {
		if e.Value != e.Default && slices.Contains([]string{"dc", "spend.partitions", "spend.generation", "leases.partitions", "leases.table"}, e.Key) {
			environ += " " + e.Env + "=" + e.Value
		}
	}
	if environ != "" {
		environ = "   with" + environ
	}
	return environ
}

// example is a campaign that the load generator charges most.
func (d *dev) example() string {
	if d.noLoad {
		return "ID"
	}
	return loadgen.BusiestCampaign()
}

// load produces events at the rate, and heartbeats.
func (d *dev) load(ctx context.Context, k kafka.Cluster) error {
	rate := d.rate
	if d.noLoad {
		rate = 0
	}
	return produceEvents(ctx, k, d.node.View.Layout, rate, nil)
}

// watch tells once in a while what is going on: every second on a terminal, in place; else every ten.
func (d *dev) watch(ctx context.Context) error {
	every, before, after := 10*time.Second, "", "\n"
	if d.a.IsTerminal() {
		every, before, after = time.Second, "\r\x1b[K", ""
	}
	t := time.NewTicker(every)
	defer t.Stop()
	var last int64
	lastAt := time.Now()
	for {
		select {
		case <-ctx.Done():
			if after == "" {
				fmt.Fprintln(d.a.Stderr)
			}
			return nil
		case now := <-t.C:
			var count, micros, lag int64
			err := d.node.Figures.Health(ctx, func(h *eventspb.SpendHistogram) error {
				for _, o := range h.Origins {
					count += int64(o.CumulativeCount)
					micros += o.CumulativeMicros
				}
				return nil
			})
			if err != nil {
				continue
			}
			parts, _ := d.node.View.Partitions(ctx)
			running := 0
			for _, p := range parts {
				lag += p.GetLag()
				if p.State == "running" {
					running++
				}
			}
			perSec := float64(count-last) / now.Sub(lastAt).Seconds()
			fmt.Fprintf(d.a.Stderr, "%s%s  %d events  %.0f/s  charged %s  behind %d  partitions %d/%d running  %s%s",
				before, now.Format(time.TimeOnly), count, perSec, render.Money(micros), lag, running, len(parts), d.leases.held(), after)
			last, lastAt = count, now
		}
	}
}
