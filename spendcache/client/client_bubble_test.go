//go:build synctests

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
)

// servers answers requests in the place of spend caches. It implements http.RoundTripper.
type servers struct {
	mu       sync.Mutex
	requests []string                          // URL hosts, in order
	reports  []*weirpb.ReportInsertionsRequest // that were taken
	by       map[string]*server
}

// server is one spend cache.
type server struct {
	delay   time.Duration
	err     error
	status  int    // 0: 200
	mode    string // of the answers
	age     time.Duration
	charged int64
	token   string // of the last request
	// pacing is the answer about an account's pacing, without its times; tick is its time, and skew
	// by how much the clock of the cache is behind that of the controller.
	pacing []*weirpb.CampaignParameters
	tick   time.Time
	skew   time.Duration
}

// parameters is the answer about an account's pacing.
func (s *server) parameters(account, host string) *weirpb.GetParametersResponse {
	m := &weirpb.GetParametersResponse{Account: account}
	if s.pacing != nil {
		m.WriterDc, m.TickMs, m.AgeMs = host, s.tick.UnixMilli(), max(0, (time.Since(s.tick)-s.skew).Milliseconds())
	}
	for _, c := range s.pacing {
		c = proto.CloneOf(c)
		c.AgeMs += m.AgeMs
		m.Campaigns = append(m.Campaigns, c)
	}
	return m
}

// RoundTrip implements http.RoundTripper.
func (s *servers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.requests = append(s.requests, r.URL.Host)
	at := *s.by[r.URL.Host]
	s.by[r.URL.Host].token = r.Header.Get("Authorization")
	s.mu.Unlock()
	select {
	case <-time.After(at.delay):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if at.err != nil {
		return nil, at.err
	}
	if strings.HasSuffix(r.URL.Path, "/ReportInsertions") {
		return s.takeReport(r, at, body)
	}
	req := &weirpb.GetAccountRequest{} // GetParametersRequest has the same account
	if err := proto.Unmarshal(body, req); err != nil {
		return nil, err
	}
	var res proto.Message = at.parameters(req.GetAccount(), r.URL.Host)
	if strings.HasSuffix(r.URL.Path, "/GetAccount") {
		res = &weirpb.GetAccountResponse{
			Account: req.GetAccount(), Choice: &weirpb.DatasetChoice{Mode: at.mode, Dc: r.URL.Host, AgeMs: at.age.Milliseconds()},
			Rows: []*weirpb.SpendRow{{Campaign: "c", Day: "2026-11-25", Currency: "USD", ChargedMicros: at.charged, RefundedMicros: 1}},
		}
	}
	out, err := proto.Marshal(res)
	if err != nil {
		return nil, err
	}
	return answerOf(r, at, out), nil
}

// takeReport takes a report of ads.
func (s *servers) takeReport(r *http.Request, at server, body []byte) (*http.Response, error) {
	m := &weirpb.ReportInsertionsRequest{}
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, err
	}
	if at.status == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reports = append(s.reports, m)
	}
	return answerOf(r, at, nil), nil
}

// answerOf returns the answer of a server.
func answerOf(r *http.Request, at server, out []byte) *http.Response {
	h := http.Header{"Content-Type": {"application/proto"}}
	if at.status != 0 {
		h.Set("Content-Type", "application/json")
		code := map[int]string{400: "invalid_argument", 429: "resource_exhausted", 500: "internal", 503: "unavailable"}[at.status]
		out = []byte(`{"code":"` + code + `","message":"no"}`)
	}
	return &http.Response{
		StatusCode: max(at.status, 200), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(bytes.NewReader(out)),
		ContentLength: int64(len(out)), Request: r,
	}
}

// asked returns the hosts that were asked since the last call.
func (s *servers) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.requests
	s.requests = nil
	return list
}

func (s *servers) set(host string, change func(*server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.by[host])
}

// fixture is a client of two servers.
type fixture struct {
	*testing.T
	*Client
	*servers
}

func inBubble(t *testing.T, adjust func(*Config), f func(x *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &servers{by: map[string]*server{
			"eu": {mode: "normal", age: time.Second, charged: 11, delay: time.Millisecond},
			"us": {mode: "normal", age: 2 * time.Second, charged: 21, delay: time.Millisecond},
		}}
		cfg := Config{Endpoints: []string{"https://eu", "https://us/"}, Transport: s}
		if adjust != nil {
			adjust(&cfg)
		}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		f(&fixture{t, c, s})
		c.Close()
	})
}

