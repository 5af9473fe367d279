package dev

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/node"
)

// network is the network between the roles of several datacentres and their brokers. Its
// connections can be cut.
type network struct {
	// latency is added to each request to the brokers of another datacentre.
	latency time.Duration

	mu    sync.Mutex
	cuts  []*cut
	links map[*link]bool // open connections
}

// route is the way of a role of a datacentre to the brokers of one.
type route struct{ from, role, to string }

// cut is a fault that cuts routes.
type cut struct {
	name string
	cuts func(route) bool
}

func newNetwork(latency time.Duration) *network {
	return &network{latency: latency, links: map[*link]bool{}}
}

// dialer returns node.Config.Dial for a datacentre.
func (n *network) dialer(from string) func(role, to string) node.Dial {
	return func(role, to string) node.Dial {
		r := route{from, role, to}
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			return n.dial(ctx, r, network, address)
		}
	}
}

// dialLimit bounds the making of a connection.
const dialLimit = 5 * time.Second

func (n *network) dial(ctx context.Context, r route, kind, address string) (net.Conn, error) {
	if err := n.cutOf(r); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, kind, address)
	if err != nil {
		return nil, err //nolint:wrapcheck // the client examines the type of the error
	}
	l := &link{Conn: conn, network: n, route: r, closed: make(chan struct{})}
	n.mu.Lock()
	n.links[l] = true
	n.mu.Unlock()
	if err := n.cutOf(r); err != nil { // it was cut while the connection was made
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// cutOf returns an error if a route is cut.
func (n *network) cutOf(r route) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.cuts {
		if c.cuts(r) {
			// A client takes an error of another kind for one that lasts, and its records fail.
			refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
			err := fmt.Errorf("the connection from %s to the Kafka of %s is cut by --fault %s: %w", r.from, r.to, c.name, refused)
			return &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}
	}
	return nil
}

// cut cuts routes until heal is called.
func (n *network) cut(name string, cuts func(route) bool) (heal func()) {
	c := &cut{name, cuts}
	n.mu.Lock()
	n.cuts = append(n.cuts, c)
	var open []*link
	for l := range n.links {
		if cuts(l.route) {
			open = append(open, l)
		}
	}
	n.mu.Unlock()
	for _, l := range open {
		_ = l.Close() // its user sees the end
	}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for i, other := range n.cuts {
			if other == c {
				n.cuts = append(n.cuts[:i:i], n.cuts[i+1:]...)
				return
			}
		}
	}
}

// link is an open connection.
type link struct {
	net.Conn
	network *network
	route   route
	once    sync.Once
	closed  chan struct{}
}

// Write delays what is written to another datacentre.
func (l *link) Write(b []byte) (int, error) {
	if l.network.latency > 0 && l.route.from != l.route.to {
		t := time.NewTimer(l.network.latency)
		defer t.Stop()
		select {
		case <-t.C:
		case <-l.closed:
		}
	}
	return l.Conn.Write(b)
}

// Close closes the connection.
func (l *link) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.network.mu.Lock()
		delete(l.network.links, l)
		l.network.mu.Unlock()
	})
	return l.Conn.Close()
}
