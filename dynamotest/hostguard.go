package dynamotest

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/wire"
	"github.com/weirhq/weir/internal/hostcheck"
)

// hostGuard rejects requests that a browser sends for a web page: signatures are not verified, so
// that any page that can reach the port could read and write all tables. An SDK for browsers needs
// CORS headers, which dynamotest does not send.
type hostGuard struct {
	names   []string // in lower case
	origins *http.CrossOriginProtection
	server  *server
}

func newHostGuard(r *Region) *hostGuard {
	g := &hostGuard{names: slices.Clone(r.cloud.cfg.AllowedHosts), origins: http.NewCrossOriginProtection(), server: r.server}
	for i, name := range g.names {
		g.names[i] = strings.ToLower(name)
	}
	return g
}

// ServeHTTP answers one request.
func (g *hostGuard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !g.known(r.Host):
		g.deny(w,
			"dynamotest does not answer to the host name "+strconv.Quote(r.Host)+
				": use localhost or an IP address, or start it with this name among its allowed hosts")
	case g.origins.Check(r) != nil:
		g.deny(w, "dynamotest does not answer web pages of other origins: send the request from a program")
	default:
		g.server.ServeHTTP(w, r)
	}
}

// known reports whether the regions answer to a Host header. DNS rebinding needs a name, so that an
// IP address is always known: other machines may use it if the listener permits that.
func (g *hostGuard) known(header string) bool {
	return hostcheck.Known(header, g.names) || net.ParseIP(hostcheck.Name(header)) != nil
}

func (g *hostGuard) deny(w http.ResponseWriter, why string) {
	g.server.answer(w, nil, &wire.Error{Code: wire.AccessDenied, Message: why})
}
