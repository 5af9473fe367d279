package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/stream"
)

// crew is one application of several processes, as a benchmark starts and kills them.
type crew struct {
	a      *app
	k      processors.Kafka
	log    string // topic of the events
	proc   stream.Processor
	memory int64
	dir    string
	group  *broker.Group
	kids   map[int]*exec.Cmd
	forget func() error
}

func newCrew(ctx context.Context, a *app, k processors.Kafka, log string, memory int64) (c *crew, err error) {
	c = &crew{a: a, k: k, log: log, memory: memory, kids: map[int]*exec.Cmd{}}
	if c.proc, err = benchCounter(log, memory); err != nil {
		return nil, err
	}
	if c.forget, err = broker.Isolate(ctx, k, &c.proc); err != nil {
		return nil, err
	}
	if c.group, err = broker.WatchGroup(k, c.proc.App, log); err != nil {
		return nil, errors.Join(err, c.forget())
	}
	c.dir, err = os.MkdirTemp("", "weir-bench")
	return c, err
}

// start starts process n; its disk is what its last life left.
func (c *crew) start(n, standbys int) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	args := []string{
		"bench", "process", "--brokers", strings.Join(c.k.Brokers, ","), "--log", c.log, "--app", c.proc.App, "--changelog", c.proc.Changelog,
		"--dlq", c.proc.DLQ, "--dir", filepath.Join(c.dir, strconv.Itoa(n)), "--instance", strconv.Itoa(n), "--standbys", strconv.Itoa(standbys),
		"--memory", strconv.FormatInt(c.memory, 10),
	}
	if c.a.configFile != "" {
		args = append(args, "-f", c.a.configFile)
	}
	cmd := exec.Command(exe, args...) //nolint:noctx // it is killed by name, and at the end by stop
	cmd.Stderr, cmd.Env = c.a.stderr, c.a.environ
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a process: %w", err)
	}
	c.kids[n] = cmd
	return nil
}

// kill is kill -9.
func (c *crew) kill(n int) error {
	cmd := c.kids[n]
	delete(c.kids, n)
	err := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return err
}

// stop ends all and removes what they left.
func (c *crew) stop() (err error) {
	for n := range c.kids {
		err = errors.Join(err, c.kill(n))
	}
	c.group.Close()
	return errors.Join(err, c.forget(), os.RemoveAll(c.dir))
}

// newBenchProcessCmd is one process of a crew. It is not for people.
func newBenchProcessCmd(a *app) *cobra.Command {
	var log, appID, changelog, dlq, dir, instance string
	var standbys int
	var memory int64
	c := &cobra.Command{
		Use: "process", Hidden: true, Short: "Is one process of a benchmark", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, k, err := cluster(a)
			if err != nil {
				return err
			}
			debug.SetGCPercent(gcPercent)
			proc, err := benchCounter(log, memory)
			if err != nil {
				return err
			}
			proc.App, proc.Changelog, proc.DLQ = appID, changelog, dlq
			cfg := benchConfig(k, memory)
			cfg.Dir, cfg.Instance, cfg.Standbys = dir, instance, standbys
			rt, err := processors.New(cfg, proc)
			if err != nil {
				return err
			}
			return rt.Run(cmd.Context())
		},
	}
	f := c.Flags()
	f.StringVar(&log, "log", "", "topic of the events")
	f.StringVar(&appID, "app", "", "application id")
	f.StringVar(&changelog, "changelog", "", "changelog")
	f.StringVar(&dlq, "dlq", "", "dead-letter queue")
	f.StringVar(&dir, "dir", "", "directory of the state")
	f.StringVar(&instance, "instance", "", "name among the processes")
	f.IntVar(&standbys, "standbys", 0, "processes that keep a partition warm")
	f.Int64Var(&memory, "memory", 0, "bytes")
	return c
}
