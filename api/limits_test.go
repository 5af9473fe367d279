package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/internal/obs"
)

// pipeListener is a network inside a synctest bubble, in which timeouts take no time.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

func (l *pipeListener) dial() net.Conn {
	ours, theirs := net.Pipe()
	l.conns <- theirs
	return ours
}

// bubble runs test with a served listener in virtual time.
func bubble(t *testing.T, cfg func() Config, test func(t *testing.T, l *pipeListener, reg *obs.Registry)) {
	synctest.Test(t, func(t *testing.T) {
		c := cfg()
		s := mustNew(t, c)
		data, ops := newPipeListener(), newPipeListener()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		s.data, s.ops = data, ops
		go func() { done <- s.serve(ctx) }()
		<-s.Ready()
		test(t, data, c.Registry)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

const askHead = "POST /weir.v1.SpendService/GetSpend HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\n"

// TestSlowCallers runs the forms of slowloris. Each connection is closed at its limit, in virtual
// time.
func TestSlowCallers(t *testing.T) {
	for name, c := range map[string]struct {
		send  string
		drip  string // sent after that, once a second
		limit time.Duration
	}{
		"says nothing":                {"", "", headerTimeout},
		"half a header":               {askHead + "X-A: ", "a", headerTimeout},
		"header lines one by one":     {askHead, "X-A: b\r\n", headerTimeout},
		"half an HTTP/2 preface":      {"PRI * HTTP/2.0\r\n", "", headerTimeout},
		"a body that never ends":      {askHead + "Content-Length: 1000\r\n\r\n", " ", readTimeout},
		"a body that never begins":    {askHead + "Content-Length: 1000\r\n\r\n", "", readTimeout},
		"a slow chunked body":         {askHead + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", readTimeout},
		"idle after one request":      {askHead + "Content-Length: 17\r\n\r\n" + `{"campaign":"c1"}`, "", idleTimeout},
		"HTTP/2 without ping answers": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "", pingAfter + pingTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, config, func(t *testing.T, l *pipeListener, _ *obs.Registry) {
				begin := time.Now()
				conn := l.dial()
				written := make(chan struct{})
				go func() {
					defer close(written)
					_, err := io.WriteString(conn, c.send)
					for i := 0; err == nil && c.drip != ""; i++ {
						if i == 600 { // the limit failed: end the test
							conn.Close()
							return
						}
						<-time.After(time.Second) // virtual
						_, err = io.WriteString(conn, c.drip)
					}
				}()
				if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("read: %v", err)
				}
				conn.Close()
				took := time.Since(begin)
				<-written
				if took < c.limit || took > c.limit+5*time.Second {
					t.Errorf("closed after %s, want %s", took, c.limit)
				}
			})
		})
	}
}

// TestLongWait waits longer than a body may take to arrive. That limit must not end a request that
// was read.
func TestLongWait(t *testing.T) {
	waiting := func() Config {
		cfg := config()
		cfg.Spend.(*fakeSpend).wait = func(ctx context.Context, _ string) error {
			select {
			case <-time.After(readTimeout + 20*time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return cfg
	}
	bubble(t, waiting, func(t *testing.T, l *pipeListener, _ *obs.Registry) {
		for _, protocol := range []func(*http.Protocols){
			func(p *http.Protocols) { p.SetHTTP1(true) },
			func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
		} {
			p := new(http.Protocols)
			protocol(p)
			tr := &http.Transport{Protocols: p, DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial(), nil }}
			cl := NewClientWith(ClientConfig{Server: "127.0.0.1:8080", Transport: tr})
			begin := time.Now()
			res, err := cl.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "c1", Wait: true})
			if err != nil || res.GetChargedMicros() != 42000 {
				t.Errorf("%s: %v, %v after %s", p, res, err, time.Since(begin))
			}
			cl.Close()
		}
	})
}

// TestStuckRequest stops with a request that ignores the end of its context. Run reports it and
// returns within its limits.
func TestStuckRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		inside, release := make(chan struct{}), make(chan struct{})
		cfg.Spend.(*fakeSpend).during = func(context.Context) { close(inside); <-release }
		s := mustNew(t, cfg)
		data, ops := newPipeListener(), newPipeListener()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		s.data, s.ops = data, ops
		go func() { done <- s.serve(ctx) }()
		conn := data.dial()
		go func() { _, _ = io.WriteString(conn, askHead+"Content-Length: 17\r\n\r\n"+`{"campaign":"c1"}`) }()
		<-inside
		begin := time.Now()
		cancel()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "1 requests on the data listener did not end") {
			t.Errorf("serve: %v", err)
		}
		if took := time.Since(begin); took > s.cfg.ShutdownLimit+cutGrace {
			t.Errorf("the stop took %s", took)
		}
		close(release)
		conn.Close()
	})
}

