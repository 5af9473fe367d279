package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/notify"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/spendcache/client"
)

// adServer asks whether campaign spring of acme takes part in auctions.
type adServer struct{ *client.Client }

// newAdServer returns an ad server that asks the API at an address.
func newAdServer(t *testing.T, addr string) adServer {
	t.Helper()
	c, err := client.New(client.Config{Endpoints: []string{"http://" + addr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return adServer{c}
}

// await asks until a decision is as wanted.
func (s adServer) await(t *testing.T, wanted func(client.Decision) bool) {
	t.Helper()
	testlimit.Within(t, "a decision", func(ctx context.Context) error {
		if d := s.Decide(ctx, client.Ad{Account: "acme", Campaign: "spring", Request: "r"}); !wanted(d) {
			return fmt.Errorf("%+v", d)
		}
		return nil
	})
}

// hook is a webhook that has received alerts.
type hook struct{ got chan map[string]any }

// webhook runs `weir pacing notify`, or that of another command, with a webhook.
func webhook(t *testing.T, environ []string, command string) hook {
	t.Helper()
	const secret = "0123456789abcdef"
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := hook{make(chan map[string]any, 100)}
	var failed atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !failed.Swap(true) { // the first request
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get(notify.HeaderSignature) != notify.Sign([]byte(secret), body) {
			t.Errorf("%s: %v, %v", body, r.Header, err)
		}
		m := map[string]any{}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		h.got <- m
	}))
	t.Cleanup(server.Close)
	background(t, environ, "sending the alerts of ", command, "notify", server.URL, "--secret-file", file)
	return h
}

// next waits for the next alert.
func (h hook) next(t *testing.T) map[string]any {
	t.Helper()
	select {
	case m := <-h.got:
		return m
	case <-testlimit.Context(t).Done():
		t.Fatal("no alert has arrived")
		return nil
	}
}
