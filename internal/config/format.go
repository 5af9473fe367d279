package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weirhq/weir/events"
)

// format is a restriction of a text.
type format struct {
	want string // description for errors and documentation
	ok   func(string) bool
}

// formatOf returns the format that a check tag names. It applies to the text, or to each item of a
// list.
func formatOf(check string) format {
	switch check {
	case "dc":
		return format{
			"1 to 32 of a-z, 0-9 and -, beginning with a letter and not ending with -",
			func(s string) bool { return events.ValidateDC(s) == nil },
		}
	case "instance":
		return format{"at most 128 of a-z, A-Z, 0-9, -, _ and .", func(s string) bool { return s == "" || consistsOf(s, 128, "-_.", true) }}
	case "hostport":
		return format{"host:port", func(s string) bool { h, p := hostPort(s); return h != "" && p > 0 }}
	case "advertise":
		return format{
			"host:port that others can reach", func(s string) bool { h, p := hostPort(s); return s == "" || p > 0 && reachable(h) },
		}
	case "listen":
		return format{"host:port", func(s string) bool { _, p := hostPort(s); return p >= 0 }}
	case "table":
		return format{
			"3 to 255 of a-z, A-Z, 0-9, -, _ and .", func(s string) bool { return len(s) >= 3 && consistsOf(s, 255, "-_.", true) },
		}
	case "region":
		return format{"a region, or region=http://host:port", func(s string) bool { _, _, ok := SplitRegion(s); return ok }}
	case "ring":
		return format{"a name of a-z, 0-9 and -, or name=host:port+host:port", func(string) bool { return true }}
	case "nonempty":
		return format{"not empty", func(s string) bool { return s != "" }}
	}
	return format{"", func(string) bool { return true }}
}

// consistsOf reports whether s has 1 to limit bytes, all of which are digits, lower-case letters,
// in also or, if upper is true, upper-case letters.
func consistsOf(s string, limit int, also string, upper bool) bool {
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

// hostPort splits host:port. The port is -1 if s does not have that form.
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

// reachable reports whether a client can connect to host. It cannot connect to the address that
// stands for all interfaces.
func reachable(host string) bool {
	a, err := netip.ParseAddr(host)
	return host != "" && (err != nil || !a.IsUnspecified())
}

// Server returns the address of the API of the process with this configuration, and the key that
// the address is from. It is the listen address, or the advertised address if the process listens
// on all interfaces.
func (a API) Server() (addr, key string) {
	if host, _ := hostPort(a.Listen); a.Advertise != "" && !reachable(host) {
		return a.Advertise, "api.advertise"
	}
	return a.Listen, "api.listen"
}

// loopback reports whether only this machine can reach host. An empty host stands for all
// interfaces.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
