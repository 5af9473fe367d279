package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/processors"
)

// newBenchEnv is where the configuration has the benchmarks run.
func newBenchEnv(a *app) (*benchEnv, error) {
	cfg, k, err := cluster(a)
	if err != nil {
		return nil, err
	}
	debug.SetGCPercent(gcPercent)
	return &benchEnv{
		kafka: k, memory: int64(cfg.Memory), runtime: benchConfig, notef: a.say,
		process: func(flags ...string) (*exec.Cmd, error) { return benchProcess(a, k, flags) },
	}, nil
}

// benchProcess is `weir bench process` with the flags, for the same brokers and with the same configuration file.
func benchProcess(a *app, k processors.Kafka, flags []string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	args := append([]string{"bench", "process", "--brokers", strings.Join(k.Brokers, ",")}, flags...)
	if a.configFile != "" {
		args = append(args, "-f", a.configFile)
	}
	cmd := exec.Command(exe, args...) //nolint:noctx // it is killed by name, and at the end by stop
	cmd.Stderr, cmd.Env = a.stderr, a.environ
	return cmd, nil
}

// figures are benchmarks that print figures.
type figures struct {
	a *app
	s *several
}

// command is one of the benchmarks.
func (b figures) command(use, short string, run func(context.Context, *benchEnv) ([]figure, error)) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := newBenchEnv(b.a)
			if err != nil {
				return err
			}
			rows, err := run(cmd.Context(), e)
			if err != nil {
				return fail(0, "the benchmark did not end", err, "it needs brokers with transactions, see `weir doctor`")
			}
			return printRows(b.a, rows)
		},
	}
	c.Flags().Int64Var(&b.s.log.events, "events", b.s.log.events, "events in the log")
	c.Flags().Float64Var(&b.s.log.zipf, "zipf", b.s.log.zipf, "Zipf exponent of the campaigns; -1 is evenly")
	c.Flags().IntVar(&b.s.rounds, "rounds", 3, "rounds")
	return c
}

// newBenchProcessCmd is one process of a crew. It is not for people.
func newBenchProcessCmd(a *app) *cobra.Command {
	var m benchMember
	var memory int64
	c := &cobra.Command{
		Use: "process", Hidden: true, Short: "Is one process of a benchmark", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := newBenchEnv(a)
			if err != nil {
				return err
			}
			return m.run(cmd.Context(), e.with(memory))
		},
	}
	f := c.Flags()
	f.StringVar(&m.log, "log", "", "topic of the events")
	f.StringVar(&m.app, "app", "", "application id")
	f.StringVar(&m.changelog, "changelog", "", "changelog")
	f.StringVar(&m.dlq, "dlq", "", "dead-letter queue")
	f.StringVar(&m.dir, "dir", "", "directory of the state")
	f.StringVar(&m.instance, "instance", "", "name among the processes")
	f.IntVar(&m.standbys, "standbys", 0, "processes that keep a partition warm")
	f.Int64Var(&memory, "memory", 0, "bytes")
	return c
}
