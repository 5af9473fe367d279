package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/hostcheck"
	"github.com/weirhq/weir/internal/obs"
)

// FieldError reports fields of Config that have to change. A program adds the names of its
// settings.
type FieldError struct {
	Fields []string // names of fields of Config, such as "Listen"
	Err    error    // what is wrong, and what the fields need
}

// Error implements error.
func (e *FieldError) Error() string { return "api: " + e.Err.Error() }

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// Config configures a Server. The zero value is a server with health and metrics, and without data.
type Config struct {
	// Listen is host:port of the data listener. A host that is not loopback needs TLS and Token.
	// Defaults to 127.0.0.1:8080.
	Listen string
	// OpsListen is host:port of the ops listener: probes, metrics, pprof. A host that is not
	// loopback needs TLS and Token. Defaults to 127.0.0.1:8081.
	OpsListen string
	// TLS is the configuration of both listeners, with at least one certificate. Defaults to none:
	// plain HTTP/1.1 and HTTP/2 (h2c).
	TLS *tls.Config
	// Token is at least 16 bytes. Callers send it as "Authorization: Bearer TOKEN"; probes (/livez,
	// /readyz) need none. Defaults to none: every caller that can connect is answered.
	Token string
	// AllowedHosts are further names in the Host header that are answered without a token, such as
	// the name of a proxy on this machine. Without this check a web page could read the API through
	// a name that resolves to 127.0.0.1. Defaults to none: loopback names and addresses only.
	AllowedHosts []string

	// Spend is the source of SpendService. Defaults to none: there is no SpendService, no
	// ClusterService and no index page.
	Spend SpendSource
	// Cluster is the source of ClusterService.
	Cluster ClusterSource
	// State is the source of StateService, and the way of ClusterService to other processes.
	// Defaults to none: there is no StateService, and other processes are not asked.
	State *Router
	// Savepoints takes savepoints for ClusterService. Defaults to none: the call returns
	// Unimplemented.
	Savepoints SavepointSource
	// Ready reports to /readyz whether the process can serve, and the reasons if it cannot. It may
	// take up to 2 s. Defaults to ready from Run until shutdown.
	Ready func(ctx context.Context) Readiness

	// Registry gets the server's metrics, and /metrics serves it. Defaults to a new registry.
	Registry *obs.Registry
	// Logger gets api.* events. Defaults to none.
	Logger zerolog.Logger

	// MaxConns is the maximum of open connections of each listener. The server closes further
	// connections at once. Defaults to 1024.
	MaxConns int
	// MaxRequests is the maximum of concurrent requests of the data listener. Further requests get
	// ResourceExhausted. Defaults to 512.
	MaxRequests int
	// WaitLimit is the time limit of a request with wait. Defaults to 60 s.
	WaitLimit time.Duration
	// ShutdownLimit is the time limit of a graceful stop. Requests that take longer are cut.
	// Defaults to 5 s.
	ShutdownLimit time.Duration
}

func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:8080"
	}
	if c.OpsListen == "" {
		c.OpsListen = "127.0.0.1:8081"
	}
	if c.Ready == nil {
		c.Ready = func(context.Context) Readiness { return Readiness{Ready: true} }
	}
	if c.Registry == nil {
		c.Registry = obs.NewRegistry("unknown")
	}
	if c.MaxConns == 0 {
		c.MaxConns = 1024
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
	return c
}

func (c Config) check() error {
	if (c.Spend == nil) != (c.Cluster == nil) {
		return errors.New("api: only one of Config.Spend and Config.Cluster is set: set both, because each service uses the other source too")
	}
	if c.MaxConns < 0 || c.MaxRequests < 0 || c.WaitLimit < 0 || c.ShutdownLimit < 0 {
		return errors.New("api: a limit of Config is negative: leave it 0 for its default")
	}
	if c.TLS != nil && len(c.TLS.Certificates) == 0 && c.TLS.GetCertificate == nil && c.TLS.GetConfigForClient == nil {
		return &FieldError{[]string{"TLS"}, errors.New("there is no certificate in Config.TLS: add one")}
	}
	if c.Token != "" && len(c.Token) < 16 {
		return &FieldError{[]string{"Token"}, fmt.Errorf("the token in Config.Token has %d bytes and could be guessed: use at least 16 bytes", len(c.Token))}
	}
	return errors.Join(c.checkListen("Listen", c.Listen), c.checkListen("OpsListen", c.OpsListen))
}

// checkListen returns an error for an address that other machines can reach without TLS and a
// token. field is the field of Config that has the address.
func (c Config) checkListen(field, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return &FieldError{[]string{field}, fmt.Errorf("the address %q in Config.%s is not host:port (%w): use one such as 127.0.0.1:8080", addr, field, err)}
	}
	if hostcheck.IsLoopback(host) {
		return nil
	}
	var missing []string
	if c.TLS == nil {
		missing = append(missing, "TLS")
	}
	if c.Token == "" {
		missing = append(missing, "Token")
	}
	if len(missing) == 0 {
		return nil
	}
	return &FieldError{append([]string{field}, missing...), fmt.Errorf(
		"the address %q in Config.%s can be reached from other machines, which needs TLS and a token: set Config.%s, or listen on 127.0.0.1",
		addr, field, strings.Join(missing, " and Config."))}
}
