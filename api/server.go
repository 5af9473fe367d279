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
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
)

// Bounds of one request. They are the same for every caller, so they are not in Config.
const (
	maxBodyBytes   = 1 << 20 // after decompression
	maxHeaderBytes = 32 << 10
	headerTimeout  = 5 * time.Second // from the first byte, or from the start of the connection
	readTimeout    = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	pingAfter      = 30 * time.Second // of silence on HTTP/2; without an answer within pingTimeout the connection is closed
	pingTimeout    = 15 * time.Second
	opsWriteLimit  = 2 * time.Minute // a CPU profile takes 30 s by default
	maxStreams     = 128             // per HTTP/2 connection
	maxOpsRequests = 32
)

// Server is the data listener and the ops listener of one process.
type Server struct {
	cfg         Config
	log         zerolog.Logger
	metrics     *metrics
	apps        *apps
	spend       *spendService
	cluster     *clusterService
	dataLimiter *inflightLimiter
	parking     *parking
	opsLimiter  *inflightLimiter
	ready       chan struct{}
	stopping    atomic.Bool
	started     atomic.Bool
	begun       time.Time
	samples     *samples
	deadLetters *deadLetters

	mu            sync.Mutex
	data, ops     net.Listener // open, from Listen to Run
	addr, opsAddr string
}

// New validates cfg and starts nothing. If a field has to change, the error is a *FieldError.
func New(cfg Config) (*Server, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Registry)
	if err != nil {
		return nil, err
	}
	all := newApps(&cfg)
	limiter := newInflightLimiter(cfg.MaxRequests)
	parking := newParking(&cfg, limiter, m)
	s := &Server{
		cfg:     cfg,
		apps:    all,
		log:     *cfg.Log,
		metrics: m,
		spend: &spendService{
			spend: cfg.Spend, adjustments: cfg.Adjustments, cache: cfg.SpendCache, cluster: cfg.Cluster, router: all.stateOf(cfg.SpendApp),
			waitLimit: cfg.WaitLimit, parking: parking,
		},
		cluster:     &clusterService{source: cfg.Cluster, apps: all, waiting: cfg.Waiting, log: *cfg.Log},
		dataLimiter: limiter,
		parking:     parking,
		opsLimiter:  newInflightLimiter(maxOpsRequests),
		ready:       make(chan struct{}),
		begun:       time.Now(),
		samples:     newSamples(cfg.Token),
	}
	s.deadLetters = newDeadLetters(s)
	if err := cfg.Registry.Register(s.deadLetters); err != nil {
		return nil, fmt.Errorf("api: register metrics (one registry serves one Server): %w", err)
	}
	return s, nil
}

// Ready is closed once both listeners accept connections. It stays open if Run fails before that,
// so wait for the error of Run too.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Scheme returns the scheme of both listeners: http, or https with TLS.
func (s *Server) Scheme() string {
	if s.cfg.TLS != nil {
		return "https"
	}
	return "http"
}

// Addr returns host:port of the data listener, with the port that ":0" became. It is empty before
// Listen, and with Config.OpsOnly.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// OpsAddr returns host:port of the ops listener. It is empty before Listen.
func (s *Server) OpsAddr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opsAddr
}

// Listen binds the addresses, for programs that need them before Run. Callers that connect wait
// until Run serves them.
func (s *Server) Listen(ctx context.Context) error {
	ops, err := listen(ctx, "OpsListen", s.cfg.OpsListen)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.cfg.OpsOnly {
		data, err := listen(ctx, "Listen", s.cfg.Listen)
		if err != nil {
			return errors.Join(err, ops.Close())
		}
		s.data, s.addr = data, data.Addr().String()
	}
	s.ops, s.opsAddr = ops, ops.Addr().String()
	return nil
}

// Run calls Listen unless it was called, and serves until ctx ends. It then answers long polls with
// Unavailable, lets other open requests finish within Config.ShutdownLimit, cuts the rest, and
// returns nil after its goroutines. It
// returns an error if a listener could not be bound or failed. Run can be called once.
func (s *Server) Run(ctx context.Context) error {
	if s.started.Swap(true) {
		return errors.New("api: Run was called a second time: make a new Server")
	}
	if s.OpsAddr() == "" {
		if err := s.Listen(ctx); err != nil {
			return err
		}
	}
	return s.serve(ctx)
}

