package hostcheck

import (
	"net"
	"slices"
	"strings"
)

// Known reports whether a Host header names this machine, or one of names, which are in lower case.
// An empty header is known: browsers always send one, old probes (HTTP/1.0) send none.
func Known(header string, names []string) bool {
	host := Name(header)
	return header == "" || IsLoopback(host) || slices.Contains(names, host)
}

// Name returns a Host header without its port and in lower case.
func Name(header string) string {
	host := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// IsLoopback reports whether host (without port) is this machine only. An empty host is every
// interface. A name other than localhost is not resolved, because it can resolve to another address
// after the check.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
