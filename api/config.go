package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/hostcheck"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/internal/slogger"
)

// FieldError reports fields of Config that have to change. Its text names no field: a program adds
// the names of its settings.
type FieldError struct {
	Fields []string // names of fields of Config, such as "Listen"
	Err    error    // what is wrong, and what the fields need
}

// Error implements error.
func (e *FieldError) Error() string { return "api: " + e.Err.Error() }

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// MinToken is the least length of Config.Token, in bytes.
const MinToken = 16

// Config configures a Server. The zero value is a server with health and metrics, and without data.
type Config struct {
	// Listen is host:port of the data listener. A host that is not loopback needs TLS and Token.
	// Defaults to 127.0.0.1:8080.
	Listen string
	// OpsListen is host:port of the ops listener: probes, metrics, pprof. A host that is not
	// loopback needs TLS and Token. Defaults to 127.0.0.1:8081.
	OpsListen string
	// OpsOnly leaves the data listener out. Listen has no meaning then. Defaults to false.
	OpsOnly bool
	// TLS is the configuration of both listeners, with at least one certificate. Defaults to none:
	// plain HTTP/1.1 and HTTP/2 (h2c).
	TLS *tls.Config
	// Token is at least MinToken bytes. Callers send it as "Authorization: Bearer TOKEN"; probes
	// (/livez, /readyz) need none. Defaults to none: every caller that can connect is answered.
	Token string
	// AllowedHosts are further names in the Host header that are answered without a token, such as
	// the name of a proxy on this machine. Without this check a web page could read the API through
	// a name that resolves to 127.0.0.1. Defaults to none: loopback names and addresses only.
	AllowedHosts []string

	// Cluster describes the brokers, for ClusterService. Defaults to none: the data listener serves
	// nothing.
	Cluster ClusterSource
	// Apps are the applications of the process, each with its own name: ClusterService serves their
	// tasks and savepoints, StateService their state. Defaults to none.
	Apps []App
	// Queries are answered on the data listener, with Cluster. Defaults to none.
	Queries []Query
	// DefaultApp is the application with state of requests that name none. Defaults to the only one
	// of Apps that has state; if there are several, a request has to name one.
	DefaultApp string
	// Find returns the processes that run an application, for the error of a request for one that
	// does not run here. Defaults to none: the error does not have them.
	Find func(ctx context.Context, app string) ([]Peer, error)
	// Spend is the source of SpendService. Defaults to none: its calls are refused.
	Spend SpendSource
	// Adjustments is the source of AdjustmentService, beside Spend. Defaults to none: its calls are
	// refused.
	Adjustments AdjustmentSource
	// Budgets and BudgetSink are the source and the sink of BudgetService. Default to none: its
	// calls are refused.
	Budgets    BudgetSource
	BudgetSink BudgetSink
	// Packs is the source of PacingService, beside Budgets. Defaults to none: its calls are
	// refused.
	Packs *PackReader
	// Overrides are those of operators in PacingService. Defaults to none: its calls for them are
	// refused.
	Overrides OverrideSource
	// SpendCache is the source of SpendCacheService. Defaults to none: its calls are refused.
	SpendCache SpendCacheSource
	// Insertions is the sink of SpendCacheService, beside SpendCache. Defaults to none: reports of
	// ads are refused.
	Insertions InsertionSink
	// Jobs, JobSink and JobState are the sources and the sink of JobService: JobState reads the
	// committed state of the job queues. Default to none: its calls are refused.
	Jobs     JobSource
	JobSink  JobSink
	JobState *Router
	// SpendApp is the application whose state Spend reads. Lists of spend read its State, and
	// errors name it. Defaults to none: there are no lists.
	SpendApp string
	// Leases reads the status of the lease loop for the overview. Defaults to none: the page does
	// not show leases.
	Leases LeaseSource
	// Ready reports to /readyz whether the process can serve, and the reasons if it cannot. It may
	// take up to 2 s. Defaults to ready from Run until shutdown.
	Ready func(ctx context.Context) Readiness
	// Waiting returns the roles that wait for another cluster, as Readiness.Waiting, for the list
	// of partitions. Defaults to none.
	Waiting func() []string

	// Registry gets the server's metrics, and /metrics serves it. Defaults to a new registry.
	Registry *obs.Registry
	// Log receives api.* events. Defaults to no log.
	Log *zerolog.Logger

	// MaxConns is the maximum of open connections of each listener. The server closes further
	// connections at once. Defaults to 1024 and MaxParked.
	MaxConns int
	// MaxConnsPerClient is MaxConns for the connections from one address. Defaults to half of
	// MaxConns.
	MaxConnsPerClient int
	// MaxRequests is the maximum of concurrent requests of the data listener that are not parked.
	// Further requests get ResourceExhausted. Defaults to 512.
	MaxRequests int
	// MaxParked is the maximum of requests that wait for a commit: long polls, and requests with
	// wait. Further ones get ResourceExhausted. Defaults to 1024.
	MaxParked int
	// MaxParkedPerClient is MaxParked for the requests from one address, except those that other
	// processes forward. Defaults to a quarter of MaxParked.
	MaxParkedPerClient int
	// WaitLimit is the time limit of a long poll, and of a request with wait. Defaults to 60 s.
	WaitLimit time.Duration
	// ShutdownLimit is the time limit of a graceful stop. Requests that take longer are cut.
	// Defaults to 5 s.
	ShutdownLimit time.Duration
}