// serve is Run with open listeners.
func (s *Server) serve(ctx context.Context) error {
	defer s.samples.stop()
	// Requests outlive ctx by the grace period. These two functions cut them.
	background := context.WithoutCancel(ctx)
	dataCtx, cutData := context.WithCancel(background)
	defer cutData()
	opsCtx, cutOps := context.WithCancel(background)
	defer cutOps()

	dataSrv := s.httpServer(dataCtx, s.dataHandler(), s.cfg.WaitLimit+readTimeout)
	opsSrv := s.httpServer(opsCtx, s.opsHandler(), opsWriteLimit)
	failed := make(chan error, 2)
	running := 1
	if s.data != nil {
		running++
		go func() { failed <- s.serveOn(dataSrv, s.data, "data") }()
	}
	go func() { failed <- s.serveOn(opsSrv, s.ops, "ops") }()
	close(s.ready)
	s.log.Info().Str("data", s.Addr()).Str("ops", s.OpsAddr()).Bool("tls", s.cfg.TLS != nil).Msg("api.serving")

	var errs []error
	select {
	case <-ctx.Done():
	case err := <-failed:
		errs = append(errs, err)
		running--
	}
	// /readyz fails first and the ops listener stops last, so that a load balancer and an operator
	// can follow the stop.
	s.stopping.Store(true)
	s.parking.stop()
	limit, cancel := context.WithTimeout(background, s.cfg.ShutdownLimit)
	defer cancel()
	errs = append(errs, s.stop(limit, listenerShutdown{dataSrv, s.dataLimiter, cutData, "data"}))
	cutOps() // a running profile must not delay the stop
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
		clients:  newClientLimiter(s.cfg.MaxConns, s.cfg.MaxConnsPerClient),
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
	opts := append(a.handlerOptions(), connect.WithInterceptors(receive(s.apps.instances())))
	if s.cfg.Cluster != nil {
		mux.Handle(weirpbconnect.NewClusterServiceHandler(s.cluster, opts...))
		mux.Handle(weirpbconnect.NewStateServiceHandler(&stateService{apps: s.apps}, opts...))
		if s.cfg.Spend != nil {
			mux.Handle(weirpbconnect.NewSpendServiceHandler(s.spend, opts...))
			mux.Handle(weirpbconnect.NewAdjustmentServiceHandler(s.spend, opts...))
		} else {
			none := &noSpendService{apps: s.apps, app: s.cfg.SpendApp, cache: s.cfg.SpendCache}
			mux.Handle(weirpbconnect.NewSpendServiceHandler(none, opts...))
			mux.Handle(weirpbconnect.NewAdjustmentServiceHandler(none, opts...))
		}
		budgets := &budgetService{source: s.cfg.Budgets, sink: s.cfg.BudgetSink, apps: s.apps, setting: make(chan struct{}, 1)}
		mux.Handle(weirpbconnect.NewBudgetServiceHandler(budgets, opts...))
		mux.Handle(weirpbconnect.NewPacingServiceHandler(s.pacingService(), opts...))
		cache := &spendCacheService{s.cfg.SpendCache, s.cfg.Insertions, make(chan struct{}, maxReports)}
		mux.Handle(weirpbconnect.NewSpendCacheServiceHandler(cache, opts...))
		jobs := s.jobService()
		mux.Handle(jobpbconnect.NewJobServiceHandler(jobs, opts...))
		s.addPages(mux, jobs)
	}
	a.next = s.guarded(s.dataLimiter, nil, sameOrigin(s.withQueries(mux)))
	return a
}

func (s *Server) jobService() *jobService {
	j := &jobService{
		source: s.cfg.Jobs, sink: s.cfg.JobSink, router: s.cfg.JobState, apps: s.apps, parking: s.parking, waitLimit: s.cfg.WaitLimit,
		settings: map[string]knownQueue{},
	}
	return j
}

func (s *Server) pacingService() *pacingService {
	return &pacingService{packs: s.cfg.Packs, budgets: s.cfg.Budgets, overrides: s.cfg.Overrides, apps: s.apps, most: listBytes}
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
