package simkafka

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// latency is the time that each request takes.
const latency = 100 * time.Microsecond

// errCut is the error of a client whose link is cut.
var errCut = errors.New("the link to the brokers is cut")

// Link is the network between one process and the brokers.
type Link struct {
	c     *Cluster
	mu    sync.Mutex
	conns map[*conn]bool
	cut   bool
	thaw  chan struct{} // closed at the thaw; nil if the link is not frozen
}

// Link returns a new link, which is up.
func (c *Cluster) Link() *Link { return &Link{c: c, conns: map[*conn]bool{}} }

// Options returns the options of a client that uses the link. The client's metrics are off: kfake
// asks for them, and compressing them took a twentieth of the CPU of the tests.
func (l *Link) Options() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(l.c.ListenAddrs()...), kgo.Dialer(l.Dial), kgo.DisableClientMetrics()}
}

// Dial opens a connection.
func (l *Link) Dial(ctx context.Context, network, host string) (net.Conn, error) {
	if err := l.pass(ctx.Done()); err != nil {
		return nil, err
	}
	if l.c.refuses(host) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	raw, err := l.c.net.DialContext(ctx, network, host)
	if err != nil {
		return nil, err //nolint:wrapcheck // the client examines the type of the error
	}
	c := &conn{Conn: raw, link: l, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = raw.Close()
		return nil, errCut
	}
	l.conns[c] = true
	return c, nil
}

// Cut closes the connections and refuses new ones until Heal is called.
func (l *Link) Cut() {
	l.mu.Lock()
	l.cut = true
	conns := l.conns
	l.conns = map[*conn]bool{}
	l.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}

// Heal ends a Cut.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// Freeze holds all bytes back until Thaw is called.
func (l *Link) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.thaw == nil {
		l.thaw = make(chan struct{})
	}
}

// Thaw ends a Freeze: pending bytes are delivered.
func (l *Link) Thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.thaw != nil {
		close(l.thaw)
		l.thaw = nil
	}
}

// Pass waits while the link is frozen.
func (l *Link) Pass() { _ = l.pass(nil) }

// pass is Pass. It returns an error if the link is cut, or if giveUp is closed first.
func (l *Link) pass(giveUp <-chan struct{}) error {
	for {
		l.mu.Lock()
		thaw, cut := l.thaw, l.cut
		l.mu.Unlock()
		switch {
		case cut:
			return errCut
		case thaw == nil:
			return nil
		}
		select {
		case <-thaw:
		case <-giveUp:
			return net.ErrClosed
		}
	}
}

type conn struct {
	net.Conn
	link   *Link
	once   sync.Once
	closed chan struct{}
	lost   atomic.Bool // drop the next answer
}

// Write sends a request.
func (c *conn) Write(b []byte) (int, error) {
	select {
	case <-time.After(latency):
	case <-c.closed:
		return 0, net.ErrClosed
	}
	if err := c.link.pass(c.closed); err != nil {
		return 0, err
	}
	if len(b) > 6 && c.link.c.takeLoss(kmsg.Key(binary.BigEndian.Uint16(b[4:]))) { // a size, then the kind of request
		c.lost.Store(true)
	}
	return c.Conn.Write(c.link.c.hideIDs(b))
}

// Read receives an answer.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err := c.link.pass(c.closed); err != nil {
		return 0, err
	}
	if c.lost.Load() && n > 0 {
		c.link.c.mu.Lock()
		c.link.c.lost++
		c.link.c.mu.Unlock()
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	c.link.c.showIDs(b[:n])
	c.link.c.damage(b[:n])
	return n, err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.link.mu.Lock()
		delete(c.link.conns, c)
		c.link.mu.Unlock()
	})
	return c.Conn.Close()
}
