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
