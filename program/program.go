package program

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/internal/buildinfo"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/internal/slogger"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// Program runs processors and serves the API over them: state, partitions, savepoints, readiness
// and metrics, for the commands of weir and for Prometheus. Processes of the program share the
// partitions, and each answers for all.
type Program struct {
	cfg      Config
	server   *api.Server // nil without HTTP
	registry *obs.Registry
	log      *zerolog.Logger
	list     []stream.Processor
	runtimes []*processors.Runtime
	apps     []api.App
}

// New checks the configuration and the processors, and makes a program of them. It starts nothing
// and asks no broker. The error is processors.ErrConfig, with the processor and what to change.
func New(cfg Config, list ...stream.Processor) (*Program, error) {
	if err := checkList(list); err != nil {
		return nil, err
	}
	if err := cfg.checkAddresses(); err != nil {
		return nil, err
	}
	cfg.setDefaults(len(list))
	topics, err := kafkaadmin.DescribeTopics(list, cfg.Topics)
	if err != nil {
		return nil, err
	}
	if cfg.Runtime.Topics == nil {
		cfg.Runtime.Topics = topics
	}
	version := buildinfo.Read().Version
	p := &Program{cfg: cfg, list: list, log: slogger.Choose(cfg.Runtime.Log, cfg.Runtime.Slog), registry: obs.NewRegistry(version)}
	metrics := processors.NewMetrics(p.registry)
	for _, proc := range list {
		c := cfg.Runtime
		c.Metrics = metrics
		rt, err := processors.New(c, proc)
		if err != nil {
			return nil, err
		}
		if err := p.registry.Register(rt.Collector()); err != nil {
			return nil, err
		}
		p.runtimes = append(p.runtimes, rt)
		p.apps = append(p.apps, local.NewApp(local.AppConfig{Runtime: rt, Kafka: c.Kafka, TLS: cfg.TLS != nil, Roots: cfg.Roots}))
	}
	if cfg.OpsListen == "" { // without Listen, too
		return p, nil
	}
	serve := api.Config{
		Log: p.log, Listen: cfg.Listen, OpsListen: cfg.OpsListen, OpsOnly: cfg.Listen == "", TLS: cfg.TLS, Token: cfg.Token,
		Registry: p.registry, Ready: p.ready,
		Cluster: &local.ClusterInfo{Kafka: cfg.Runtime.Kafka, Version: version}, Apps: p.apps, Queries: cfg.Queries,
		Find: local.Find(cfg.Runtime.Kafka),
	}
	if host, _, err := net.SplitHostPort(cfg.Advertise); err == nil {
		serve.AllowedHosts = []string{host} // other processes send this name in the Host header
	}
	if p.server, err = api.New(serve); err != nil {
		return nil, fmt.Errorf("%w: %w", processors.ErrConfig, err)
	}
	return p, nil
}

// Server is the API of the program, with its addresses; nil without Config.Listen and OpsListen.
func (p *Program) Server() *api.Server { return p.server }

// Metrics is the registry of the program, which /metrics serves. It has the metrics of the
// processors, and takes metrics of your own.
func (p *Program) Metrics() *prometheus.Registry { return p.registry.Registry }

// Runtime returns the runtime of a processor, for queries and status; nil for an unknown app.
func (p *Program) Runtime(app string) *processors.Runtime {
	for _, rt := range p.runtimes {
		if rt.App() == app {
			return rt
		}
	}
	return nil
}

// Run creates the topics that are missing, runs the processors and serves the API until ctx ends.
// Then all of them commit what is folded and leave their groups, and Run returns nil. The first
// error of one ends all; it names the processor. Run can be called once.
func (p *Program) Run(ctx context.Context) error {
	for _, app := range p.apps {
		defer app.State.Close()
	}
	if err := p.prepareTopics(ctx); err != nil {
		if ctx.Err() != nil && !errors.Is(err, processors.ErrTopics) && !errors.Is(err, processors.ErrConfig) {
			return nil // stopped during its start: the error is one of the request that was cut
		}
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	if p.server != nil {
		// Other processes learn the address when a runtime joins its group, so the address comes
		// first.
		if err := p.server.Listen(ctx); err != nil {
			return err
		}
		g.Go(func() error { return p.server.Run(ctx) })
	}
	for _, rt := range p.runtimes {
		if p.cfg.Listen != "" {
			rt.Advertise(p.endpoint())
		}
		g.Go(func() error {
			if err := rt.Run(ctx); err != nil {
				return fmt.Errorf("processor %s: %w", rt.App(), err)
			}
			return nil
		})
	}
	return g.Wait()
}

// endpoint returns the address of the API for other processes.
func (p *Program) endpoint() string {
	if p.cfg.Advertise != "" {
		return p.cfg.Advertise
	}
	return p.server.Addr()
}

// Run makes a program of processors and runs it until ctx ends, or until one of them fails.
func Run(ctx context.Context, cfg Config, list ...stream.Processor) error {
	p, err := New(cfg, list...)
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// ready is api.Config.Ready.
func (p *Program) ready(context.Context) api.Readiness {
	var parts []local.Readiness
	for _, rt := range p.runtimes {
		parts = append(parts, local.RuntimeReadiness(rt))
	}
	return local.ProcessReadiness(parts)
}
