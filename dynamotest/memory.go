package dynamotest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// memory serves a handler over pairs of connected pipes. It starts its goroutines at the first
// connection, so that they belong to the testing/synctest bubble of the client.
type memory struct {
	transport *http.Transport
	server    *http.Server
	dialled   chan net.Conn
	closed    chan struct{}
	start     sync.Once
	running   sync.WaitGroup // Serve and the connections it serves
	closing   sync.Once
}

func newMemory(h http.Handler) *memory {
	m := &memory{dialled: make(chan net.Conn), closed: make(chan struct{})}
	m.transport = &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return m.dial(ctx) },
		MaxIdleConnsPerHost: 1000,
		DisableCompression:  true,
	}
	m.server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ConnState: m.count}
	return m
}

// RoundTrip implements http.RoundTripper. It sends the body from memory. The SDK closes its own
// body as soon as it has an answer. If the transport is still checking whether that body has ended,
// it takes the closed body for a failure and closes the connection from which the answer is being
// read. Only a server in the same process answers that early.
func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return m.transport.RoundTrip(r)
	}
	var buf bytes.Buffer
	buf.Grow(int(max(0, r.ContentLength)) + bytes.MinRead)
	_, err := buf.ReadFrom(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	own := *r
	own.Body = io.NopCloser(bytes.NewReader(buf.Bytes()))
	return m.transport.RoundTrip(&own)
}

// count counts the open connections. The goroutine of a connection ends when the connection is
// closed.
func (m *memory) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		m.running.Add(1)
	case http.StateClosed, http.StateHijacked:
		m.running.Done()
	default:
	}
}

func (m *memory) dial(ctx context.Context) (net.Conn, error) {
	m.start.Do(func() {
		m.running.Add(1)
		go func() {
			defer m.running.Done()
			_ = m.server.Serve(m) // returns http.ErrServerClosed after close
		}()
	})
	ours, theirs := newPipe()
	select {
	case m.dialled <- theirs:
		return ours, nil
	case <-m.closed:
		return nil, errors.New("dynamotest: the cloud is closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.dialled:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It ends Accept.
func (m *memory) Close() error {
	m.closing.Do(func() { close(m.closed) })
	return nil
}

// Addr implements net.Listener.
func (m *memory) Addr() net.Addr { return memoryAddr{} }

// close closes all connections and waits for their goroutines.
func (m *memory) close() error {
	err := errors.Join(m.Close(), m.server.Close())
	m.running.Wait()
	m.transport.CloseIdleConnections()
	return err
}
