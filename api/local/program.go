package local

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/buildinfo"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/stream"
)

// ProgramConfig configures a Program. Only Processors has no default.
type ProgramConfig struct {
	// Processors configures the runtime of each processor. Each keeps its state in a directory of
	// its own below Dir. NewProgram sets Endpoint and Metrics.
	Processors processors.Config
	// Listen, OpsListen, TLS and Token are those of api.Config.
	Listen, OpsListen string
	TLS               *tls.Config
	Token             string
	// Roots are the certificate authorities of the other processes. Defaults to the system's.
	Roots *x509.CertPool
	// Advertise is the address of the API for other processes, host:port. Defaults to the address
	// on which the API listens.
	Advertise string
}

// Program runs processors and serves the API over them: state, partitions, savepoints, readiness
// and metrics, for the commands of weir and for Prometheus. Processes of the program share the
// partitions, and each answers for all.
type Program struct {
	server    *api.Server
	registry  *obs.Registry
	advertise string
	runtimes  []*processors.Runtime
	apps      []api.App
}

// NewProgram makes a program of processors. It starts nothing.
func NewProgram(cfg ProgramConfig, list ...stream.Processor) (*Program, error) {
	version := buildinfo.Read().Version
	p := &Program{registry: obs.NewRegistry(version), advertise: cfg.Advertise}
	metrics := processors.NewMetrics(p.registry)
	for _, proc := range list {
		c := cfg.Processors
		c.Metrics = metrics
		rt, err := processors.New(c, proc)
		if err != nil {
			return nil, err
		}
		if err := p.registry.Register(rt.Collector()); err != nil {
			return nil, err
		}
		p.runtimes = append(p.runtimes, rt)
		p.apps = append(p.apps, NewApp(AppConfig{Runtime: rt, Kafka: c.Kafka, TLS: cfg.TLS != nil, Roots: cfg.Roots}))
	}
	serve := api.Config{
		Listen: cfg.Listen, OpsListen: cfg.OpsListen, TLS: cfg.TLS, Token: cfg.Token, Registry: p.registry, Ready: p.ready,
		Cluster: &ClusterInfo{Kafka: cfg.Processors.Kafka, Version: version}, Apps: p.apps, Find: Find(cfg.Processors.Kafka),
	}
	if cfg.Processors.Log != nil {
		serve.Logger = *cfg.Processors.Log
	}
	if host, _, err := net.SplitHostPort(cfg.Advertise); err == nil {
		serve.AllowedHosts = []string{host} // other processes send this name in the Host header
	}
	var err error
	p.server, err = api.New(serve)
	return p, err
}

// Server is the API of the program, with its addresses.
func (p *Program) Server() *api.Server { return p.server }

// Metrics registers metrics of the program, which /metrics serves beside those of the runtime.
func (p *Program) Metrics() prometheus.Registerer { return p.registry.Registry }

// Run runs the processors and serves the API until ctx ends, or until one of them fails. It returns
// after all of them.
func (p *Program) Run(ctx context.Context) error {
	for _, app := range p.apps {
		defer app.State.Close()
	}
	// Other processes learn the address when a runtime joins its group, so the address comes first.
	if err := p.server.Listen(ctx); err != nil {
		return err
	}
	if p.advertise == "" {
		p.advertise = p.server.Addr()
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, rt := range p.runtimes {
		rt.Advertise(p.advertise)
		g.Go(func() error { return rt.Run(ctx) })
	}
	g.Go(func() error { return p.server.Run(ctx) })
	return g.Wait()
}

// ready is api.Config.Ready.
func (p *Program) ready(context.Context) api.Readiness {
	var parts []Readiness
	for _, rt := range p.runtimes {
		parts = append(parts, RuntimeReadiness(rt))
	}
	return ProcessReadiness(parts)
}