// TestConnectionLimit opens one connection more than allowed. It is closed at once and counted, the
// others work, and a closed connection frees its place.
func TestConnectionLimit(t *testing.T) {
	limited := func() Config {
		cfg := config()
		cfg.MaxConns, cfg.MaxConnsPerClient = 2, 2
		return cfg
	}
	bubble(t, limited, func(t *testing.T, l *pipeListener, reg *obs.Registry) {
		a, b, c := l.dial(), l.dial(), l.dial()
		if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("third connection: %d, %v, want its end", n, err)
		}
		if got := metric(t, reg, "weir_api_connections_refused_total", "data"); got != 1 {
			t.Errorf("refused = %v, want 1", got)
		}
		a.Close()
		synctest.Wait()
		if got := metric(t, reg, "weir_api_connections", "data"); got != 1 {
			t.Errorf("open = %v, want 1", got)
		}
		d := l.dial()
		for _, conn := range []net.Conn{b, d} {
			go func() { _, _ = io.WriteString(conn, askHead+"Content-Length: 17\r\n\r\n"+`{"campaign":"c1"}`) }()
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("a connection within the limit: %v, %v", res, err)
			}
			res.Body.Close()
			conn.Close()
		}
		c.Close()
	})
}

// addressed is a connection from an address.
type addressed struct {
	net.Conn
	from string
}

func (c addressed) RemoteAddr() net.Addr {
	addr, err := net.ResolveTCPAddr("tcp", c.from)
	if err != nil {
		panic(err)
	}
	return addr
}

// TestConnectionLimitOfClient: one address opens connections, sends half a request on each, and
// repeats that whenever the server closes them. Another address is answered all the time.
func TestConnectionLimitOfClient(t *testing.T) {
	limited := func() Config {
		cfg := config()
		cfg.MaxConns = 8
		return cfg
	}
	bubble(t, limited, func(t *testing.T, l *pipeListener, reg *obs.Registry) {
		dial := func(from string) net.Conn {
			ours, theirs := net.Pipe()
			l.conns <- addressed{theirs, from}
			return ours
		}
		for round := range 3 {
			for port := range 20 {
				conn := dial(fmt.Sprintf("10.0.0.1:%d", 1000*round+port+1))
				defer conn.Close()
				go func() { _, _ = io.WriteString(conn, askHead) }()
			}
			synctest.Wait()
			if got := metric(t, reg, "weir_api_connections", "data"); got != 4 {
				t.Errorf("round %d: %v connections of one address, want 4", round, got)
			}
			other := dial("[2001:db8::1]:1")
			go func() { _, _ = io.WriteString(other, askHead+"Content-Length: 17\r\n\r\n"+`{"campaign":"c1"}`) }()
			res, err := http.ReadResponse(bufio.NewReader(other), nil)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("round %d: another address got %v, %v", round, res, err)
			}
			res.Body.Close()
			other.Close()
			<-time.After(headerTimeout + time.Second) // the server closes the half requests
		}
		if got := metric(t, reg, "weir_api_connections", "data"); got != 0 {
			t.Errorf("%v connections at the end, want 0", got)
		}
	})
}

func TestHeaderLimit(t *testing.T) {
	bubble(t, config, func(t *testing.T, l *pipeListener, _ *obs.Registry) {
		conn := l.dial()
		defer conn.Close()
		go func() {
			_, _ = io.WriteString(conn, askHead+"X-A: "+strings.Repeat("a", maxHeaderBytes+8192)+"\r\n\r\n")
		}()
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Fatalf("%v, %v, want 431", res, err)
		}
		res.Body.Close()
	})
}

// TestBodyLimit sends 8 KiB that decompress to 8 MiB. The limit is on the size after decompression.
func TestBodyLimit(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := io.Copy(z, io.LimitReader(zeros{}, 8<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+getSpend, &bomb)
	r.Header.Set("Content-Type", "application/proto")
	r.Header.Set("Content-Encoding", "gzip")
	cfg := config()
	w := httptest.NewRecorder()
	mustNew(t, cfg).dataHandler().ServeHTTP(w, r)
	if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "resource_exhausted") || w.Header().Get("Retry-After") != "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if got := metric(t, cfg.Registry, "weir_api_requests_total", codeRejected, getSpend); got != 1 {
		t.Errorf("rejected = %v, want 1", got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestRequestLimit keeps one request at work, so that a second one exceeds the limit. A third
// request succeeds after it.
func TestRequestLimit(t *testing.T) {
	cfg := config()
	cfg.MaxRequests = 1
	inside, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	cfg.Spend.(*fakeSpend).during = func(context.Context) { once.Do(func() { close(inside); <-release }) }
	h := mustNew(t, cfg).dataHandler()
	first := make(chan string)
	go func() {
		status, body := post(t, h, getSpend, `{"campaign":"c1"}`)
		first <- fmt.Sprint(status, body[:1])
	}()
	<-inside
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+getSpend, strings.NewReader(`{"campaign":"c1"}`))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "try again in a moment") || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	close(release)
	if got := <-first; got != "200{" {
		t.Errorf("the first one: %s", got)
	}
	if status, body := post(t, h, getSpend, `{"campaign":"c1"}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}

func TestGate(t *testing.T) {
	g := newInflightLimiter(2)
	for i, want := range []bool{true, true, false} {
		if ok, stopping := g.enter(); ok != want || stopping {
			t.Errorf("enter %d: %v, stopping %v", i, ok, stopping)
		}
	}
	g.leave()
	idle := g.close()
	if ok, stopping := g.enter(); ok || !stopping {
		t.Error("a closed limiter accepted a request, or reported the wrong reason")
	}
	select {
	case <-idle:
		t.Error("idle with a request inside")
	default:
	}
	g.leave()
	<-idle
	<-g.close() // again: still idle, and no panic
}
