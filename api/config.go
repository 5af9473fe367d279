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

	"github.com/weirhq/weir/internal/obs"
)

// The keys of the configuration file that an error of New tells the operator to set.
const (
	KeyListen    = "api.listen"
	KeyOpsListen = "api.ops_listen"
	KeyTLSCert   = "api.tls_cert_file"
	KeyTLSKey    = "api.tls_key_file"
	KeyCA        = "api.ca_file"
	KeyToken     = "api.token_file"
)

// Config of a Server. Its zero value is one that has health and metrics, and nothing to answer from.
type Config struct {
	// Listen is host:port of the data listener. A host that is not loopback needs TLS and Token.
	// Defaults to 127.0.0.1:8080.
	Listen string
	// OpsListen is host:port of the ops listener: probes, metrics, pprof. The same rule holds.
	// Defaults to 127.0.0.1:8081.
	OpsListen string
	// TLS for both listeners, with at least one certificate. Defaults to none: plain HTTP/1.1 and HTTP/2 (h2c).
	TLS *tls.Config
	// Token that a caller sends as "Authorization: Bearer TOKEN", at least 16 bytes. Probes (/livez, /readyz) go
	// without. Defaults to none: whoever can connect may ask.
	Token string
	// AllowedHosts are further names in the Host header that are answered without a token, such as that of a proxy on
	// this machine. Without the check a web page could read the API through a name that resolves to 127.0.0.1.
	// Defaults to none: loopback names and addresses only.
	AllowedHosts []string

	// Spend is what SpendService answers from. Defaults to none: neither it nor ClusterService nor the page is there.
	Spend SpendSource
	// Cluster is what ClusterService answers from.
	Cluster ClusterSource
	// State is what StateService answers from, and how ClusterService reaches other processes. Defaults to none: there is
	// no StateService, and the others are not asked.
	State *Router
	// Savepoints takes them for ClusterService. Defaults to none: it is answered with Unimplemented.
	Savepoints SavepointSource
	// Ready tells /readyz whether the process can serve, and if not why. It may take up to 2 s.
	// Defaults to ready from Run until shutdown.
	Ready func(ctx context.Context) (ok bool, reasons []string)

	// Registry gets the server's metrics and is what /metrics shows. Defaults to one of its own.
	Registry *obs.Registry
	// Logger gets api.* events. Defaults to none.
	Logger zerolog.Logger

	// MaxConns bounds the open connections of each listener; one more is closed at once. Defaults to 1024.
	MaxConns int
	// MaxRequests bounds the requests that the data listener works on at a time; one more is answered with
	// ResourceExhausted. Defaults to 512.
	MaxRequests int
	// WaitLimit bounds a question with wait. Defaults to 60 s.
	WaitLimit time.Duration
	// ShutdownLimit bounds a graceful stop: requests that take longer are cut. Defaults to 5 s.
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
		c.Ready = func(context.Context) (bool, []string) { return true, nil }
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
		return errors.New("api: Config.Spend and Config.Cluster go together: each answers in part from the other")
	}
	if c.MaxConns < 0 || c.MaxRequests < 0 || c.WaitLimit < 0 || c.ShutdownLimit < 0 {
		return errors.New("api: a limit is negative: leave it out for its default")
	}
	if c.TLS != nil && len(c.TLS.Certificates) == 0 && c.TLS.GetCertificate == nil && c.TLS.GetConfigForClient == nil {
		return fmt.Errorf("api: TLS is set without a certificate: set %s and %s", KeyTLSCert, KeyTLSKey)
	}
	if c.Token != "" && len(c.Token) < 16 {
		return fmt.Errorf("api: the token is %d bytes long and could be guessed: put at least 16 into the file of %s", len(c.Token), KeyToken)
	}
	return errors.Join(c.checkListen(KeyListen, c.Listen), c.checkListen(KeyOpsListen, c.OpsListen))
}

// checkListen refuses an address that others can reach unless the callers are known and the line is encrypted.
func (c Config) checkListen(key, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("api: %s %q is not host:port (%w): use one such as 127.0.0.1:8080", key, addr, err)
	}
	if isLoopback(host) {
		return nil
	}
	var missing []string
	if c.TLS == nil {
		missing = append(missing, KeyTLSCert, KeyTLSKey)
	}
	if c.Token == "" {
		missing = append(missing, KeyToken)
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("api: %s %q can be reached from other machines, which needs TLS and a token: set %s, or listen on 127.0.0.1",
		key, addr, strings.Join(missing, ", "))
}

// isLoopback tells whether host (without port) is this machine only. An empty host is every interface. A name other
// than localhost is not resolved: what it means can change after the check.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
