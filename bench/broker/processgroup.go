package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/stream"
)

// processGroup is the processes of one application that a benchmark starts and kills.
type processGroup struct {
	env     *Env
	log     string // topic of the events
	proc    stream.Processor
	dir     string
	group   *Group
	running map[int]*exec.Cmd
	topics  *runTopics
}

func newProcessGroup(ctx context.Context, e *Env, log string) (c *processGroup, err error) {
	c = &processGroup{env: e, log: log, running: map[int]*exec.Cmd{}}
	if c.proc, err = benchCounter(log, e.Memory); err != nil {
		return nil, err
	}
	if c.topics, err = isolate(ctx, e.Kafka, &c.proc); err != nil {
		return nil, err
	}
	if c.group, err = WatchGroup(e.Kafka, c.proc.App, log); err != nil {
		return nil, errors.Join(err, c.topics.remove(ctx))
	}
	c.dir, err = os.MkdirTemp("", "weir-bench")
	return c, err
}

// start starts process n on the disk of its previous run.
func (c *processGroup) start(n, standbys int) error {
	cmd, err := c.env.Process(
		"--log", c.log, "--app", c.proc.App, "--changelog", c.proc.Changelog, "--dlq", c.proc.DLQ,
		"--dir", filepath.Join(c.dir, strconv.Itoa(n)), "--instance", strconv.Itoa(n), "--standbys", strconv.Itoa(standbys),
		"--memory", strconv.FormatInt(c.env.Memory, 10),
	)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a process: %w", err)
	}
	c.running[n] = cmd
	return nil
}

// kill kills process n with kill -9.
func (c *processGroup) kill(n int) error {
	cmd := c.running[n]
	delete(c.running, n)
	err := cmd.Process.Kill()
	_ = cmd.Wait() // the error states that it was killed
	return err
}

// stop kills all processes and removes their topics and directories.
func (c *processGroup) stop(ctx context.Context) (err error) {
	for n := range c.running {
		err = errors.Join(err, c.kill(n))
	}
	c.group.Close()
	return errors.Join(err, c.topics.remove(ctx), os.RemoveAll(c.dir))
}

// Member is one process of a processGroup.
type Member struct {
	Log, App, Changelog, DLQ string // topics and the application id
	Dir, Instance            string
	Standbys                 int
}

// Run counts events until ctx ends.
func (m *Member) Run(ctx context.Context, e *Env) error {
	proc, err := benchCounter(m.Log, e.Memory)
	if err != nil {
		return err
	}
	proc.App, proc.Changelog, proc.DLQ = m.App, m.Changelog, m.DLQ
	cfg := e.config()
	cfg.Dir, cfg.Instance, cfg.Standbys = m.Dir, m.Instance, m.Standbys
	rt, err := processors.New(cfg, proc)
	if err != nil {
		return err
	}
	return rt.Run(ctx)
}
