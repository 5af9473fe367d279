package dynamotest

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// newPipe returns the two ends of a connection in memory. Unlike with net.Pipe, a write does not
// wait for the reader: when the answer arrives while an HTTP client is still writing the request,
// the client closes the connection.
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

// Close ends both directions. Bytes that the other end wrote are lost; bytes that this end wrote
// can still be read.
func (e *end) Close() error {
	e.in.end(net.ErrClosed)
	e.out.end(io.EOF)
	return nil
}

func (e *end) LocalAddr() net.Addr               { return memoryAddr{} }
func (e *end) RemoteAddr() net.Addr              { return memoryAddr{} }
func (e *end) SetDeadline(t time.Time) error     { return e.SetReadDeadline(t) }
func (e *end) SetWriteDeadline(time.Time) error  { return nil } // a write never waits
func (e *end) SetReadDeadline(t time.Time) error { e.in.readBy(t); return nil }

// memoryAddr is the address of both ends of a pipe.
type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

// buffer is one direction of a connection: the bytes that were written and not yet read.
type buffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	bytes   []byte
	ended   error // the error of reads after the last byte; net.ErrClosed applies at once
	late    bool  // the read deadline has passed
	timer   *time.Timer
	timers  int // number of timers so far: a replaced timer has no effect
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

// end ends the direction with an error. net.ErrClosed, from the reader, replaces the error of the
// writer.
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

// readBy sets the deadline of reads. The zero time means no deadline.
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
