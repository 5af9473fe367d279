package node

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors/kafka"
)

// TestBrokersAwait: a process that starts before its brokers waits, with a line at once and then
// each ten seconds. If the broker then accepts connections and never answers, the wait ends with
// the likely cause.
func TestBrokersAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var log bytes.Buffer
		b := &brokers{log: zerolog.New(&log), cluster: kafka.Cluster{Brokers: []string{"k1:9092"}}}
		b.cluster.WithDialer(func(_ context.Context, network, _ string) (net.Conn, error) {
			if time.Since(began) < time.Minute {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
			}
			here, there := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, there) }()
			return here, nil
		})
		err := b.await(t.Context())
		if took := time.Since(began).Round(time.Second); err == nil || !strings.Contains(err.Error(), "TLS") || took != 70*time.Second {
			t.Errorf("ended after %s: %v", took, err)
		}
		if lines := strings.Count(log.String(), `"brokers":["k1:9092"],"error":"unable to dial: dial tcp: connection refused","message":"brokers_waiting"`); lines != 6 {
			t.Errorf("%d lines:\n%s", lines, log.String())
		}
	})
}

// TestBrokersAwaitBehindProxy: a proxy closes or resets each connection while the broker starts.
// The wait lasts for some seconds, in which the broker may start, and ends with the likely cause.
func TestBrokersAwaitBehindProxy(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	for _, c := range []struct {
		starts time.Duration // then the proxy does not accept connections either
		reset  bool
		line   string
	}{
		{20 * time.Second, false, `is TLS missing?","message":"brokers_waiting"`},
		{20 * time.Second, true, `connection reset by peer","message":"brokers_waiting"`},
		{time.Hour, false, `is TLS missing?","message":"brokers_waiting"`},
		{time.Hour, true, `connection reset by peer","message":"brokers_waiting"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var log bytes.Buffer
			b := &brokers{log: zerolog.New(&log), cluster: kafka.Cluster{Brokers: []string{"k1:9092"}}}
			b.cluster.WithDialer(func(_ context.Context, network, _ string) (net.Conn, error) {
				if time.Since(began) >= c.starts {
					return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
				}
				here, there := net.Pipe()
				go func() {
					_, _ = there.Read(make([]byte, 1000))
					_ = there.Close()
				}()
				if c.reset {
					return resetConn{here, reset}, nil
				}
				return here, nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			err := b.await(ctx)
			took := time.Since(began).Round(time.Second)
			if ends := c.starts == time.Hour; ends && (err == nil || took < closedLimit || took > 2*closedLimit) ||
				!ends && (err != nil || took != 10*time.Minute) {
				t.Errorf("%+v: ended after %s: %v", c, took, err)
			}
			if !strings.Contains(log.String(), c.line) {
				t.Errorf("%+v: no line has the cause:\n%s", c, log.String())
			}
		})
	}
}

// resetConn is a connection whose reads fail as after a reset.
type resetConn struct {
	net.Conn
	err error
}

func (c resetConn) Read(b []byte) (int, error) {
	if n, err := c.Conn.Read(b); err == nil {
		return n, nil
	}
	return 0, c.err
}

// TestBrokersAwaitStops: the end of the context ends the wait without an error.
func TestBrokersAwaitStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &brokers{log: zerolog.Nop(), cluster: kafka.Cluster{Brokers: []string{"k1:9092"}}}
		b.cluster.WithDialer(func(_ context.Context, network, _ string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := b.await(ctx); err != nil {
			t.Error(err)
		}
	})
}
