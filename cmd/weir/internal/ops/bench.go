package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/jobqueue/queues"
	"github.com/weirhq/weir/processors/kafka"
)

// newBenchEnv returns the brokers and the memory of benchmarks, from the configuration.
func newBenchEnv(c *cobra.Command, a *cli.App) (*broker.Env, error) {
	if err := checkBench(c.Flags()); err != nil {
		return nil, err
	}
	cfg, k, err := connect.OwnCluster(a)
	if err != nil {
		return nil, err
	}
	if err := k.Reach(c.Context()); err != nil {
		return nil, connect.TopicFailure(cli.ExitUnavailable, "no broker answers", err)
	}
	debug.SetGCPercent(node.GCPercent)
	return &broker.Env{
		Kafka: k, Memory: int64(cfg.Memory), Runtime: node.BenchConfig, Jobs: node.BenchJobsConfig, Notef: a.Notef,
		Process: func(flags ...string) (*exec.Cmd, error) { return benchProcess(a, k, flags) },
	}, nil
}

// checkBench returns a usage error for a flag of a benchmark that is out of range.
func checkBench(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Value.Type() == "bool" { // hidden: a flag that the benchmark does not use
			return
		}
		text, hint := f.Value.String(), ""
		number := func(least, most int64, use string) {
			if n, bad := strconv.ParseInt(text, 10, 64); bad != nil || n < least || n > most {
				hint = use
			}
		}
		switch f.Name {
		case "events", "keys", "campaigns", "rounds", "partitions", "submitters", "agents":
			number(1, math.MaxInt64, "use 1 or more")
		case "rate", "steady", "parked", "readers":
			number(0, math.MaxInt64, "use 1 or more, or 0 to leave this measurement out")
		case "batch":
			number(1, api.MaxJobs, fmt.Sprintf("use 1 to %d", api.MaxJobs))
		case "payload":
			number(8, queues.MaxPayload, fmt.Sprintf("use 8 to %d", queues.MaxPayload))
		case "share":
			if x, bad := strconv.ParseFloat(text, 64); bad != nil || !(x > 0 && x <= 1) {
				hint = "use more than 0 and at most 1, such as 0.7"
			}
		case "capacity", "measure", "duration", "idle":
			if d, bad := time.ParseDuration(text); bad != nil || d <= 0 {
				hint = "use a duration above 0, such as 15s"
			}
		}
		if hint != "" {
			err = cli.UsageError(fmt.Sprintf("--%s %s is out of range", f.Name, text), hint)
		}
	})
	return err
}

// benchProcess returns the command `weir bench process` with flags, the same brokers and the same
// configuration file.
func benchProcess(a *cli.App, k kafka.Cluster, flags []string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	args := append([]string{"bench", "process", "--brokers", strings.Join(k.Brokers, ",")}, flags...)
	if a.ConfigFile != "" {
		args = append(args, "-f", a.ConfigFile)
	}
	cmd := exec.Command(exe, args...) //nolint:noctx // the benchmark kills the process
	cmd.Stderr, cmd.Env = a.Stderr, a.Environ
	return cmd, nil
}

// figures is a benchmark that prints figures.
type figures struct {
	a *cli.App
	s *broker.Suite
}

// command returns a benchmark with the flags of all benchmarks.
func (b figures) command(use, short string, run func(context.Context, *broker.Env) ([]broker.Figure, error)) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := newBenchEnv(cmd, b.a)
			if err != nil {
				return err
			}
			rows, err := run(cmd.Context(), e)
			if err != nil {
				return cli.Fail(0, "the benchmark failed", err, "`weir doctor` checks the brokers")
			}
			return cli.PrintRows(b.a, rows)
		},
	}
	c.Flags().Int64Var(&b.s.Log.Events, "events", b.s.Log.Events, "number of events in the log")
	c.Flags().Float64Var(&b.s.Log.Zipf, "zipf", b.s.Log.Zipf, "Zipf exponent of the campaigns; -1: uniform")
	c.Flags().IntVar(&b.s.Rounds, "rounds", 3, "number of rounds")
	return c
}

