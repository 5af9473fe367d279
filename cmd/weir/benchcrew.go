package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/stream"
)

// crew is one application of several processes, as a benchmark starts and kills them.
type crew struct {
	env    *benchEnv
	log    string // topic of the events
	proc   stream.Processor
	dir    string
	group  *broker.Group
	kids   map[int]*exec.Cmd
	forget func() error
}

func newCrew(ctx context.Context, e *benchEnv, log string) (c *crew, err error) {
	c = &crew{env: e, log: log, kids: map[int]*exec.Cmd{}}
	if c.proc, err = benchCounter(log, e.memory); err != nil {
		return nil, err
	}
	if c.forget, err = broker.Isolate(ctx, e.kafka, &c.proc); err != nil {
		return nil, err
	}
	if c.group, err = broker.WatchGroup(e.kafka, c.proc.App, log); err != nil {
		return nil, errors.Join(err, c.forget())
	}
	c.dir, err = os.MkdirTemp("", "weir-bench")
	return c, err
}

// start starts process n; its disk is what its last life left.
func (c *crew) start(n, standbys int) error {
	cmd, err := c.env.process(
		"--log", c.log, "--app", c.proc.App, "--changelog", c.proc.Changelog, "--dlq", c.proc.DLQ,
		"--dir", filepath.Join(c.dir, strconv.Itoa(n)), "--instance", strconv.Itoa(n), "--standbys", strconv.Itoa(standbys),
		"--memory", strconv.FormatInt(c.env.memory, 10),
	)
	if err != nil {
		return err
	}
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

// benchMember is one process of a crew.
type benchMember struct {
	log, app, changelog, dlq string // topics and the application id
	dir, instance            string
	standbys                 int
}

// run counts until ctx ends.
func (m *benchMember) run(ctx context.Context, e *benchEnv) error {
	proc, err := benchCounter(m.log, e.memory)
	if err != nil {
		return err
	}
	proc.App, proc.Changelog, proc.DLQ = m.app, m.changelog, m.dlq
	cfg := e.config()
	cfg.Dir, cfg.Instance, cfg.Standbys = m.dir, m.instance, m.standbys
	rt, err := processors.New(cfg, proc)
	if err != nil {
		return err
	}
	return rt.Run(ctx)
}
