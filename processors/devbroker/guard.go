package devbroker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	maxConnections = 1024        // weir dev has about 60
	maxRequest     = 100 << 20   // Kafka's socket.request.max.bytes, which is also the client's limit
	minRequest     = 8           // key, version and correlation id
	keepBuffer     = 64 << 10    // a larger buffer is freed after its request
	refusalLog     = time.Minute // between two log lines about refused connections
)

// guard is a listener whose connections pass on complete Kafka requests only. kfake allocates the
// length that the first four bytes of a request state, and panics if it does not know the request's
// key. Every web page can open such connections: a browser sends "POST" to any port, which states
// 1.3 GB.
type guard struct {
	net.Listener
	limit int // of open connections
	log   zerolog.Logger

	mu      sync.Mutex
	open    int
	refused int       // connections since the last log line
	logged  time.Time // the last log line
}

// listenGuarded returns net.Listen with a guard.
func listenGuarded(log zerolog.Logger) func(network, address string) (net.Listener, error) {
	return func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address) //nolint:noctx // kfake has no context
		if err != nil {
			return nil, err
		}
		return &guard{Listener: l, limit: maxConnections, log: log}, nil
	}
}

// Accept returns the next connection within the limit. It closes connections above the limit at
// once, so that their clients see an error.
func (g *guard) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g.enter() {
			return &guardedConn{Conn: c, g: g}, nil
		}
		g.refuse(c, fmt.Errorf("the dev broker has %d connections, which is its limit: close some", g.limit))
		_ = c.Close() // the client sees the end of the connection
	}
}

func (g *guard) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open >= g.limit {
		return false
	}
	g.open++
	return true
}

func (g *guard) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
}

// refuse logs why a connection is closed, once a minute at most.
func (g *guard) refuse(c net.Conn, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused++
	if now := time.Now(); g.logged.IsZero() || now.Sub(g.logged) >= refusalLog {
		g.log.Warn().Err(why).Stringer("remote", c.RemoteAddr()).Int("connections", g.refused).Msg("connection_refused")
		g.refused, g.logged = 0, now
	}
}

// guardedConn passes on requests once they are complete: memory grows with the bytes that were
// received, and not with the length that was stated. One goroutine may read.
type guardedConn struct {
	net.Conn
	g       *guard
	request bytes.Buffer // rest of the current request
	once    sync.Once
}

// Read reads from the current request, or waits for the next one.
func (c *guardedConn) Read(p []byte) (int, error) {
	if c.request.Len() == 0 {
		if err := nextRequest(&c.request, c.Conn); err != nil {
			if errors.Is(err, errNotKafka) {
				c.g.refuse(c.Conn, err)
			}
			return 0, err
		}
	}
	n, err := c.request.Read(p)
	if c.request.Len() == 0 && c.request.Cap() > keepBuffer {
		c.request = bytes.Buffer{}
	}
	return n, err
}

// Close releases the place of the connection once, however often it is called.
func (c *guardedConn) Close() error {
	c.once.Do(c.g.leave)
	return c.Conn.Close()
}

// errNotKafka means that bytes cannot be a request to the broker.
var errNotKafka = errors.New("not a Kafka request")

// nextRequest reads a request with its length into the empty buffer to. At the end of from it
// returns io.EOF, or io.ErrUnexpectedEOF within a request.
func nextRequest(to *bytes.Buffer, from io.Reader) error {
	to.Reset()
	if _, err := io.CopyN(to, from, 4); err != nil {
		return within(to, err)
	}
	size := int64(binary.BigEndian.Uint32(to.Bytes()))
	if size < minRequest || size > maxRequest {
		return fmt.Errorf("%w: the first bytes %q state a length of %d, want %d to %d", errNotKafka, to.Bytes(), size, minRequest,
			maxRequest)
	}
	if _, err := io.CopyN(to, from, 2); err != nil {
		return within(to, err)
	}
	if key := int16(binary.BigEndian.Uint16(to.Bytes()[4:])); kmsg.RequestForKey(key) == nil {
		return fmt.Errorf("%w: %d is not an API key", errNotKafka, key)
	}
	_, err := io.CopyN(to, from, size-2)
	return within(to, err)
}

// within returns the error of a read, where the end of the input is unexpected if a request has
// begun.
func within(request *bytes.Buffer, err error) error {
	if errors.Is(err, io.EOF) && request.Len() > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