// newBenchProcessCmd returns `weir bench process`, which benchmarks with several processes start.
func newBenchProcessCmd(a *cli.App) *cobra.Command {
	var m broker.Member
	var memory int64
	c := &cobra.Command{
		Use: "process", Hidden: true, Short: "Run one process of a benchmark", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := newBenchEnv(cmd, a)
			if err != nil {
				return err
			}
			return m.Run(cmd.Context(), e.With(memory))
		},
	}
	f := c.Flags()
	f.StringVar(&m.Log, "log", "", "topic of the events")
	f.StringVar(&m.App, "app", "", "application id")
	f.StringVar(&m.Changelog, "changelog", "", "changelog")
	f.StringVar(&m.DLQ, "dlq", "", "dead-letter topic")
	f.StringVar(&m.Dir, "dir", "", "directory of the state")
	f.StringVar(&m.Instance, "instance", "", "stable name of the process")
	f.IntVar(&m.Standbys, "standbys", 0, "standbys of each partition")
	f.Int64Var(&memory, "memory", 0, "memory budget in bytes")
	return c
}

func newBenchCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure weir on your brokers"}
	cli.RefuseServer(c, "it measures the brokers of --brokers or kafka.brokers")
	c.AddCommand(newBenchSpendCmd(a), newBenchRestoreCmd(a), newBenchGrowthCmd(a), newBenchScaleCmd(a), newBenchDatacentresCmd(a))
	c.AddCommand(newBenchRestartCmd(a), newBenchLatencyCmd(a), newBenchJobsCmd(a), newBenchAllCmd(a), newBenchProcessCmd(a))
	return c
}

func newBenchSpendCmd(a *cli.App) *cobra.Command {
	var b broker.SpendBench
	c := &cobra.Command{
		Use:   "spend",
		Short: "Measure the throughput of the spend counter, and of a plain consumer",
		Long: "Measure the throughput of the spend counter, and of a plain consumer of the same log.\n\n" +
			"It fills a topic, which it keeps for the next run. A read_committed group consumer reads the topic\n" +
			"until two passes in a row are about equally fast, six times at most: a broker that has just started\n" +
			"is slower. In each round the consumer reads the topic, then the spend counter counts it exactly once\n" +
			"into an empty store. The first quarter of each run is not timed. It prints medians; the ratio is the\n" +
			"median of the ratios of all rounds. The names of the topics begin with weir.bench.",
		Example: "  weir bench spend --brokers 127.0.0.1:9092 --rounds 3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := newBenchEnv(cmd, a)
			if err != nil {
				return err
			}
			var rows []broker.SpendRow
			for _, zipf := range b.Spread() {
				row, err := b.Run(cmd.Context(), e, zipf)
				if err != nil {
					return cli.Fail(0, "the benchmark failed", err, "`weir doctor` checks the brokers")
				}
				rows = append(rows, row)
			}
			return cli.PrintRows(a, rows)
		},
	}
	f := c.Flags()
	f.Int64Var(&b.Events, "events", 20_000_000, "number of events in the log")
	f.IntVar(&b.Campaigns, "campaigns", 100_000, "number of campaigns")
	f.IntVar(&b.Rounds, "rounds", 3, "number of rounds")
	f.Float64Var(&b.Zipf, "zipf", 0, "Zipf exponent of the campaigns; -1: uniform (default: a run with -1 and a run with 1.1)")
	f.DurationVar(&b.CommitInterval, "commit-interval", 100*time.Millisecond, "time between commits of a counter without lag")
	f.DurationVar(&b.CommitIntervalMax, "commit-interval-max", time.Second, "time between commits of a counter with lag")
	f.StringVar(&b.Profile, "cpu-profile", "", "file for a CPU profile of the spend counter in the last round, for go tool pprof")
	f.IntVar(&b.Workers, "workers", 0, "number of workers (default: the number of CPUs, at least 4)")
	return c
}

// newBenchAllCmd returns `weir bench all`. A run on two CPUs takes an hour.
func newBenchAllCmd(a *cli.App) *cobra.Command {
	s := &broker.Suite{Log: broker.Log{Events: 20_000_000, Campaigns: 100_000}}
	var keys int64
	c := figures{a, s}.command("all", "Run all benchmarks and print one table",
		func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
			rows, err := s.All(ctx, e, keys)
			if err != nil {
				return nil, errors.Join(err, cli.PrintRows(a, rows))
			}
			return rows, nil
		})
	c.Flags().Int64Var(&keys, "keys", 10_000_000,
		"number of keys in the store of the restart benchmark; the restore benchmark uses a fifth")
	return c
}

