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

// processGroup is one application of several processes, as a benchmark starts and kills them.
type processGroup struct {
	env    *Env
	log    string // topic of the events
	proc   stream.Processor
	dir    string
	group  *Group
	kids   map[int]*exec.Cmd
	forget func() error
}

func newProcessGroup(ctx context.Context, e *Env, log string) (c *processGroup, err error) {
	c = &processGroup{env: e, log: log, kids: map[int]*exec.Cmd{}}
	if c.proc, err = benchCounter(log, e.Memory); err != nil {
		return nil, err
	}
	if c.forget, err = Isolate(ctx, e.Kafka, &c.proc); err != nil {
		return nil, err
	}
	if c.group, err = WatchGroup(e.Kafka, c.proc.App, log); err != nil {
		return nil, errors.Join(err, c.forget())
	}
	c.dir, err = os.MkdirTemp("", "weir-bench")
	return c, err
}

// start starts process n; its disk is what its last life left.
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
	c.kids[n] = cmd
	return nil
}

// kill is kill -9.
func (c *processGroup) kill(n int) error {
	cmd := c.kids[n]
	delete(c.kids, n)
	err := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return err
}

// stop ends all and removes what they left.
func (c *processGroup) stop() (err error) {
	for n := range c.kids {
		err = errors.Join(err, c.kill(n))
	}
	c.group.Close()
	return errors.Join(err, c.forget(), os.RemoveAll(c.dir))
}

// Member is one process of a crew.
type Member struct {
	Log, App, Changelog, DLQ string // topics and the application id
	Dir, Instance            string
	Standbys                 int
}

// Run counts until ctx ends.
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