// account reads an account, and checks that the call takes no longer than the limit.
func (x *fixture) account(name string) (*Account, error) {
	x.Helper()
	began := time.Now()
	a, err := x.Account(context.Background(), name)
	if took := time.Since(began); took > x.cfg.Limit {
		x.Errorf("Account took %v", took)
	}
	if err == nil && a.Name != name {
		x.Errorf("account %q: %+v", name, a)
	}
	return a, err
}

// expect reads account a, checks its endpoint and mode, and which endpoints were asked.
func (x *fixture) expect(endpoint string, mode Mode, asked ...string) *Account {
	x.Helper()
	a, err := x.account("a")
	synctest.Wait()
	got := x.asked()
	if err != nil || a.Endpoint != "https://"+endpoint || a.Mode() != mode || !slices.Equal(got, asked) {
		x.Errorf("%+v %v, asked %q; want %s, %v, asked %q", a, err, got, endpoint, mode, asked)
	}
	return a
}

// TestKeeps: an answer serves until it is read again, ahead of its end if it is asked for, and with
// a wait if it is older.
func TestKeeps(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		a := x.expect("eu", Normal, "eu")
		if got := a.Spent("c", "2026-11-25", "USD"); got != 10 {
			x.Errorf("spent %d", got)
		}
		if a.Spent("c", "2026-11-25", "EUR") != 0 || a.Spent("d", "2026-11-25", "USD") != 0 {
			x.Error("spent without a row")
		}
		if age := a.Age(); age < time.Second || age > 1100*time.Millisecond {
			x.Errorf("age %v", age)
		}
		for range 7 {
			time.Sleep(500 * time.Millisecond)
			x.expect("eu", Normal)
		}
		if got := a.Age(); got < 4500*time.Millisecond {
			x.Errorf("age %v after 3.5 s", got)
		}
		x.set("eu", func(s *server) { s.charged = 12 })
		time.Sleep(920 * time.Millisecond) // between 80 % of 5.5 s and 4.5 s
		x.expect("eu", Normal, "eu")       // the former answer, and a request in the background
		time.Sleep(2 * time.Millisecond)
		if a := x.expect("eu", Normal); a.Spent("c", "2026-11-25", "USD") != 11 {
			x.Error("the answer was not read ahead")
		}
		time.Sleep(time.Minute)
		x.set("eu", func(s *server) { s.charged = 13 })
		if a := x.expect("eu", Normal, "eu"); a.Spent("c", "2026-11-25", "USD") != 12 {
			x.Error("the answer of a minute ago was returned")
		}
	})
}

// TestOneRequest: callers who wait for one account share a request.
func TestOneRequest(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		x.set("eu", func(s *server) { s.delay = 20 * time.Millisecond })
		var wait sync.WaitGroup
		for range 50 {
			wait.Go(func() {
				if _, err := x.account("a"); err != nil {
					x.Error(err)
				}
			})
		}
		wait.Wait()
		if got := x.asked(); len(got) != 1 {
			x.Errorf("%d requests", len(got))
		}
	})
}

// TestFallback: an endpoint that fails or hangs costs one account some milliseconds, and the others
// nothing for a second. It is asked first again when it works.
func TestFallback(t *testing.T) {
	for name, fail := range map[string]func(*server){
		"refuses": func(s *server) { s.err = errors.New("connection refused") },
		"hangs":   func(s *server) { s.delay = time.Hour },
		"is busy": func(s *server) { s.status = 503 },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(x *fixture) {
				works := *x.by["eu"]
				x.set("eu", fail)
				x.expect("us", Normal, "eu", "us")
				for n := range 20 {
					if a, err := x.account(fmt.Sprint(n)); err != nil || a.Endpoint != "https://us" {
						x.Errorf("%+v %v", a, err)
					}
				}
				if got := x.asked(); slices.Contains(got, "eu") {
					x.Errorf("asked %q within a second", got)
				}
				time.Sleep(time.Second)
				x.set("eu", func(s *server) { *s = works })
				if a, err := x.account("b"); err != nil || a.Endpoint != "https://eu" {
					x.Errorf("afterwards: %+v %v", a, err)
				}
			})
		})
	}
}

