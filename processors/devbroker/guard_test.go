package devbroker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rawRequest returns a request that states size and has body.
func rawRequest(size int, body ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(size)), body...)
}

// TestGuard opens 30 connections of each kind that kfake does not survive. The broker closes them,
// allocates little, logs one line, and still serves a client.
func TestGuard(t *testing.T) {
	var log bytes.Buffer
	b := start(t, Config{Topics: topics(1), Log: new(zerolog.New(zerolog.SyncWriter(&log)))})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, sent := range map[string][]byte{
		"web page":        []byte("POST / HTTP/1.1\r\nHost: 127.0.0.1:9092\r\n\r\n"),
		"stated only":     rawRequest(maxRequest, 0, 0, 0, 9), // a Produce request, of which nothing follows
		"unknown API key": rawRequest(20, 0x21, 0x12, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
		"shorter than 8":  rawRequest(3, 0, 0, 0),
	} {
		for range 30 {
			c, err := net.Dial("tcp", b.Addrs()[0])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write(sent); err != nil {
				t.Fatal(err)
			}
			_ = c.(*net.TCPConn).CloseWrite()                // the broker may have closed the connection already
			if answer, _ := io.ReadAll(c); len(answer) > 0 { // a reset is an end, too
				t.Fatalf("%s: answer %q", name, answer)
			}
			_ = c.Close()
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 { // 1 MB; GBs without the guard
		t.Errorf("the broker allocated %d MB", grown>>20)
	}
	cl := client(t, b, kgo.ProducerBatchMaxBytes(4<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for _, size := range []int{10, keepBuffer, 3 << 20, 10} {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "log", Key: fmt.Append(nil, size), Value: make([]byte, size)}).FirstErr(); err != nil {
			t.Errorf("a record of %d bytes: %v", size, err)
		}
	}
	if got := committed(t, b, "log")[0]; len(got) != 4 || len(got[2]) != 3<<20 {
		t.Errorf("%d records were stored", len(got))
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "connection_refused"); n != 1 {
		t.Errorf("%d lines about refused connections, want one a minute", n)
	}
}

// TestGuardConnections: connections above the limit are closed at once, until others are closed.
func TestGuardConnections(t *testing.T) {
	l, err := listenGuarded(zerolog.Nop())("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.(*guard).limit = 2
	accepted := make(chan net.Conn, 10)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	dial()
	first, second := <-accepted, <-accepted
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("the third connection has an answer")
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	_ = first.Close() // twice, as kfake does
	dial()
	third := <-accepted
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("a connection above the limit has an answer, after one was closed twice")
	}
	for _, c := range []io.Closer{l, second, third} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if c, more := <-accepted; more {
		t.Errorf("accepted %v", c.RemoteAddr())
	}
}

// passed returns the length of the complete requests at the start of data, and how they end.
func passed(data []byte) (n int, end error) {
	for rest := data; ; rest = data[n:] {
		if len(rest) == 0 {
			return n, io.EOF
		}
		if len(rest) < 4 {
			return n, io.ErrUnexpectedEOF
		}
		size := int(binary.BigEndian.Uint32(rest))
		if size < minRequest || size > maxRequest {
			return n, errNotKafka
		}
		if len(rest) < 6 {
			return n, io.ErrUnexpectedEOF
		}
		if kmsg.RequestForKey(int16(binary.BigEndian.Uint16(rest[4:]))) == nil {
			return n, errNotKafka
		}
		if len(rest) < 4+size {
			return n, io.ErrUnexpectedEOF
		}
		n += 4 + size
	}
}

// cutReader returns data in pieces whose lengths are in cuts.
type cutReader struct {
	data, cuts []byte
	net.Conn
}

func (r *cutReader) Read(p []byte) (int, error) {
	n := len(r.data)
	if n == 0 {
		return 0, io.EOF
	}
	if len(r.cuts) > 0 {
		n, r.cuts = min(n, 1+int(r.cuts[0])), r.cuts[1:]
	}
	n = copy(p, r.data[:n])
	r.data = r.data[n:]
	return n, nil
}

func (*cutReader) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// FuzzGuard: however the network and the reader divide the bytes, the same requests pass, with the
// same end.
func FuzzGuard(f *testing.F) {
	ok := rawRequest(10, 0, 18, 0, 3, 0, 0, 0, 1, 0xff, 0xff)
	f.Add(bytes.Repeat(ok, 3), []byte{0, 5, 2}, uint8(1))
	f.Add(append(bytes.Clone(ok), "GET / HTTP/1.1\r\n\r\n"...), []byte{3, 3, 3}, uint8(9))
	f.Add(append(bytes.Clone(ok), rawRequest(50, 1, 1)...), []byte{16, 200}, uint8(255))
	f.Add(rawRequest(9, 0x7f), []byte{}, uint8(3))
	f.Fuzz(func(t *testing.T, data, cuts []byte, size uint8) {
		n, end := passed(data)
		c := &guardedConn{Conn: &cutReader{data: data, cuts: cuts}, g: &guard{}}
		var got []byte
		var err error
		for piece := make([]byte, 1+int(size)); err == nil; {
			var k int
			k, err = c.Read(piece)
			got = append(got, piece[:k]...)
		}
		if !bytes.Equal(got, data[:n]) || !errors.Is(err, end) {
			t.Errorf("%d bytes and %v, want %d and %v", len(got), err, n, end)
		}
	})
}

// TestGuardPassesErrors: an error of the network is the reader's error.
func TestGuardPassesErrors(t *testing.T) {
	broken := errors.New("broken")
	if err := nextRequest(&bytes.Buffer{}, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
