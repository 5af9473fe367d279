package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

func TestClientAnswers(t *testing.T) {
	s := mustNew(t, config())
	run(t, s)
	for _, server := range []string{s.Addr(), "http://" + s.Addr(), "http://" + s.Addr() + "/"} {
		cl := NewClient(server)
		defer cl.Close()
		if cl.Server() != s.Addr() {
			t.Errorf("Server() = %s, want %s", cl.Server(), s.Addr())
		}
		if res, err := cl.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "c1", Wait: true}); err != nil || res.GetChargedMicros() != 42000 {
			t.Errorf("GetSpend: %v, %v", res, err)
		}
		if res, err := cl.GetCluster(t.Context()); err != nil || res.GetDc() != "local" {
			t.Errorf("GetCluster: %v, %v", res, err)
		}
		res, err := cl.ListPartitions(t.Context())
		if err != nil || len(res.GetPartitions()) != 2 || res.GetPartitions()[0].GetPartition() != 5 || res.GetPartitions()[0].GetLag() != 3 {
			t.Fatalf("ListPartitions: %v, %v", res, err)
		}
		if res.GetPartitions()[1].Lag != nil {
			t.Error("an unknown lag became a number")
		}
		health, err := cl.ListHealth(t.Context())
		if err != nil || len(health.GetShards()) != 2 || health.GetShards()[0].GetShard() != 3 {
			t.Fatalf("ListHealth: %v, %v", health, err)
		}
		if sh := health.GetShards()[1]; sh.GetCumulativeCount() != 12 || sh.GetCumulativeMicros() != 120 || sh.GetLost() != 1 || sh.GetRejected() != 2 || sh.GetApproxCount() != 60 ||
			len(sh.GetOrigins()) != 2 || sh.GetOrigins()[0].GetDc() != "east" || sh.GetOrigins()[0].GetCumulativeMicros() != 50 || sh.GetOrigins()[1].GetCumulativeCount() != 7 {
			t.Errorf("shard 7: %v", sh)
		}
	}
}

// TestClientOfEarlierServer: a server that ignores the campaign of a request has no rows of it, and
// that does not look like a campaign without rows.
func TestClientOfEarlierServer(t *testing.T) {
	earlier := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/proto")
	}))
	defer earlier.Close()
	cl := NewClient(earlier.URL)
	defer cl.Close()
	if _, err := cl.ListDatasets(t.Context(), &weirpb.ListDatasetsRequest{Account: "a1"}); err != nil {
		t.Error(err)
	}
	_, err := cl.ListDatasets(t.Context(), &weirpb.ListDatasetsRequest{Account: "a1", Campaign: "c1"})
	if err == nil || !strings.Contains(err.Error(), "earlier version") {
		t.Errorf("%v", err)
	}
}