// TestUnhealthyDataset: an answer that is not in normal mode is replaced by a better one of the
// next endpoint, and used if there is none. It does not keep other accounts from the endpoint.
func TestUnhealthyDataset(t *testing.T) {
	for mode, age := range map[string]time.Duration{"degraded": time.Minute, "fail_safe": -time.Millisecond} {
		t.Run(mode, func(t *testing.T) {
			inBubble(t, nil, func(x *fixture) {
				x.set("eu", func(s *server) { s.mode, s.age = mode, age })
				if a, err := x.account("a"); err != nil || a.Mode() == Normal {
					x.Errorf("the first answer: %+v %v", a, err)
				}
				time.Sleep(10 * time.Millisecond)
				x.asked()
				x.expect("us", Normal)
				x.set("eu", func(s *server) { s.mode, s.age = "normal", 0 })
				if a, err := x.account("b"); err != nil || a.Endpoint != "https://eu" {
					x.Errorf("another account: %+v %v", a, err)
				}
				x.set("eu", func(s *server) { s.mode, s.age = mode, age })
				x.set("us", func(s *server) { s.delay = time.Hour })
				for n := range 1000 { // many more than may be read at a time
					if a, err := x.account(fmt.Sprint(n)); err != nil || a.Mode() == Normal || a.Endpoint != "https://eu" {
						x.Fatalf("account %d while the other endpoint hangs: %+v %v", n, a, err)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		})
	}
}

// TestBigAccount: an account that no endpoint can answer costs the others nothing.
func TestBigAccount(t *testing.T) {
	for status, asked := range map[int]int{429: 1, 500: 2} { // ResourceExhausted without Retry-After, and Internal
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			inBubble(t, nil, func(x *fixture) {
				x.set("eu", func(s *server) { s.status = status })
				x.set("us", func(s *server) { s.status = status })
				if _, err := x.account("big"); !errors.Is(err, ErrUnknown) {
					x.Errorf("%v", err)
				}
				if got := x.asked(); len(got) != asked {
					x.Errorf("asked %q", got)
				}
				x.set("eu", func(s *server) { s.status = 0 })
				if a, err := x.account("a"); err != nil || a.Endpoint != "https://eu" || x.troubled(time.Now()) {
					x.Errorf("another account: %+v %v", a, err)
				}
			})
		})
	}
}

// TestManyAccounts: while all endpoints hang, reads wait for their turn for a limited time.
func TestManyAccounts(t *testing.T) {
	inBubble(t, func(c *Config) { c.MaxRequests = 2 }, func(x *fixture) {
		for _, dc := range []string{"eu", "us"} {
			x.set(dc, func(s *server) { s.delay = time.Hour })
		}
		for n := range 100 {
			if _, err := x.account(fmt.Sprint(n)); !errors.Is(err, ErrUnknown) {
				x.Fatal(err)
			}
		}
		time.Sleep(x.cfg.Timeout)
		x.set("eu", func(s *server) { s.delay = 0 })
		time.Sleep(2 * x.cfg.Timeout)
		if _, err := x.account("0"); err != nil {
			x.Error(err)
		}
	})
}

// TestCloseBesideReads: Close waits for reads that begin at the same time.
func TestCloseBesideReads(t *testing.T) {
	for range 50 {
		inBubble(t, nil, func(x *fixture) {
			var calls sync.WaitGroup
			for n := range 20 {
				calls.Go(func() { _, _ = x.Account(context.Background(), fmt.Sprint(n)) })
			}
			x.Close()
			calls.Wait()
		})
	}
}

// TestNoAnswer: while no endpoint answers, calls return what is in memory, ever older, and without
// a wait; unknown accounts are an error within the limit.
func TestNoAnswer(t *testing.T) {
	for name, fail := range map[string]func(*server){
		"refuse": func(s *server) { s.err = errors.New("connection refused") },
		"hang":   func(s *server) { s.delay = time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(x *fixture) {
				x.expect("eu", Normal, "eu")
				x.set("eu", fail)
				x.set("us", fail)
				modes := map[Mode]int{}
				var waited time.Duration
				for range 700 {
					began := time.Now()
					a, err := x.account("a")
					if waited += time.Since(began); err != nil {
						x.Fatal(err)
					}
					modes[a.Mode()]++
					if _, err := x.account("new"); !errors.Is(err, ErrUnknown) {
						x.Fatalf("an unknown account: %v", err)
					}
					time.Sleep(time.Second)
				}
				// 30 s and 10 min, less a second for the age of the answer; calls for the other
				// account take time
				if modes[Normal] < 26 || modes[Normal] > 30 || modes[Degraded] < 530 || modes[FailSafe] < 90 {
					x.Errorf("modes %v", modes)
				}
				if waited > 700*x.cfg.Limit/2 {
					x.Errorf("callers with an answer waited for %v", waited)
				}
				x.set("eu", func(s *server) { s.err, s.delay = nil, 0 })
				time.Sleep(3 * time.Second)
				x.account("a")
				time.Sleep(time.Second)
				x.asked()
				x.expect("eu", Normal)
			})
		})
	}
}

