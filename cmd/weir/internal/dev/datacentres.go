package dev

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
)

// datacentres is a run of `weir dev --dcs`: each datacentre has a dev broker, and a node with all
// roles of ad spend. They are connected by a network that can be cut.
//
//	load ─▶ dev broker of eu ◀─▶ node eu ──┐           node us ◀─▶ dev broker of us ◀─ load
//	               ▲                       └─ network ─┘                  ▲
//	               └──────────────── mirror and push of us, of eu ────────┘
type datacentres struct {
	*dev
	list    []*datacentre
	network *network
	faults  []dcFault
}

// datacentre is one of them.
type datacentre struct {
	name   string
	cfg    *config.Config
	broker *devbroker.Broker
	node   *node.Node
}

// Settings of a datacentre that the user did not set.
const (
	dcPartitions = 4        // of each topic: a datacentre has twenty topics
	dcTopicBytes = 64 << 20 // of each topic, from which on the broker deletes records
)

// checkDatacentres reads --dcs and its faults.
func (d *dev) checkDatacentres() (*datacentres, error) {
	c := &datacentres{dev: d, network: newNetwork(d.latency)}
	for n, name := range d.dcs {
		if err := events.ValidateDC(name); err != nil {
			return nil, cli.UsageError("--dcs: "+err.Error(), "write names such as eu,us,ap")
		}
		if slices.Contains(d.dcs[:n], name) {
			return nil, cli.UsageError(fmt.Sprintf("--dcs names %s twice", name), "name each datacentre once")
		}
	}
	if len(d.dcs) < 2 {
		return nil, cli.UsageError("--dcs names one datacentre only", "name two or more, such as eu,us,ap, or leave --dcs out")
	}
	for _, text := range d.fault {
		f, err := parseDCFault(text, d.dcs)
		if err != nil {
			return nil, err
		}
		c.faults = append(c.faults, f)
	}
	return c, nil
}

// runDatacentres runs all datacentres until ctx ends.
func (c *datacentres) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.startBrokers(ctx); err != nil {
		return err
	}
	roles := node.InGroups("spend")
	var beside int64
	for n, one := range c.list {
		one.node, err = node.New(one.cfg, node.Config{
			Kafka: kafka.Cluster{Brokers: one.broker.Addrs()}, Log: c.log.With().Str("dc", one.name).Logger(), Roles: roles,
			Dial: c.network.dialer(one.name),
		})
		if err != nil {
			return connect.NodeFailure(err)
		}
		budget := node.NewBudget(one.cfg, roles)
		beside += budget.Outside() + one.broker.MaxBytes()
		if n == len(c.list)-1 {
			budget.LimitHeap(beside + int64(n)*budget.HeapLimit())
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	var ready sync.WaitGroup
	for _, one := range c.list {
		ready.Add(1)
		g.Go(func() error { return connect.NodeFailure(one.node.Run(ctx, ready.Done)) })
	}
	g.Go(func() error {
		all := make(chan struct{})
		go func() { ready.Wait(); close(all) }()
		select {
		case <-all:
		case <-ctx.Done():
			return nil
		}
		return c.work(ctx)
	})
	var full error
	for _, one := range c.list {
		full = errors.Join(full, one.broker.DiskFull())
	}
	return diskFailure(g.Wait(), full)
}

// startBrokers starts the broker of each datacentre, and sets its configuration.
func (c *datacentres) startBrokers(ctx context.Context) error {
	var ring []config.DC
	for _, name := range c.dcs {
		ring = append(ring, config.DC{Name: name, Brokers: []string{"127.0.0.1:1"}})
	}
	for n, name := range c.dcs {
		one := &datacentre{name: name, cfg: c.configOf(n, ring)}
		b := devbroker.Config{Topics: node.Topics(one.cfg, node.InGroups("spend")), Log: &c.log, TopicBytes: dcTopicBytes}
		if c.keep {
			b.DataDir = filepath.Join(one.cfg.DataDir, "kafka")
		}
		if n == 0 {
			b.Port = c.port
		}
		var err error
		//nolint:contextcheck // the broker runs until Close, after everything that uses it has ended
		if one.broker, err = devbroker.Start(b); err != nil {
			return brokerFailure(err)
		}
		c.list = append(c.list, one)
		ring[n].Brokers = one.broker.Addrs()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // a stop is not a failure
		}
	}
	for _, one := range c.list { // with the addresses
		one.cfg.DCs, one.cfg.Kafka.Brokers = slices.Clone(ring), one.broker.Addrs()
	}
	return nil
}

// configOf returns the configuration of a datacentre: that of the user, with a part of the memory.
func (c *datacentres) configOf(n int, ring []config.DC) *config.Config {
	cfg := *c.cfg
	cfg.DC, cfg.DCs, cfg.DataDir = ring[n].Name, slices.Clone(ring), filepath.Join(c.cfg.DataDir, ring[n].Name)
	cfg.Memory = max(cfg.Memory/config.Bytes(len(ring)), 128<<20)
	cfg.Processor.Workers = 1
	if set := slices.IndexFunc(cfg.Entries(), func(e config.Entry) bool {
		return e.Key == "spend.partitions" && e.Origin != config.OriginDefault
	}); set < 0 {
		cfg.Spend.Partitions = dcPartitions
	}
	if n > 0 {
		cfg.API.Listen, cfg.API.OpsListen, cfg.API.Advertise = "127.0.0.1:0", "127.0.0.1:0", ""
	}
	return &cfg
}

func (c *datacentres) close() (err error) {
	for _, one := range c.list {
		err = errors.Join(err, one.broker.Close())
	}
	return err
}

// work prints the addresses, and produces load, injects faults and reports until ctx ends.
func (c *datacentres) work(ctx context.Context) error {
	c.printReady()
	g, ctx := errgroup.WithContext(ctx)
	for n, one := range c.list {
		g.Go(func() error {
			k := kafka.Cluster{Brokers: one.broker.Addrs()}
			k.WithDialer(c.network.dialer(one.name)("load", one.name))
			rate := c.rate / int64(len(c.list))
			if c.noLoad {
				rate = 0
			}
			return c.serveAds(ctx, k, one.node, eventLoad{layout: node.SpendCounter(one.cfg).Layout, rate: rate, number: n, dc: one.name})
		})
		for _, r := range newChoiceReporters(one, c.print) {
			g.Go(func() error { r.run(ctx); return nil })
		}
	}
	for i := range c.faults {
		g.Go(func() error { c.faults[i].inject(ctx, c.network, c.print); return nil })
	}
	return g.Wait()
}

// printReady prints the addresses and commands to try.
func (c *datacentres) printReady() {
	c.print("ready in %d ms: %d datacentres, %s", time.Since(c.started).Milliseconds(), len(c.list), strings.Join(c.dcs, ", "))
	for _, one := range c.list {
		c.print("datacentre %s: API %s://%s, Kafka %s", one.name, one.node.Server.Scheme(), one.node.Server.Addr(), one.broker.Addrs()[0])
	}
	if c.keep {
		c.print("  data   %s", c.cfg.DataDir)
	} else {
		c.print("  data   temporary, removed at the end; --data-dir DIR keeps it")
	}
	server := c.list[len(c.list)-1].node.Server.Addr()
	c.print("  try    weir spend datasets --server %s", server)
	c.print("         weir spend show --campaign %s --server %s", c.example(), server)
	if !c.noLoad {
		c.print("         weir pacing show %s --server %s", pacedExample(), server)
	}
	c.print("         weir mirror status --server %s", server)
	c.print("         weir push status --server %s", server)
}