// setDefaults sets defaults and returns an error for an invalid field: a *FieldError.
func (c *Config) setDefaults() error {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:8080"
	}
	if c.OpsListen == "" {
		c.OpsListen = "127.0.0.1:8081"
	}
	if c.Waiting == nil {
		c.Waiting = func() []string { return nil }
	}
	if c.Ready == nil {
		c.Ready = func(context.Context) Readiness { return Readiness{Ready: true} }
	}
	c.Log = slogger.Choose(c.Log, nil)
	if c.Registry == nil {
		c.Registry = obs.NewRegistry("unknown")
	}
	if c.MaxParked == 0 {
		c.MaxParked = 1024
	}
	if c.MaxParkedPerClient == 0 {
		c.MaxParkedPerClient = max(1, c.MaxParked/4)
	}
	if c.MaxConns == 0 {
		c.MaxConns = 1024 + c.MaxParked
	}
	if c.MaxConnsPerClient == 0 {
		c.MaxConnsPerClient = max(1, c.MaxConns/2)
	}
	if c.MaxRequests == 0 {
		c.MaxRequests = 512
	}
	if c.WaitLimit == 0 {
		c.WaitLimit = time.Minute
	}
	if c.ShutdownLimit == 0 {
		c.ShutdownLimit = 5 * time.Second
	}
	return c.check()
}

func (c *Config) check() error {
	if c.Cluster == nil && (c.Spend != nil || len(c.Apps) > 0) {
		return &FieldError{
			[]string{"Cluster"}, errors.New("the services of spend and of applications need a cluster, and Cluster is not set: set it"),
		}
	}
	if err := c.checkApps(); err != nil {
		return err
	}
	if err := c.checkQueries(); err != nil {
		return err
	}
	if c.MaxConns < 0 || c.MaxConnsPerClient < 0 || c.MaxRequests < 0 || c.MaxParked < 0 || c.MaxParkedPerClient < 0 || c.WaitLimit < 0 ||
		c.ShutdownLimit < 0 {
		return errors.New("api: a limit of Config is negative: leave it 0 for its default")
	}
	if c.TLS != nil && len(c.TLS.Certificates) == 0 && c.TLS.GetCertificate == nil && c.TLS.GetConfigForClient == nil {
		return &FieldError{[]string{"TLS"}, errors.New("the listeners have TLS without a certificate: add one")}
	}
	if c.Token != "" && len(c.Token) < MinToken {
		return &FieldError{
			[]string{"Token"}, fmt.Errorf("the token has %d bytes and could be guessed: use at least %d bytes", len(c.Token), MinToken),
		}
	}
	if c.OpsOnly {
		return c.checkListen("OpsListen", c.OpsListen)
	}
	return errors.Join(c.checkListen("Listen", c.Listen), c.checkListen("OpsListen", c.OpsListen))
}

// checkApps returns an error if two applications have one name, or if DefaultApp is not one with
// state.
func (c Config) checkApps() error {
	for i, a := range c.Apps {
		if a.Name == "" || a.Tasks == nil {
			return fmt.Errorf("api: Config.Apps[%d] has no Name or no Tasks: set both", i)
		}
		if slices.ContainsFunc(c.Apps[:i], func(o App) bool { return o.Name == a.Name }) {
			return fmt.Errorf("api: two of Config.Apps have the name %q: a process has each application once", a.Name)
		}
	}
	if c.DefaultApp != "" && !slices.ContainsFunc(c.Apps, func(a App) bool { return a.Name == c.DefaultApp && a.State != nil }) {
		return fmt.Errorf("api: Config.DefaultApp is %q, which is not one of Config.Apps with a State: correct it", c.DefaultApp)
	}
	return nil
}

// checkListen returns an error for an address that other machines can reach without TLS and a
// token. field is the field of Config that has the address.
func (c Config) checkListen(field, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return &FieldError{[]string{field}, fmt.Errorf("the address %q is not host:port (%w): use one such as 127.0.0.1:8080", addr, err)}
	}
	if hostcheck.IsLoopback(host) {
		return nil
	}
	var missing, names []string
	if c.TLS == nil {
		missing, names = append(missing, "TLS"), append(names, "TLS")
	}
	if c.Token == "" {
		missing, names = append(missing, "Token"), append(names, "a token")
	}
	if len(missing) == 0 {
		return nil
	}
	return &FieldError{append([]string{field}, missing...), fmt.Errorf(
		"the address %q can be reached from other machines without %s: set what is missing, or listen on 127.0.0.1", addr,
		strings.Join(names, " and "))}
}
