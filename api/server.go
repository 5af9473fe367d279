package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/internal/obs"
)

// What one request may take. They are the same for everyone, so they are no configuration.
const (
	maxBodyBytes   = 1 << 20 // after decompression
	maxHeaderBytes = 32 << 10
	headerTimeout  = 5 * time.Second // from the first byte, or from the connection's begin
	readTimeout    = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	pingAfter      = 30 * time.Second // of silence on HTTP/2; no answer within pingTimeout: closed
	pingTimeout    = 15 * time.Second
	opsWriteLimit  = 2 * time.Minute // a CPU profile takes 30 s unless told otherwise
	maxStreams     = 128             // per HTTP/2 connection
	maxOpsRequests = 32
)

// Server is the data listener and the ops listener of one process.
type Server struct {
	cfg         Config
	log         zerolog.Logger
	metrics     *metrics
	spend       *spendService
	cluster     *clusterService
	dataLimiter *inflightLimiter
	opsLimiter  *inflightLimiter
	ready       chan struct{}
	stopping    atomic.Bool
	started     atomic.Bool

	mu            sync.Mutex
	data, ops     net.Listener // open, from Listen to Run
	addr, opsAddr string
}

// New checks cfg and starts nothing. Its errors name the configuration key to set.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Registry)
	if err != nil {
		return nil, err
	}
	return &Server{
		cfg:         cfg,
		log:         cfg.Logger,
		metrics:     m,
		spend:       &spendService{spend: cfg.Spend, cluster: cfg.Cluster, waitLimit: cfg.WaitLimit},
		cluster:     &clusterService{source: cfg.Cluster, router: cfg.State, savepoints: cfg.Savepoints, log: cfg.Logger},
		dataLimiter: newInflightLimiter(cfg.MaxRequests),
		opsLimiter:  newInflightLimiter(maxOpsRequests),
		ready:       make(chan struct{}),
	}, nil
}

// Ready is closed once both listeners accept. It stays open if Run fails before that: wait for Run's error too.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Scheme is what both listeners speak: http, or https with TLS.
func (s *Server) Scheme() string {
	if s.cfg.TLS != nil {
		return "https"
	}
	return "http"
}

// Addr is host:port of the data listener, with the port that ":0" became. Empty before Listen.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// OpsAddr is host:port of the ops listener. Empty before Listen.
func (s *Server) OpsAddr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opsAddr
}

