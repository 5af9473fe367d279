package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
)

// listen binds addr. Key is the configuration key that holds it, for the error.
func listen(ctx context.Context, key, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("api: %s %s is taken by another process, perhaps another weir: stop it, or choose another port (%s; --listen for the data listener): %w",
			key, addr, key, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("api: this user may not listen on %s: choose a port above 1023 (%s): %w", addr, key, err)
	case err != nil:
		return nil, fmt.Errorf("api: cannot listen on %s: check %s: %w", addr, key, err)
	}
	return l, nil
}

// limitListener closes connections above a limit at once. The alternative, not to accept, would leave callers waiting
// in the kernel's queue behind those that hold the places, without a sign of why.
type limitListener struct {
	net.Listener
	limit   int64
	open    atomic.Int64
	conns   prometheus.Gauge
	refused prometheus.Counter
}

// Accept gives the next connection within the limit.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.limit {
			l.conns.Inc()
			return &limitConn{Conn: c, l: l}, nil
		}
		l.open.Add(-1)
		l.refused.Inc()
		_ = c.Close() // the caller sees the end of the connection; there is no one else to tell
	}
}

type limitConn struct {
	net.Conn
	l    *limitListener
	once sync.Once
}

// Close gives the place back once, however often it is called.
func (c *limitConn) Close() error {
	c.once.Do(func() {
		c.l.open.Add(-1)
		c.l.conns.Dec()
	})
	return c.Conn.Close()
}

// CloseWrite lets net/http end an answer to a request that it did not read to its end, so that the caller sees the
// answer and not a reset connection.
func (c *limitConn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return nil
}
