package api

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
)

const token = "0123456789abcdef"

func TestNewRefuses(t *testing.T) {
	someTLS := &tls.Config{Certificates: []tls.Certificate{{}}}
	for name, c := range map[string]struct {
		change func(*Config)
		texts  []string // of the error; none: accepted
	}{
		"loopback":               {func(*Config) {}, nil},
		"localhost":              {func(c *Config) { c.Listen, c.OpsListen = "localhost:0", "[::1]:0" }, nil},
		"any, TLS and token":     {func(c *Config) { c.Listen, c.OpsListen, c.TLS, c.Token = ":0", "0.0.0.0:0", someTLS, token }, nil},
		"every interface":        {func(c *Config) { c.Listen = ":8080" }, []string{"Config.Listen", "Config.TLS", "Config.Token"}},
		"zero address":           {func(c *Config) { c.Listen = "0.0.0.0:8080" }, []string{"Config.Listen", "Config.TLS"}},
		"a name":                 {func(c *Config) { c.Listen = "weir.example:8080" }, []string{"Config.Listen"}},
		"looks like loopback":    {func(c *Config) { c.Listen = "127.0.0.1.example:8080" }, []string{"Config.Listen"}},
		"ops, every interface":   {func(c *Config) { c.OpsListen = "[::]:8081" }, []string{"Config.OpsListen", "Config.Token"}},
		"TLS without a token":    {func(c *Config) { c.Listen, c.TLS = ":8080", someTLS }, []string{"Config.Token", "without a token:"}},
		"token without TLS":      {func(c *Config) { c.Listen, c.Token = ":8080", token }, []string{"Config.TLS", "without TLS:"}},
		"short token":            {func(c *Config) { c.Token = "secret" }, []string{"6 bytes", "Config.Token"}},
		"TLS without a cert":     {func(c *Config) { c.TLS = &tls.Config{} }, []string{"Config.TLS"}},
		"no port":                {func(c *Config) { c.Listen = "127.0.0.1" }, []string{"Config.Listen", "host:port"}},
		"nothing to answer from": {func(c *Config) { c.Cluster = nil }, []string{"Config.Cluster"}},
		"two of one name":        {func(c *Config) { c.Apps = append(c.Apps, c.Apps[0]) }, []string{`have the name "spendcounter"`}},
		"no such default":        {func(c *Config) { c.DefaultApp = "spendcounter" }, []string{"not one of Config.Apps with a State"}},
		"negative limit":         {func(c *Config) { c.MaxConns = -1 }, []string{"negative"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			c.change(&cfg)
			_, err := New(cfg)
			if len(c.texts) == 0 {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			for _, want := range c.texts {
				field, ok := strings.CutPrefix(want, "Config.")
				if refused := (*FieldError)(nil); ok && field != "Spend" {
					if !errors.As(err, &refused) || !slices.Contains(refused.Fields, field) || strings.Contains(err.Error(), want) {
						t.Errorf("error %v is not a FieldError of %s, or its text has the name of the field", err, field)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v lacks %q", err, want)
				}
			}
		})
	}
	cfg := config()
	mustNew(t, cfg)
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "one registry serves one Server") {
		t.Errorf("a second server on one registry: %v", err)
	}
}

func TestRunAddressTaken(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, change := range []func(*Config){
		func(c *Config) { c.Listen = l.Addr().String() },
		func(c *Config) { c.OpsListen = l.Addr().String() },
	} {
		cfg := config()
		change(&cfg)
		s := mustNew(t, cfg)
		err := s.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), l.Addr().String()+" is taken by another process") {
			t.Errorf("Run: %v", err)
		}
		select {
		case <-s.Ready():
			t.Error("ready although it does not listen")
		default:
		}
	}
}

// TestProtocols calls the server by each protocol that the data listener supports, on one port
// without TLS.
func TestProtocols(t *testing.T) {
	s := mustNew(t, config())
	run(t, s)
	h2 := new(http.Protocols)
	h2.SetUnencryptedHTTP2(true)
	tr2 := &http.Transport{Protocols: h2}
	defer tr2.CloseIdleConnections()
	for name, c := range map[string]struct {
		http *http.Client
		opts []connect.ClientOption
	}{
		"connect, HTTP/1.1":         {client(t), nil},
		"connect JSON, HTTP/1.1":    {client(t), []connect.ClientOption{connect.WithProtoJSON()}},
		"connect GET, HTTP/1.1":     {client(t), []connect.ClientOption{connect.WithHTTPGet()}},
		"connect, h2c":              {&http.Client{Transport: tr2}, nil},
		"gRPC, h2c":                 {&http.Client{Transport: tr2}, []connect.ClientOption{connect.WithGRPC()}},
		"gRPC-Web, HTTP/1.1":        {client(t), []connect.ClientOption{connect.WithGRPCWeb()}},
		"gRPC-Web with gzip, h2c":   {&http.Client{Transport: tr2}, []connect.ClientOption{connect.WithGRPCWeb(), connect.WithSendGzip()}},
		"connect with gzip, HTTP/1": {client(t), []connect.ClientOption{connect.WithSendGzip()}},
	} {
		t.Run(name, func(t *testing.T) {
			cl := weirpbconnect.NewSpendServiceClient(c.http, "http://"+s.Addr(), c.opts...)
			res, err := cl.GetSpend(t.Context(), connect.NewRequest(&weirpb.GetSpendRequest{Campaign: "c1"}))
			if err != nil || res.Msg.GetChargedMicros() != 42000 {
				t.Fatalf("%v, %v", res, err)
			}
			_, err = cl.GetSpend(t.Context(), connect.NewRequest(&weirpb.GetSpendRequest{Campaign: "c9"}))
			if connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), "check the id") {
				t.Errorf("unknown campaign: %v", err)
			}
		})
	}
}

