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

// listen binds addr. field is the field of Config that has it, for the error.
func listen(ctx context.Context, field, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		err = fmt.Errorf("the address %s is taken by another process, perhaps another weir: stop it, or use another port in Config.%s: %w", addr, field, err)
	case errors.Is(err, syscall.EACCES):
		err = fmt.Errorf("this user may not listen on %s: use a port above 1023 in Config.%s: %w", addr, field, err)
	default:
		err = fmt.Errorf("cannot listen on %s: correct Config.%s: %w", addr, field, err)
	}
	return nil, &FieldError{[]string{field}, err}
}

// limitListener closes connections above a limit at once. If it did not accept them, callers would
// wait in the kernel's queue without an error.
type limitListener struct {
	net.Listener
	limit   int64
	open    atomic.Int64
	conns   prometheus.Gauge
	refused prometheus.Counter
}

// Accept returns the next connection within the limit.
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
		_ = c.Close() // the caller sees the end of the connection
	}
}

type limitConn struct {
	net.Conn
	l    *limitListener
	once sync.Once
}

// Close releases the place once, however often it is called.
func (c *limitConn) Close() error {
	c.once.Do(func() {
		c.l.open.Add(-1)
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
