package dynamotest

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// newPipe returns the two ends of a connection in memory. Unlike those of net.Pipe, a write does not wait for the reader:
// an HTTP client takes the answer to a request that it is still writing for an answer to nothing, and gives up.
func newPipe() (a, b net.Conn) {
	ab, ba := newBuffer(), newBuffer()
	return &end{in: ba, out: ab}, &end{in: ab, out: ba}
}

// end is one end of a connection.
type end struct {
	in, out *buffer
}

func (e *end) Read(p []byte) (int, error)  { return e.in.read(p) }
func (e *end) Write(p []byte) (int, error) { return e.out.write(p) }

// Close ends both directions: what the other end wrote is lost, what this end wrote can still be read.
func (e *end) Close() error {
	e.in.end(net.ErrClosed)
	e.out.end(io.EOF)
	return nil
}

func (e *end) LocalAddr() net.Addr               { return memoryAddr{} }
func (e *end) RemoteAddr() net.Addr              { return memoryAddr{} }
func (e *end) SetDeadline(t time.Time) error     { return e.SetReadDeadline(t) }
func (e *end) SetWriteDeadline(time.Time) error  { return nil } // a write does not wait
func (e *end) SetReadDeadline(t time.Time) error { e.in.readBy(t); return nil }

// memoryAddr is the address of no network.
type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

// buffer is one direction of a connection: what was written and not read yet.
type buffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	bytes   []byte
	ended   error // what a read returns after the last byte; net.ErrClosed also before it
	late    bool  // the deadline has passed
	timer   *time.Timer
	timers  int // made so far: one that was replaced has no effect
}

func newBuffer() *buffer {
	b := &buffer{}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *buffer) read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case b.ended == net.ErrClosed: //nolint:errorlint // ended is never wrapped
			return 0, b.ended
		case b.late:
			return 0, os.ErrDeadlineExceeded
		case len(b.bytes) > 0:
			n := copy(p, b.bytes)
			if b.bytes = b.bytes[n:]; len(b.bytes) == 0 {
				b.bytes = nil
			}
			return n, nil
		case b.ended != nil:
			return 0, b.ended
		case len(p) == 0:
			return 0, nil
		}
		b.changed.Wait()
	}
}

func (b *buffer) write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return 0, io.ErrClosedPipe
	}
	b.bytes = append(b.bytes, p...)
	b.changed.Broadcast()
	return len(p), nil
}

// end ends the direction. The reader's end goes before the writer's.
func (b *buffer) end(with error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended == nil || with == net.ErrClosed { //nolint:errorlint // with is never wrapped
		b.ended = with
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.changed.Broadcast()
}

// readBy sets the deadline of reads; the zero time is none.
func (b *buffer) readBy(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	b.timers++
	b.late = false
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		b.late = true
		b.changed.Broadcast()
		return
	}
	mine := b.timers
	b.timer = time.AfterFunc(left, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.timers == mine {
			b.late = true
			b.changed.Broadcast()
		}
	})
}
