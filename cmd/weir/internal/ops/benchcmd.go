package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/loadgen"
	"github.com/weirhq/weir/processors/kafka"
)

// newBenchEnv is where the configuration has the benchmarks run.
func newBenchEnv(a *cli.App) (*broker.Env, error) {
	cfg, k, err := connect.Cluster(a)
	if err != nil {
		return nil, err
	}
	debug.SetGCPercent(node.GCPercent)
	return &broker.Env{
		Kafka: k, Memory: int64(cfg.Memory), Runtime: node.BenchConfig, Notef: a.Notef,
		Process: func(flags ...string) (*exec.Cmd, error) { return benchProcess(a, k, flags) },
	}, nil
}

// benchProcess is `weir bench process` with the flags, for the same brokers and with the same configuration file.
func benchProcess(a *cli.App, k kafka.Cluster, flags []string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	args := append([]string{"bench", "process", "--brokers", strings.Join(k.Brokers, ",")}, flags...)
	if a.ConfigFile != "" {
		args = append(args, "-f", a.ConfigFile)
	}
	cmd := exec.Command(exe, args...) //nolint:noctx // it is killed by name, and at the end by stop
	cmd.Stderr, cmd.Env = a.Stderr, a.Environ
	return cmd, nil
}

// figures are benchmarks that print figures.
type figures struct {
	a *cli.App
	s *broker.Suite
}

// command is one of the benchmarks.
func (b figures) command(use, short string, run func(context.Context, *broker.Env) ([]broker.Figure, error)) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := newBenchEnv(b.a)
			if err != nil {
				return err
			}
			rows, err := run(cmd.Context(), e)
			if err != nil {
				return cli.Fail(0, "the benchmark did not end", err, "it needs brokers with transactions, see `weir doctor`")
			}
			return cli.PrintRows(b.a, rows)
		},
	}
	c.Flags().Int64Var(&b.s.Log.Events, "events", b.s.Log.Events, "events in the log")
	c.Flags().Float64Var(&b.s.Log.Zipf, "zipf", b.s.Log.Zipf, "Zipf exponent of the campaigns; -1 is evenly")
	c.Flags().IntVar(&b.s.Rounds, "rounds", 3, "rounds")
	return c
}

// newBenchProcessCmd is one process of a crew. It is not for people.
func newBenchProcessCmd(a *cli.App) *cobra.Command {
	var m broker.Member
	var memory int64
	c := &cobra.Command{
		Use: "process", Hidden: true, Short: "Is one process of a benchmark", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := newBenchEnv(a)
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
	f.StringVar(&m.DLQ, "dlq", "", "dead-letter queue")
	f.StringVar(&m.Dir, "dir", "", "directory of the state")
	f.StringVar(&m.Instance, "instance", "", "name among the processes")
	f.IntVar(&m.Standbys, "standbys", 0, "processes that keep a partition warm")
	f.Int64Var(&memory, "memory", 0, "bytes")
	return c
}

func newBenchCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measures weir on your brokers"}
	c.AddCommand(newBenchSpendCmd(a), newBenchRestoreCmd(a), newBenchGrowthCmd(a), newBenchScaleCmd(a), newBenchRestartCmd(a), newBenchLatencyCmd(a), newBenchAllCmd(a), newBenchProcessCmd(a))
	return c
}

func newBenchSpendCmd(a *cli.App) *cobra.Command {
	var b broker.SpendBench
	c := &cobra.Command{
		Use:   "spend",
		Short: "Counts a log of events exactly once, and reads the same log with a bare consumer, in turn",
		Long: "Fills a topic (kept for the next run), then in turns reads it with a bare read_committed group consumer and counts\n" +
			"it exactly once into a fresh store. The first quarter of each run is not timed. Prints medians; the ratio is taken\n" +
			"round by round. The topics begin with weir.bench.",
		Example: "  weir bench spend --brokers 127.0.0.1:9092 --rounds 3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := newBenchEnv(a)
			if err != nil {
				return err
			}
			var rows []broker.SpendRow
			for _, zipf := range b.Spread() {
				row, err := b.Run(cmd.Context(), e, zipf)
				if err != nil {
					return cli.Fail(0, "the benchmark did not end", err, "it needs brokers with transactions, see `weir doctor`")
				}
				rows = append(rows, row)
			}
			return cli.PrintRows(a, rows)
		},
	}
	f := c.Flags()
	f.Int64Var(&b.Events, "events", 20_000_000, "events in the log")
	f.IntVar(&b.Campaigns, "campaigns", 100_000, "campaigns")
	f.IntVar(&b.Rounds, "rounds", 3, "rounds of both readers")
	f.Float64Var(&b.Zipf, "zipf", 0, "Zipf exponent of the campaigns; -1 is evenly (default: both evenly and 1.1)")
	f.DurationVar(&b.CommitInterval, "commit-interval", 100*time.Millisecond, "time between commits when caught up")
	f.DurationVar(&b.CommitIntervalMax, "commit-interval-max", time.Second, "time between commits when behind")
	f.StringVar(&b.Profile, "cpu-profile", "", "file for a CPU profile of the counting, for go tool pprof; the last round's stays")
	f.IntVar(&b.Workers, "workers", 0, "sessions (default: as many as cores, at least 4)")
	return c
}

