package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/config"
)

// Settings that errors name.
const (
	keyCA    = "api.ca_file"
	keyToken = "api.token_file"
)

// Access is how clients reach the API of a weir process: certificate authorities, token, TLS.
type Access struct {
	Roots *x509.CertPool // nil: those of the operating system
	Token string         // empty: none
	TLS   bool           // the processes serve https
}

// NewAccess reads the files of the token and of the certificate authorities. Its error is a
// *ConfigError.
func NewAccess(c *config.Config) (x Access, err error) {
	x.TLS = c.API.TLSCertFile != ""
	if x.Roots, err = authorities(keyCA, c.API.CAFile); err != nil {
		return x, err
	}
	if c.API.TokenFile == "" {
		return x, nil
	}
	token, err := os.ReadFile(c.API.TokenFile)
	if err != nil {
		return x, &ConfigError{"cannot read " + keyToken, err, "check the path"}
	}
	if x.Token = strings.TrimSpace(string(token)); x.Token == "" {
		return x, &ConfigError{
			"cannot use " + keyToken, errors.New(c.API.TokenFile + " is empty"),
			"write at least 16 bytes of text to it, for example with `openssl rand -hex 16`",
		}
	}
	if len(x.Token) < api.MinToken {
		return x, &ConfigError{
			"cannot use " + keyToken, fmt.Errorf("the token in %s has %d bytes and could be guessed", c.API.TokenFile, len(x.Token)),
			"write at least 16 bytes of text to it, for example with `openssl rand -hex 16`",
		}
	}
	return x, nil
}

// authorities reads a PEM file of certificate authorities, the value of key. Without a file it
// returns nil: the authorities of the operating system.
func authorities(key, file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // nil has a meaning to crypto/tls
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, &ConfigError{"cannot read " + key, err, "check the path"}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &ConfigError{"cannot use " + key, errors.New("no certificate in " + file), "give a PEM file with certificates"}
	}
	return pool, nil
}

// Client returns a client of the server at addr, host:port or a URL. A host:port is reached with
// https if the processes have TLS, or if there are certificate authorities for it.
func (x Access) Client(addr string) *api.Client {
	if !strings.Contains(addr, "://") && x.HTTPS(addr) {
		addr = "https://" + addr
	}
	return api.NewClientWith(api.ClientConfig{Server: addr, Token: x.Token, Roots: x.Roots})
}

// HTTPS reports whether a Client of addr verifies the certificate of the server.
func (x Access) HTTPS(addr string) bool {
	if scheme, _, found := strings.Cut(addr, "://"); found {
		return strings.EqualFold(scheme, "https")
	}
	return x.TLS || x.Roots != nil
}

// serverTLS returns the TLS configuration of the listeners, nil without a certificate.
func serverTLS(c *config.Config) (*tls.Config, error) {
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(c.API.TLSCertFile, c.API.TLSKeyFile)
		return &pair, err
	}
	if c.API.TLSCertFile == "" {
		return nil, nil //nolint:nilnil // nil has a meaning to api.Config
	}
	if _, err := load(nil); err != nil {
		return nil, &ConfigError{"cannot use api.tls_cert_file and api.tls_key_file", err, "give PEM files of a certificate and its key"}
	}
	// Read at every handshake, so that a renewed certificate needs no restart.
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: load}, nil
}
