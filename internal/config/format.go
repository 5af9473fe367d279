package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// form is a shape that a text must have beyond its kind.
type form struct {
	want string // in words, for errors and the reference
	ok   func(string) bool
}

// formOf returns the form that a check tag names. It applies to the whole text, or to each item of a list.
func formOf(check string) form {
	switch check {
	case "dc":
		return form{"1 to 32 of a-z, 0-9 and -", func(s string) bool { return spelled(s, 32, "-", false) }}
	case "instance":
		return form{"at most 128 of a-z, A-Z, 0-9, -, _ and .", func(s string) bool { return s == "" || spelled(s, 128, "-_.", true) }}
	case "hostport":
		return form{"host:port", func(s string) bool { h, p := hostPort(s); return h != "" && p > 0 }}
	case "advertise":
		return form{"host:port that others can reach", func(s string) bool { h, p := hostPort(s); return s == "" || p > 0 && reachable(h) }}
	case "listen":
		return form{"host:port", func(s string) bool { _, p := hostPort(s); return p >= 0 }}
	case "table":
		return form{"3 to 255 of a-z, A-Z, 0-9, -, _ and .", func(s string) bool { return len(s) >= 3 && spelled(s, 255, "-_.", true) }}
	case "region":
		return form{"a region, or region=http://host:port", func(s string) bool { _, _, ok := SplitRegion(s); return ok }}
	case "nonempty":
		return form{"not empty", func(s string) bool { return s != "" }}
	}
	return form{"", func(string) bool { return true }}
}

// spelled tells whether s has 1 to limit bytes, all of them digits, lower-case letters, one of also, or upper-case
// letters where those are allowed.
func spelled(s string, limit int, also string, upper bool) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', upper && c >= 'A' && c <= 'Z':
		default:
			if !strings.ContainsRune(also, c) {
				return false
			}
		}
	}
	return true
}

// hostPort splits host:port; port is -1 if s is not of that form.
func hostPort(s string) (host string, port int) {
	host, p, err := net.SplitHostPort(s)
	if err != nil {
		return "", -1
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return "", -1
	}
	return host, int(n)
}

// reachable tells whether host can be asked at all: the address of every interface is where to listen, not where to go.
func reachable(host string) bool {
	a, err := netip.ParseAddr(host)
	return host != "" && (err != nil || !a.IsUnspecified())
}

// Server is where the process of this configuration is asked, and the key that says so: where it listens, or, if that is every
// interface, the address that the other processes are told.
func (a API) Server() (addr, key string) {
	if host, _ := hostPort(a.Listen); a.Advertise != "" && !reachable(host) {
		return a.Advertise, "api.advertise"
	}
	return a.Listen, "api.listen"
}

// loopback tells whether only this machine can reach host. An empty host is every interface, so it is not.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