// TestCurl compares the answer to raw HTTP, as a shell script sees it.
func TestCurl(t *testing.T) {
	s := mustNew(t, config())
	run(t, s)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"campaign":"c1"}`
	_, err = io.WriteString(conn, "POST /weir.v1.SpendService/GetSpend HTTP/1.1\r\nHost: "+s.Addr()+
		"\r\nUser-Agent: curl/8\r\nAccept: */*\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 17\r\n\r\n"+body)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	head, answer, _ := strings.Cut(string(raw), "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || !strings.Contains(head, "Content-Type: application/json") {
		t.Errorf("head %q", head)
	}
	var got struct {
		Campaign, ChargedMicros string
		AsOf                    struct {
			Partition   int
			NextOffsets map[string]string
		}
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	if got.Campaign != "c1" || got.ChargedMicros != "42000" || got.AsOf.Partition != 5 || got.AsOf.NextOffsets["ads.events"] != "1234" {
		t.Errorf("%s", answer)
	}
	// The link on the index page.
	res, answer := get(t, client(t), "http://"+s.Addr()+"/weir.v1.ClusterService/GetCluster?connect=v1&encoding=json&message=%7B%7D")
	if res.StatusCode != http.StatusOK || !strings.Contains(answer, `"eventsTopic":"ads.events"`) {
		t.Errorf("GET: %d %s", res.StatusCode, answer)
	}
}

// TestTLSAndToken calls a server that other machines can reach.
func TestTLSAndToken(t *testing.T) {
	pki := httptest.NewUnstartedServer(nil) // only for its certificate, which is for 127.0.0.1
	pki.StartTLS()
	defer pki.Close()
	cfg := config()
	cfg.TLS = &tls.Config{Certificates: pki.TLS.Certificates}
	cfg.Token = token
	s := mustNew(t, cfg)
	run(t, s)
	trusting := func() *http.Transport {
		tr := pki.Client().Transport.(*http.Transport).Clone()
		tr.ForceAttemptHTTP2 = true
		t.Cleanup(tr.CloseIdleConnections)
		return tr
	}
	for _, c := range []struct {
		token string
		code  connect.Code
	}{{token, 0}, {"", connect.CodeUnauthenticated}, {token + "x", connect.CodeUnauthenticated}} {
		cl := NewClientWith(ClientConfig{Server: "https://" + s.Addr(), Token: c.token, Transport: trusting()})
		_, err := cl.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "c1"})
		if (err == nil) != (c.code == 0) || (err != nil && connect.CodeOf(err) != c.code) {
			t.Errorf("token %q: %v", c.token, err)
		}
		if err != nil && !strings.Contains(err.Error(), "Authorization: Bearer TOKEN") {
			t.Errorf("token %q: %v does not name the header", c.token, err)
		}
	}
	hc := &http.Client{Transport: trusting()}
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/metrics": 401, "/debug/pprof/": 401} {
		if res, _ := get(t, hc, "https://"+s.OpsAddr()+path); res.StatusCode != want || res.ProtoMajor != 2 {
			t.Errorf("%s without a token: %d by %s, want %d by HTTP/2", path, res.StatusCode, res.Proto, want)
		}
	}
	// A client that does not trust the certificate gets no answer.
	cl := NewClient("https://" + s.Addr())
	defer cl.Close()
	if _, err := cl.GetCluster(t.Context()); err == nil || !strings.Contains(err.Error(), "is not trusted") {
		t.Errorf("unknown certificate: %v", err)
	}
}

func TestOpsListener(t *testing.T) {
	var now atomic.Pointer[Readiness]
	now.Store(&Readiness{Reasons: []string{"partition 3 is restoring: 42 % done"}})
	cfg := config()
	cfg.Ready = func(context.Context) Readiness { return *now.Load() }
	s := mustNew(t, cfg)
	run(t, s)
	hc := client(t)
	ask := func(addr, path string) (int, string) {
		res, body := get(t, hc, "http://"+addr+path)
		return res.StatusCode, body
	}
	if code, body := ask(s.OpsAddr(), "/readyz"); code != 503 || body != `{"ready":false,"reasons":["partition 3 is restoring: 42 % done"]}`+"\n" {
		t.Errorf("/readyz: %d %q", code, body)
	}
	now.Store(&Readiness{Ready: true})
	if code, body := ask(s.OpsAddr(), "/readyz"); code != 200 || body != `{"ready":true,"reasons":[]}`+"\n" {
		t.Errorf("/readyz: %d %q", code, body)
	}
	now.Store(&Readiness{Ready: true, Stopped: []string{"partition 5 is stopped (why)"}})
	if code, body := ask(s.OpsAddr(), "/readyz"); code != 200 || body != `{"ready":true,"reasons":[],"stopped":["partition 5 is stopped (why)"]}`+"\n" {
		t.Errorf("/readyz with a stopped partition: %d %q", code, body)
	}
	if code, body := ask(s.Addr(), "/"); code != 200 || !strings.Contains(body, "partition 5 is stopped (why)") {
		t.Errorf("the index page lacks the stopped partition: %d %s", code, body)
	}
	if code, body := ask(s.OpsAddr(), "/livez"); code != 200 || body != `{"live":true}`+"\n" {
		t.Errorf("/livez: %d %q", code, body)
	}
	post(t, s.dataHandler(), getSpend, `{"campaign":"c9"}`)
	code, body := ask(s.OpsAddr(), "/metrics")
	for _, want := range []string{
		`weir_api_requests_total{code="not_found",procedure="/weir.v1.SpendService/GetSpend"} 1`,
		`weir_api_request_seconds_count{procedure="/weir.v1.SpendService/GetSpend"} 1`,
		`weir_api_connections{listener="ops"} 1`, "weir_build_info{", "go_goroutines ",
	} {
		if code != 200 || !strings.Contains(body, want) {
			t.Errorf("/metrics: %d, lacks %s", code, want)
		}
	}
	for path, want := range map[string]string{"/": "/readyz", "/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile"} {
		if code, body := ask(s.OpsAddr(), path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.80q", path, code, body)
		}
	}
	if code, _ := ask(s.OpsAddr(), "/weir.v1.ClusterService/GetCluster?connect=v1&encoding=json&message=%7B%7D"); code != 404 {
		t.Errorf("the ops listener answered an RPC: %d", code)
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/readyz"} {
		if code, _ := ask(s.Addr(), path); code != 404 {
			t.Errorf("the data listener has %s: %d", path, code)
		}
	}
}

// TestStopFinishesRequests stops during a request. The request is answered, /readyz reports the
// stop, a new connection is refused, and Run returns without an error.
func TestStopFinishesRequests(t *testing.T) {
	cfg := config()
	inside, release := make(chan struct{}), make(chan struct{})
	cfg.Spend.(*fakeSpend).during = func(context.Context) { close(inside); <-release }
	s := mustNew(t, cfg)
	stop := run(t, s)
	answer := make(chan error, 1)
	cl := NewClient(s.Addr())
	defer cl.Close()
	go func() {
		_, err := cl.GetSpend(context.Background(), &weirpb.GetSpendRequest{Campaign: "c1"})
		answer <- err
	}()
	<-inside
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	hc := client(t)
	for { // the flag is set a moment after the context ends
		if res, body := get(t, hc, "http://"+s.OpsAddr()+"/readyz"); res.StatusCode == 503 && strings.Contains(body, "stopping") {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("/readyz never reported the stop")
		}
	}
	hc.CloseIdleConnections()
	close(release)
	if err := <-answer; err != nil {
		t.Errorf("the request in progress: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := cl.GetCluster(t.Context()); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a request after the stop: %v", err)
	}
	if err := s.Run(t.Context()); err == nil {
		t.Error("Run succeeded a second time")
	}
}

// TestStopCuts stops during a request that would take for ever. Its context ends at the limit.
func TestStopCuts(t *testing.T) {
	cfg := config()
	cfg.ShutdownLimit = time.Millisecond
	inside := make(chan struct{})
	cfg.Spend.(*fakeSpend).wait = func(ctx context.Context, _ string) error { close(inside); <-ctx.Done(); return ctx.Err() }
	s := mustNew(t, cfg)
	stop := run(t, s)
	answer := make(chan error, 1)
	cl := NewClient(s.Addr())
	defer cl.Close()
	go func() {
		_, err := cl.GetSpend(context.Background(), &weirpb.GetSpendRequest{Campaign: "c1", Wait: true})
		answer <- err
	}()
	<-inside
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := <-answer; err == nil {
		t.Error("the request was answered although it was cut")
	}
}