func newBenchLatencyCmd(a *cli.App) *cobra.Command {
	b := &broker.LatencyBench{}
	s := &broker.Suite{Log: broker.Log{Campaigns: 100_000, Zipf: 1.1}}
	c := figures{a, s}.command("latency", "Measure the time from the production of an event until a query sees it, under load",
		func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
			return b.Rows(ctx, e, s.Rounds)
		})
	c.Flags().DurationVar(&b.Capacity, "capacity", 8*time.Second, "duration of the run at full speed that finds the sustainable rate")
	c.Flags().DurationVar(&b.Measure, "measure", 15*time.Second, "duration of the measurement")
	c.Flags().Float64Var(&b.Share, "share", 0.7, "load of the measurement, as a share of the sustainable rate, above 0 and at most 1")
	_ = c.Flags().MarkHidden("events")
	return c
}

// newBenchRestartCmd returns `weir bench restart`.
func newBenchRestartCmd(a *cli.App) *cobra.Command {
	s := &broker.Suite{Log: broker.Log{Zipf: loadgen.Even}}
	var keys int64
	c := figures{a, s}.command("restart", "Measure how long partitions are unavailable after kill -9 of their process",
		func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
			return s.Downtime(ctx, e, keys)
		})
	c.Flags().Int64Var(&keys, "keys", 10_000_000, "number of keys in the store of the process that is killed")
	_ = c.Flags().MarkHidden("events")
	return c
}

func newBenchRestoreCmd(a *cli.App) *cobra.Command {
	b, s := &broker.RestoreBench{}, &broker.Suite{}
	c := figures{a, s}.command("restore", "Measure the restore of a store from the changelog",
		func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
			b.Rounds = s.Rounds
			return b.Rows(ctx, e)
		})
	c.Long = "Measure the restore of a store from the changelog, from the start of the processor until all its\n" +
		"partitions are running. It fills a changelog with keys of 16 bytes and values of 100 bytes, and\n" +
		"keeps it for the next run. The names of the topics begin with weir.bench."
	c.Flags().Int64Var(&b.Keys, "keys", 1_000_000, "number of keys in the changelog")
	c.Flags().StringVar(&b.Profile, "cpu-profile", "", "file for a CPU profile of the last round, for go tool pprof")
	_, _ = c.Flags().MarkHidden("events"), c.Flags().MarkHidden("zipf")
	return c
}

// newBenchGrowthCmd returns `weir bench growth`.
func newBenchGrowthCmd(a *cli.App) *cobra.Command {
	s := &broker.Suite{Log: broker.Log{Events: 40_000_000, Zipf: loadgen.Even, Active: 10_000}}
	c := figures{a, s}.command("growth", "Measure the throughput with 10 thousand, 1 million and 10 million campaigns in the store",
		func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
			return s.Growth(ctx, e)
		})
	c.Long = "Measure the throughput of the spend counter with 10 thousand, 1 million and 10 million campaigns in\n" +
		"the store. The first quarter of each log creates the campaigns, the second quarter is not timed,\n" +
		"and the second half is timed. The timed events are of --active campaigns, the same for all sizes,\n" +
		"so that only the size of the state differs. With --active 0 they are of all campaigns; then a\n" +
		"transaction also writes more rows."
	c.Flags().IntVar(&s.Log.Active, "active", s.Log.Active, "number of campaigns that have timed events; 0: all")
	return c
}

// newBenchDatacentresCmd returns `weir bench datacentres`.
func newBenchDatacentresCmd(a *cli.App) *cobra.Command {
	s := &broker.Suite{Log: broker.Log{Events: 20_000_000, Campaigns: 100_000, Zipf: loadgen.Even}}
	c := figures{a, s}.command("datacentres", "Measure the throughput with the events of one datacentre, and of four",
		func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
			return s.Datacentres(ctx, e)
		})
	c.Long = "Measure the throughput of the spend counter with the events of one datacentre, and with as many\n" +
		"events of four: a quarter of them are its own, and the others are copies as the mirror writes them.\n" +
		"Each campaign has events in all datacentres, so that its sums have four parts."
	c.Flags().IntVar(&s.Log.Campaigns, "campaigns", s.Log.Campaigns, "number of campaigns")
	return c
}

// newBenchScaleCmd returns `weir bench scale`.
func newBenchScaleCmd(a *cli.App) *cobra.Command {
	s := &broker.Suite{Log: broker.Log{Events: 20_000_000, Campaigns: 100_000, Zipf: loadgen.Even}}
	return figures{a, s}.command("scale", "Measure the throughput with 1, 2 and 4 processes on this machine",
		func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
			return s.Scale(ctx, e)
		})
}
