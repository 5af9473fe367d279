package serverurl

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/hostcheck"
)

// Parse returns the URL of a server without a slash at the end. With a token the URL must be https,
// or of this machine.
func Parse(text, token string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, strings.Trim(u.Path, "/") != "",
		u.RawQuery != "", u.Fragment != "":
		return "", fmt.Errorf("%q is not a URL of a server: write one such as https://weir.eu:8080", text)
	case token != "" && u.Scheme != "https" && !hostcheck.IsLoopback(u.Hostname()):
		return "", fmt.Errorf("the Token would be sent over plain HTTP to %s, where others could read it: use https://%s", u.Host, u.Host)
	}
	return u.Scheme + "://" + u.Host, nil
}

// Transport returns a transport that trusts roots, nil: those of the system. limit bounds a dial
// and a TLS handshake.
func Transport(roots *x509.CertPool, limit time.Duration) *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: limit}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout: limit,
		IdleConnTimeout:     time.Minute,
		ForceAttemptHTTP2:   true,
	}
}
