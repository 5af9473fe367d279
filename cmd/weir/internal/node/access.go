package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/config"
)

// Access is what the configuration says of the way to the APIs of processes: one's own and others'.
type Access struct {
	Roots *x509.CertPool // nil: the system's
	token string
	TLS   bool // they serve https
}

// NewAccess reads the token and the certificate authorities that the configuration names.
func NewAccess(c *config.Config) (x Access, err error) {
	x.TLS = c.API.TLSCertFile != ""
	if x.Roots, err = authorities(api.KeyCA, c.API.CAFile); err != nil {
		return x, err
	}
	if c.API.TokenFile == "" {
		return x, nil
	}
	token, err := os.ReadFile(c.API.TokenFile)
	if err != nil {
		return x, &ConfigError{"cannot read " + api.KeyToken, err, "check the path"}
	}
	if x.token = strings.TrimSpace(string(token)); x.token == "" {
		return x, &ConfigError{"cannot use " + api.KeyToken, errors.New(c.API.TokenFile + " is empty"), "put at least 16 bytes of text into it, such as `openssl rand -hex 16` prints"}
	}
	return x, nil
}

// authorities reads the file that key names. Without one they are the system's.
func authorities(key, file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // crypto/tls takes it so
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, &ConfigError{"cannot read " + key, err, "check the path"}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &ConfigError{"cannot use " + key, errors.New("no certificate in " + file), "give a PEM file of certificates"}
	}
	return pool, nil
}

// Client asks the server at addr: host:port, or a URL. A bare host:port is https where our own processes are.
func (x Access) Client(addr string) *api.Client {
	if !strings.Contains(addr, "://") && x.TLS {
		addr = "https://" + addr
	}
	return api.NewClientWith(api.ClientConfig{Server: addr, Token: x.token, Roots: x.Roots})
}

// serverTLS is the listeners' TLS; nil without a certificate.
func serverTLS(c *config.Config) (*tls.Config, error) {
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(c.API.TLSCertFile, c.API.TLSKeyFile)
		return &pair, err
	}
	if c.API.TLSCertFile == "" {
		return nil, nil //nolint:nilnil // api.Config takes it so
	}
	if _, err := load(nil); err != nil {
		return nil, &ConfigError{"cannot use " + api.KeyTLSCert + " and " + api.KeyTLSKey, err, "give PEM files of a certificate and its key"}
	}
	// Read at every handshake, so that a renewed certificate needs no restart.
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: load}, nil
}