// TestClientErrors calls addresses that do not serve weir. Each error states what to do.
func TestClientErrors(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	redirect := httptest.NewServer(http.RedirectHandler("http://evil.example/", http.StatusTemporaryRedirect))
	defer redirect.Close()
	hangUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer hangUp.Close()
	weir := mustNew(t, config())
	run(t, weir)
	secret := httptest.NewTLSServer(http.NotFoundHandler())
	defer secret.Close()
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closedAddr := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg   ClientConfig
		code  connect.Code
		texts []string
	}{
		"no listener": {
			ClientConfig{Server: closedAddr},
			connect.CodeUnavailable,
			[]string{"no weir process answers at " + closedAddr, "start one", "address"},
		},
		"another program": {ClientConfig{Server: web.URL}, connect.CodeUnimplemented, []string{"not as a weir process", "address"}},
		"redirect":        {ClientConfig{Server: redirect.URL}, connect.CodeUnknown, []string{"not as a weir process"}},
		"hangs up":        {ClientConfig{Server: hangUp.URL}, connect.CodeUnavailable, []string{"address"}},
		"TLS to plain":    {ClientConfig{Server: "https://" + weir.Addr()}, connect.CodeUnavailable, []string{"speaks plain HTTP", "http://" + weir.Addr()}},
		"plain to TLS":    {ClientConfig{Server: secret.Listener.Addr().String()}, connect.CodeInternal, []string{"refuses plain HTTP", "use the address " + secret.URL}},
		"not an address":  {ClientConfig{Server: "127.0.0.1:http:x"}, connect.CodeInvalidArgument, []string{"not an address", "host:port"}},
		"empty":           {ClientConfig{}, connect.CodeInvalidArgument, []string{"not an address"}},
		"a path":          {ClientConfig{Server: "http://127.0.0.1/api"}, connect.CodeInvalidArgument, []string{"without a path"}},
		"other scheme":    {ClientConfig{Server: "ftp://127.0.0.1"}, connect.CodeInvalidArgument, []string{"not an address"}},
		"user in URL":     {ClientConfig{Server: "http://me:secret@127.0.0.1"}, connect.CodeInvalidArgument, []string{"user name"}},
		"token in clear":  {ClientConfig{Server: "weir.example:8080", Token: token}, connect.CodeInvalidArgument, []string{"https://"}},
		"unknown name": {
			ClientConfig{Server: "weir.example", Transport: failing{&net.DNSError{Err: "no such host", Name: "weir.example", IsNotFound: true}}},
			connect.CodeUnavailable,
			[]string{"cannot be resolved (no such host)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cl := NewClientWith(c.cfg)
			defer cl.Close()
			_, err := cl.GetCluster(t.Context())
			if connect.CodeOf(err) != c.code {
				t.Errorf("code %v, want %v: %v", connect.CodeOf(err), c.code, err)
			}
			for _, want := range c.texts {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v lacks %q", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password shows: %v", err)
			}
		})
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// TestClientKeepsServerText: the client returns the server's text, without the code of Connect
// before it.
func TestClientKeepsServerText(t *testing.T) {
	s := mustNew(t, config())
	run(t, s)
	cl := NewClient(s.Addr())
	defer cl.Close()
	_, err := cl.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "c9"})
	if connect.CodeOf(err) != connect.CodeNotFound || !strings.HasPrefix(err.Error(), `campaign "c9" has no spend in datacentre local, as of partition 5`) {
		t.Errorf("%v", err)
	}
}

// TestClientTimeouts calls a server that accepts and does not answer, in virtual time.
func TestClientTimeouts(t *testing.T) {
	for wait, limit := range map[bool]time.Duration{false: callTimeout, true: waitTimeout} {
		synctest.Test(t, func(t *testing.T) {
			var far []net.Conn
			tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				near, f := net.Pipe()
				far = append(far, f)
				return near, nil
			}}
			cl := NewClientWith(ClientConfig{Server: "127.0.0.1:8080", Transport: tr})
			begin := time.Now()
			_, err := cl.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "c1", Wait: wait})
			if took := time.Since(begin); took != limit {
				t.Errorf("the call returned after %s, want %s", took, limit)
			}
			if connect.CodeOf(err) != connect.CodeDeadlineExceeded || !strings.Contains(err.Error(), fmt.Sprintf("no answer within %s", limit)) {
				t.Errorf("%v", err)
			}
			cl.Close()
			for _, f := range far {
				f.Close()
			}
		})
	}
}

func TestClientInterrupted(t *testing.T) {
	s := mustNew(t, config())
	run(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cl := NewClient(s.Addr())
	defer cl.Close()
	if _, err := cl.GetCluster(ctx); !errors.Is(err, context.Canceled) || err.Error() != "interrupted before the server answered" {
		t.Errorf("%v", err)
	}
}

// TestClientCompression: a client asks for compressed answers, except those of job queues.
func TestClientCompression(t *testing.T) {
	accepts := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accepts = r.Header.Get("Accept-Encoding")
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	cl := NewClient(server.URL)
	defer cl.Close()
	if _, err := cl.PollJobs(t.Context(), &jobpb.PollJobsRequest{}); err == nil || strings.Contains(accepts, "gzip") {
		t.Errorf("a poll accepts %q, %v", accepts, err)
	}
	if _, err := cl.ListSpend(t.Context(), &weirpb.ListSpendRequest{}); err == nil || !strings.Contains(accepts, "gzip") {
		t.Errorf("a list of spend accepts %q, %v", accepts, err)
	}
}