// Listen takes the addresses, for those who need to know them before Run. Callers wait until Run serves them.
func (s *Server) Listen(ctx context.Context) error {
	data, err := listen(ctx, KeyListen, s.cfg.Listen)
	if err != nil {
		return err
	}
	ops, err := listen(ctx, KeyOpsListen, s.cfg.OpsListen)
	if err != nil {
		return errors.Join(err, data.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.ops, s.addr, s.opsAddr = data, ops, data.Addr().String(), ops.Addr().String()
	return nil
}

// Run listens, unless Listen did, and serves until ctx ends. Then it lets the requests that are under way finish for
// Config.ShutdownLimit, cuts the rest, and returns nil after its goroutines; an error if a listener could not be had or
// failed. It runs once.
func (s *Server) Run(ctx context.Context) error {
	if s.started.Swap(true) {
		return errors.New("api: Run was called twice: make a new Server")
	}
	if s.Addr() == "" {
		if err := s.Listen(ctx); err != nil {
			return err
		}
	}
	return s.serve(ctx)
}

// serve is Run with listeners that are open already.
func (s *Server) serve(ctx context.Context) error {
	// Requests outlive ctx: they get the grace period. These two cut them.
	background := context.WithoutCancel(ctx)
	dataCtx, cutData := context.WithCancel(background)
	defer cutData()
	opsCtx, cutOps := context.WithCancel(background)
	defer cutOps()

	dataSrv := s.httpServer(dataCtx, s.dataHandler(), s.cfg.WaitLimit+readTimeout)
	opsSrv := s.httpServer(opsCtx, s.opsHandler(), opsWriteLimit)
	failed := make(chan error, 2)
	go func() { failed <- s.serveOn(dataSrv, s.data, "data") }()
	go func() { failed <- s.serveOn(opsSrv, s.ops, "ops") }()
	close(s.ready)
	s.log.Info().Str("data", s.Addr()).Str("ops", s.OpsAddr()).Bool("tls", s.cfg.TLS != nil).Msg("api.serving")

	var errs []error
	running := 2
	select {
	case <-ctx.Done():
	case err := <-failed:
		errs, running = append(errs, err), 1
	}
	// /readyz says so first and the ops listener goes last: a load balancer and a person can follow the stop.
	s.stopping.Store(true)
	limit, cancel := context.WithTimeout(background, s.cfg.ShutdownLimit)
	defer cancel()
	errs = append(errs, s.stop(limit, listenerShutdown{dataSrv, s.dataLimiter, cutData, "data"}))
	cutOps() // a profile that is being taken must not hold up the stop
	errs = append(errs, s.stop(limit, listenerShutdown{opsSrv, s.opsLimiter, cutOps, "ops"}))
	for range running {
		errs = append(errs, <-failed)
	}
	err := errors.Join(errs...)
	s.log.Info().AnErr("error", err).Msg("api.stopped")
	return err
}

func (s *Server) serveOn(srv *http.Server, l net.Listener, name string) error {
	l = &limitListener{
		Listener: l,
		limit:    int64(s.cfg.MaxConns),
		conns:    s.metrics.conns.WithLabelValues(name),
		refused:  s.metrics.refused.WithLabelValues(name),
	}
	var err error
	if s.cfg.TLS != nil {
		err = srv.ServeTLS(l, "", "")
	} else {
		err = srv.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("api: the %s listener failed, so the server stops: %w", name, err)
}

func (s *Server) httpServer(base context.Context, h http.Handler, write time.Duration) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(s.cfg.TLS != nil)
	protocols.SetUnencryptedHTTP2(s.cfg.TLS == nil) // gRPC without TLS, on the same port
	srv := &http.Server{
		Handler:           h,
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxHeaderBytes:    maxHeaderBytes,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      write,
		IdleTimeout:       idleTimeout,
		ErrorLog:          obs.StdLogger(s.log, "api.http"),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	if s.cfg.TLS != nil {
		srv.TLSConfig = s.cfg.TLS.Clone() // net/http adds its protocols to it
	}
	return srv
}

func (s *Server) dataHandler() http.Handler {
	mux := http.NewServeMux()
	a := &access{log: s.log, metrics: s.metrics}
	opts := a.handlerOptions()
	if r := s.cfg.State; r != nil {
		opts = append(opts, connect.WithInterceptors(receive(r.info.Instance)))
		mux.Handle(weirpbconnect.NewStateServiceHandler(&stateService{router: r}, opts...))
	}
	if s.cfg.Spend != nil {
		mux.Handle(weirpbconnect.NewSpendServiceHandler(s.spend, opts...))
		mux.Handle(weirpbconnect.NewClusterServiceHandler(s.cluster, opts...))
		s.addIndex(mux)
	}
	a.next = s.guarded(s.dataLimiter, nil, sameOrigin(mux))
	return a
}

func (s *Server) opsHandler() http.Handler {
	return s.guarded(s.opsLimiter, []string{"/livez", "/readyz"}, sameOrigin(s.opsMux()))
}

func (s *Server) guarded(g *inflightLimiter, open []string, next http.Handler) http.Handler {
	hosts := make([]string, 0, len(s.cfg.AllowedHosts))
	for _, h := range s.cfg.AllowedHosts {
		hosts = append(hosts, strings.ToLower(h))
	}
	return &authHandler{limiter: g, token: s.cfg.Token, hosts: hosts, public: open, next: next}
}