// newBenchAllCmd is the whole table. What it takes on two cores is an hour.
func newBenchAllCmd(a *cli.App) *cobra.Command {
	s := &broker.Suite{Log: broker.Log{Events: 20_000_000, Campaigns: 100_000}}
	var keys int64
	c := figures{a, s}.command("all", "Prints one table of everything that can be measured here", func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
		rows, err := s.All(ctx, e, keys)
		if err != nil {
			return nil, errors.Join(err, cli.PrintRows(a, rows))
		}
		return rows, nil
	})
	c.Flags().Int64Var(&keys, "keys", 10_000_000, "keys on the disk of a process that is restarted; a fifth of them is rebuilt from an empty disk")
	return c
}

func newBenchLatencyCmd(a *cli.App) *cobra.Command {
	b := &broker.LatencyBench{}
	s := &broker.Suite{Log: broker.Log{Campaigns: 100_000, Zipf: 1.1}}
	c := figures{a, s}.command("latency", "Times events from their production until a query sees them, under load", func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
		return b.Rows(ctx, e, s.Rounds)
	})
	c.Flags().DurationVar(&b.Capacity, "capacity", 8*time.Second, "how long producer and counter run flat out, to know what they sustain")
	c.Flags().DurationVar(&b.Measure, "measure", 15*time.Second, "how long to measure")
	c.Flags().Float64Var(&b.Share, "share", 0.7, "of that, the load under which to measure")
	_ = c.Flags().MarkHidden("events")
	return c
}

// newBenchRestartCmd: how long is a partition away?
func newBenchRestartCmd(a *cli.App) *cobra.Command {
	s := &broker.Suite{Log: broker.Log{Zipf: loadgen.Even}}
	var keys int64
	c := figures{a, s}.command("restart", "Kills processes with kill -9 under load and times how long their partitions are away", func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
		return s.Downtime(ctx, e, keys)
	})
	c.Flags().Int64Var(&keys, "keys", 10_000_000, "keys on the disk of the process that is restarted")
	_ = c.Flags().MarkHidden("events")
	return c
}

func newBenchRestoreCmd(a *cli.App) *cobra.Command {
	b, s := &broker.RestoreBench{}, &broker.Suite{}
	c := figures{a, s}.command("restore", "Rebuilds state from a changelog on an empty disk", func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
		b.Rounds = s.Rounds
		return b.Rows(ctx, e)
	})
	c.Long = "Fills a changelog (kept for the next run) with keys of 16 bytes and values of 100, then rebuilds it into a fresh store.\n" +
		"Timed from the start of the processor until its last partition could fold. The topics begin with weir.bench."
	c.Flags().Int64Var(&b.Keys, "keys", 1_000_000, "keys in the changelog")
	c.Flags().StringVar(&b.Profile, "cpu-profile", "", "file for a CPU profile, for go tool pprof; the last round's stays")
	_, _ = c.Flags().MarkHidden("events"), c.Flags().MarkHidden("zipf")
	return c
}

// newBenchGrowthCmd: what does state cost?
func newBenchGrowthCmd(a *cli.App) *cobra.Command {
	s := &broker.Suite{Log: broker.Log{Events: 40_000_000, Zipf: loadgen.Even, Active: 10_000}}
	c := figures{a, s}.command("growth", "Counts the same events on top of 10 thousand, 1 and 10 million campaigns", func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
		return s.Growth(ctx, e)
	})
	c.Long = "The first quarter of each log makes the state, while the second the store comes to rest, the second half is timed. All but the\n" +
		"first quarters are of the same campaigns, so that nothing but the size of the state differs; with --active 0 they are of as\n" +
		"many as the first: then a transaction also has more rows to write."
	c.Flags().IntVar(&s.Log.Active, "active", s.Log.Active, "campaigns that the timed events are of; 0: all")
	return c
}

// newBenchScaleCmd: what do more processes cost?
func newBenchScaleCmd(a *cli.App) *cobra.Command {
	s := &broker.Suite{Log: broker.Log{Events: 20_000_000, Campaigns: 100_000, Zipf: loadgen.Even}}
	return figures{a, s}.command("scale", "Counts one log with 1, 2 and 4 processes on this machine", func(ctx context.Context, e *broker.Env) ([]broker.Figure, error) {
		return s.Scale(ctx, e)
	})
}