// TestBothDegraded: without a healthy dataset anywhere, the best answer counts, and an older one
// does not replace it.
func TestBothDegraded(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		x.set("eu", func(s *server) { s.mode, s.age = "degraded", time.Minute })
		x.set("us", func(s *server) { s.mode, s.age = "degraded", 40*time.Second })
		if _, err := x.account("a"); err != nil {
			x.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		x.asked()
		x.expect("us", Degraded)
		x.set("eu", func(s *server) { s.mode, s.age = "fail_safe", -time.Millisecond })
		x.set("us", func(s *server) { s.mode, s.age = "fail_safe", time.Hour })
		time.Sleep(6 * time.Second)
		a, err := x.account("a")
		if err != nil || a.Endpoint != "https://us" || a.Mode() != Degraded || a.Age() > time.Minute {
			x.Errorf("%+v %v, age %v", a, err, a.Age())
		}
	})
}

// TestRefusal: a request that every endpoint would refuse is sent to one.
func TestRefusal(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		x.set("eu", func(s *server) { s.status = 400 })
		for range 5 {
			if _, err := x.account("a"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "no") {
				x.Errorf("%v", err)
			}
		}
		if got := x.asked(); !slices.Equal(got, []string{"eu"}) {
			x.Errorf("asked %q", got)
		}
	})
}

// TestContext: the end of the caller's context ends the wait, not the request.
func TestContext(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		x.set("eu", func(s *server) { s.delay = 20 * time.Millisecond })
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := x.Account(ctx, "a"); !errors.Is(err, context.Canceled) {
			x.Errorf("%v", err)
		}
		time.Sleep(20 * time.Millisecond)
		x.asked()
		x.expect("eu", Normal)
	})
}

// TestMemory: the accounts that were asked for least recently are removed.
func TestMemory(t *testing.T) {
	inBubble(t, func(c *Config) { c.MaxAccounts = 10 }, func(x *fixture) {
		for n := range 30 {
			x.account(fmt.Sprint(n))
		}
		if n := x.Stats(); n.Accounts != 10 || n.Requests != 30 || n.Waits != 30 {
			x.Errorf("%+v", n)
		}
		x.asked()
		x.account("29")
		x.account("0")
		if got := x.asked(); len(got) != 1 {
			x.Errorf("asked %q", got)
		}
	})
}

// TestClosed: a closed client answers from memory, and sends nothing.
func TestClosed(t *testing.T) {
	inBubble(t, func(c *Config) { c.Token = "0123456789abcdef" }, func(x *fixture) {
		x.expect("eu", Normal, "eu")
		x.set("eu", func(s *server) {
			if s.token != "Bearer 0123456789abcdef" {
				x.Errorf("token %q", s.token)
			}
		})
		x.Close()
		x.expect("eu", Normal)
		if _, err := x.account("b"); !errors.Is(err, ErrUnknown) {
			x.Errorf("%v", err)
		}
		x.expect("eu", Normal)
	})
}

// TestConfig: each wrong field is named.
func TestConfig(t *testing.T) {
	for want, c := range map[string]Config{
		"Endpoints is empty": {},
		"not a URL":          {Endpoints: []string{"weir.eu:8080"}},
		"plain HTTP":         {Endpoints: []string{"http://weir.eu:8080"}, Token: "0123456789abcdef"},
		"negative":           {Endpoints: []string{"https://weir.eu:8080"}, TTL: -1},
		"ascend":             {Endpoints: []string{"https://weir.eu:8080"}, Stale: time.Hour},
	} {
		if _, err := New(c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
