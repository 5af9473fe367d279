package dynamotest

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPipe()
		p := make([]byte, 3)
		if n, err := a.Write([]byte("hello")); n != 5 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := b.Read(p); string(p[:n]) != "hel" || err != nil {
			t.Fatal(n, err)
		}
		start := time.Now()
		a.SetReadDeadline(start.Add(time.Hour))
		if _, err := a.Read(p); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Hour {
			t.Fatal(err, time.Since(start))
		}
		a.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
			b.Write([]byte("x"))
		}()
		if n, err := a.Read(p); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		a.Close()
		if _, err := a.Read(p); !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
		if _, err := b.Write(p); !errors.Is(err, io.ErrClosedPipe) {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(b); string(rest) != "lo" || err != nil {
			t.Fatal(string(rest), err)
		}
	})
}
