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

// TestBrokersAwaitBehindProxy: a proxy closes each connection while the broker starts. The wait
// lasts for some seconds, in which the broker may start, and ends with the likely cause.
func TestBrokersAwaitBehindProxy(t *testing.T) {
	for _, starts := range []time.Duration{10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var log bytes.Buffer
			b := &brokers{log: zerolog.New(&log), cluster: kafka.Cluster{Brokers: []string{"k1:9092"}}}
			b.cluster.WithDialer(func(_ context.Context, network, _ string) (net.Conn, error) {
				if time.Since(began) >= starts { // then another error follows
					return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
				}
				here, there := net.Pipe()
				go func() {
					_, _ = there.Read(make([]byte, 1000))
					_ = there.Close()
				}()
				return here, nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := b.await(ctx)
			took := time.Since(began).Round(time.Second)
			if closed := starts == time.Hour; closed && (err == nil || !strings.Contains(err.Error(), "TLS") || took < closedLimit || took > 2*closedLimit) ||
				!closed && (err != nil || took != time.Minute) {
				t.Errorf("ended after %s: %v", took, err)
			}
			if !strings.Contains(log.String(), `is TLS missing?","message":"brokers_waiting"`) {
				t.Errorf("no line has the likely cause:\n%s", log.String())
			}
		})
	}
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
