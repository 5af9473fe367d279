package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
)

// authHandler decides who may ask at all, before anything of a request's body is read.
type authHandler struct {
	limiter *inflightLimiter
	token   string
	hosts   []string // lower case, beside loopback
	public  []string // paths that need no token
	next    http.Handler
}

func (g *authHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secureHeaders(w.Header())
	ok, stopping := g.limiter.enter()
	switch {
	case stopping:
		deny(w, r, http.StatusServiceUnavailable, errorf(connect.CodeUnavailable, "this weir is stopping: ask another one, or try again later"))
		return
	case !ok:
		deny(w, r, http.StatusTooManyRequests, errorf(connect.CodeResourceExhausted,
			"%d requests are worked on, which is the limit: try again in a moment, with fewer at a time", g.limiter.max))
		return
	}
	defer g.limiter.leave()
	if g.token == "" {
		if !g.knownHost(r.Host) {
			deny(w, r, http.StatusMisdirectedRequest, errorf(connect.CodePermissionDenied,
				"host %.100q is not a name of this machine, and no token is set to tell callers apart: ask by 127.0.0.1 or localhost, or set %s",
				r.Host, KeyToken))
			return
		}
	} else if !slices.Contains(g.public, r.URL.Path) && !g.authorized(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="weir"`)
		deny(w, r, http.StatusUnauthorized, errorf(connect.CodeUnauthenticated,
			"the request carries no valid token: send the header Authorization: Bearer TOKEN with the one in the file of %s", KeyToken))
		return
	}
	g.next.ServeHTTP(w, r)
}

// knownHost refuses the names of DNS rebinding: a page of evil.example whose name turns to 127.0.0.1 still sends its
// own name. Browsers always send one; old probes (HTTP/1.0) send none.
func (g *authHandler) knownHost(hostport string) bool {
	if hostport == "" {
		return true
	}
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	return isLoopback(host) || slices.Contains(g.hosts, host)
}

// authorized compares digests, in constant time, so that neither the length nor a common beginning shows.
func (g *authHandler) authorized(r *http.Request) bool {
	scheme, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	want, have := sha256.Sum256([]byte(g.token)), sha256.Sum256([]byte(strings.TrimSpace(got)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(want[:], have[:]) == 1
}

// sameOrigin refuses requests that a browser sends for another origin's page. Programs send no such headers.
func sameOrigin(next http.Handler) http.Handler {
	p := http.NewCrossOriginProtection()
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		deny(w, r, http.StatusForbidden, errorf(connect.CodePermissionDenied,
			"a web page of another origin may not call this API: call it from a program"))
	}))
	return p.Handler(next)
}

// secureHeaders are the strictest that the index page works with: no script, nothing from elsewhere, no frame.
func secureHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// deny answers in the protocol of the request: as an RPC error where it is one, else as a line of text.
func deny(w http.ResponseWriter, r *http.Request, status int, err error) {
	if ew := connect.NewErrorWriter(); ew.IsSupported(r) {
		if ew.Write(w, r, err) == nil {
			return
		}
	}
	var coded *connect.Error
	text := err.Error()
	if errors.As(err, &coded) {
		text = coded.Message()
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // the caller may be gone
}
