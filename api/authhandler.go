package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/internal/hostcheck"
)

// authHandler rejects callers that may not send requests, before it reads the body.
type authHandler struct {
	limiter *inflightLimiter
	token   string
	hosts   []string // lower case, in addition to loopback
	public  []string // paths that need no token
	next    http.Handler
}

func (g *authHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secureHeaders(w.Header())
	ok, stopping := g.limiter.enter()
	switch {
	case stopping:
		deny(w, r, http.StatusServiceUnavailable,
			retryLater(
				errorf(connect.CodeUnavailable, "this process is stopping: send the request to another process, or try again later")))
		return
	case !ok:
		deny(w, r, http.StatusTooManyRequests, retryLater(errorf(connect.CodeResourceExhausted,
			"the server has %d concurrent requests, which is its limit: try again in a moment, with fewer at a time", g.limiter.max)))
		return
	}
	defer g.limiter.leave()
	if g.token == "" {
		if !hostcheck.Known(r.Host, g.hosts) {
			deny(w, r, http.StatusMisdirectedRequest, errorf(connect.CodePermissionDenied,
				"host %.100q is not a name of this machine, and the server has no token to authenticate callers: use 127.0.0.1 or localhost, or start the server with a token", r.Host))
			return
		}
	} else if !slices.Contains(g.public, r.URL.Path) && !g.authorized(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="weir"`)
		deny(w, r, http.StatusUnauthorized, errorf(connect.CodeUnauthenticated,
			"the request has no valid token: send the header Authorization: Bearer TOKEN with the token of the server"))
		return
	}
	g.next.ServeHTTP(w, r)
}

// authorized compares digests in constant time, so that neither the length nor a common prefix
// leaks.
func (g *authHandler) authorized(r *http.Request) bool {
	scheme, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	want, have := sha256.Sum256([]byte(g.token)), sha256.Sum256([]byte(strings.TrimSpace(got)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(want[:], have[:]) == 1
}

// sameOrigin rejects requests that a browser sends for a page of another origin. Programs do not
// send these headers.
func sameOrigin(next http.Handler) http.Handler {
	p := http.NewCrossOriginProtection()
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		deny(w, r, http.StatusForbidden, errorf(connect.CodePermissionDenied,
			"web pages of other origins may not call this API: call it from a program"))
	}))
	return p.Handler(next)
}

// secureHeaders sets the strictest headers: an answer loads and runs nothing, and is in no frame. A
// page replaces the policy by page.Policy, the strictest that it works with.
func secureHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// deny answers in the protocol of the request: an RPC error for an RPC, otherwise a line of text.
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
	_, _ = fmt.Fprintln(w, text) // the caller may have left
}
