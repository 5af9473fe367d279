package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
)

// listen binds addr. field is the field of Config that has it, for the error.
func listen(ctx context.Context, field, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		err = fmt.Errorf("the address %s is taken by another process, perhaps another weir: stop it, or use another port: %w", addr, err)
	case errors.Is(err, syscall.EACCES):
		err = fmt.Errorf("this user may not listen on %s: use a port above 1023: %w", addr, err)
	default:
		err = fmt.Errorf("cannot listen on %s: %w", addr, err)
	}
	return nil, &FieldError{[]string{field}, err}
}

// limitListener closes connections above its limits at once. If it did not accept them, callers
// would wait in the kernel's queue without an error. The limit of one address leaves room for the
// others while one client opens connections and sends no requests.
type limitListener struct {
	net.Listener
	clients *clientLimiter // of open connections
	conns   prometheus.Gauge
	refused prometheus.Counter
}

// Accept returns the next connection within the limits.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if client := clientOf(c.RemoteAddr().String()); l.clients.add(client) == noLimit {
			l.conns.Inc()
			return &limitConn{Conn: c, l: l, client: client}, nil
		}
		l.refused.Inc()
		_ = c.Close() // the caller sees the end of the connection
	}
}

// clientOf returns the address of a client without its port.
func clientOf(remote string) string {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return remote
}

type limitConn struct {
	net.Conn
	l      *limitListener
	client string
	once   sync.Once
}

// Close releases the place once, however often it is called.
func (c *limitConn) Close() error {
	c.once.Do(func() {
		c.l.clients.remove(c.client)
		c.l.conns.Dec()
	})
	return c.Conn.Close()
}

// CloseWrite lets net/http end the answer to a request whose body it did not read completely, so
// that the caller sees the answer and not a reset connection.
func (c *limitConn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return nil
}
