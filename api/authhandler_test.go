package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/obs"
)

func TestGuardHostAndOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		host   string
		header [2]string
		code   string // empty: answered
	}{
		"loopback":             {"127.0.0.1:8080", [2]string{}, ""},
		"IPv6 loopback":        {"[::1]:8080", [2]string{}, ""},
		"IPv6 without port":    {"[::1]", [2]string{}, ""},
		"localhost":            {"LocalHost:9999", [2]string{}, ""},
		"allowed name":         {"weir.intern", [2]string{}, ""},
		"old probe":            {"", [2]string{}, ""},
		"rebound name":         {"evil.example:8080", [2]string{}, "permission_denied"},
		"name with our prefix": {"127.0.0.1.evil.example", [2]string{}, "permission_denied"},
		"own page":             {"127.0.0.1:8080", [2]string{"Sec-Fetch-Site", "same-origin"}, ""},
		"page of another site": {"127.0.0.1:8080", [2]string{"Sec-Fetch-Site", "cross-site"}, "permission_denied"},
		"old browser":          {"127.0.0.1:8080", [2]string{"Origin", "https://evil.example"}, "permission_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			cfg.AllowedHosts = []string{"Weir.Intern"}
			r := httptest.NewRequest(http.MethodPost, getSpend, strings.NewReader(`{"campaign":"c1"}`))
			r.Host = c.host
			r.Header.Set("Content-Type", "application/json")
			if c.header[0] != "" {
				r.Header.Set(c.header[0], c.header[1])
			}
			status, body := serve(mustNew(t, cfg).dataHandler(), r)
			var got struct{ Code, Message string }
			if err := json.Unmarshal([]byte(body), &got); err != nil || got.Code != c.code || (status == 200) != (c.code == "") {
				t.Errorf("%d %s (%v), want code %q", status, body, err, c.code)
			}
		})
	}
}

// TestRefusalsCounted sends requests that reach no handler. Each is answered, counted as rejected
// and logged.
func TestRefusalsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, kind, proc string
		status                   int
	}{
		"unknown method":  {http.MethodPost, "/weir.v1.SpendService/GetMoney", "application/json", "other", 404},
		"unknown path":    {http.MethodGet, "/admin", "", "other", 404},
		"wrong type":      {http.MethodPost, getSpend, "text/xml", getSpend, 415},
		"wrong verb":      {http.MethodDelete, getSpend, "application/json", getSpend, 405},
		"GET, no message": {http.MethodGet, getSpend, "", getSpend, 415},
	} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			cfg := config()
			cfg.Log = new(zerolog.New(&buf))
			r := httptest.NewRequest(c.method, "http://127.0.0.1"+c.path, strings.NewReader(`{"campaign":"c1"}`))
			r.Header.Set("Content-Type", c.kind)
			if status, body := serve(mustNew(t, cfg).dataHandler(), r); status != c.status {
				t.Errorf("status %d %s, want %d", status, body, c.status)
			}
			if got := metric(t, cfg.Registry, "weir_api_requests_total", codeRejected, c.proc); got != 1 {
				t.Errorf("rejected = %v, want 1", got)
			}
			if !strings.Contains(buf.String(), `"code":"rejected"`) || !strings.Contains(buf.String(), `"message":"api.request"`) {
				t.Errorf("log %s", buf.String())
			}
		})
	}
}

// TestAccessLog: each request has one line, at debug if it was answered. A defect has an error line
// with the cause and the stack. The ids of a request are private and not logged.
func TestAccessLog(t *testing.T) {
	type line struct {
		Level, Message, Procedure, Code, Error, Remote, Panic, Stack string
		Status                                                       int
	}
	ask := func(change func(*fakeSpend)) (lines []line, reg *obs.Registry) {
		var buf bytes.Buffer
		cfg := config()
		cfg.Log = new(zerolog.New(&buf))
		change(cfg.Spend.(*fakeSpend))
		post(t, mustNew(t, cfg).dataHandler(), getSpend, `{"campaign":"c1"}`)
		dec := json.NewDecoder(&buf)
		for dec.More() {
			var l line
			if err := dec.Decode(&l); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, l)
		}
		return lines, cfg.Registry
	}
	lines, _ := ask(func(*fakeSpend) {})
	if len(lines) != 1 || lines[0].Level != "debug" || lines[0].Code != "ok" || lines[0].Status != 200 ||
		lines[0].Procedure != getSpend || lines[0].Message != "api.request" || lines[0].Remote == "" {
		t.Errorf("answered: %+v", lines)
	}
	lines, reg := ask(func(f *fakeSpend) { f.during = func(context.Context) { panic("boom") } })
	if len(lines) != 2 || lines[0].Message != "api.panic" || lines[0].Panic != "boom" || !strings.Contains(lines[0].Stack, "authhandler_test.go") ||
		lines[1].Level != "error" || lines[1].Code != "internal" || !strings.Contains(lines[1].Error, "defect") {
		t.Errorf("panic: %+v", lines)
	}
	if got := metric(t, reg, "weir_api_panics_total", getSpend); got != 1 {
		t.Errorf("panics = %v, want 1", got)
	}
	if got := metric(t, reg, "weir_api_requests_total", "internal", getSpend); got != 1 {
		t.Errorf("internal = %v, want 1", got)
	}
}

// TestPanicOutsideRPC panics in the index page, where Connect does not recover it.
func TestPanicOutsideRPC(t *testing.T) {
	cfg := config()
	cfg.Ready = func(context.Context) Readiness { panic("boom") }
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
	status, body := serve(mustNew(t, cfg).dataHandler(), r)
	if status != http.StatusInternalServerError || !strings.Contains(body, "api.panic") {
		t.Errorf("%d %s", status, body)
	}
	if got := metric(t, cfg.Registry, "weir_api_panics_total", "index"); got != 1 {
		t.Errorf("panics = %v, want 1", got)
	}
}

// TestAbortedAnswer panics after the answer has begun. The connection is cut, so that the caller
// does not take half of the answer for all of it.
func TestAbortedAnswer(t *testing.T) {
	m, err := newMetrics(obs.NewRegistry("test"))
	if err != nil {
		t.Fatal(err)
	}
	a := &access{log: zerolog.Nop(), metrics: m, next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("boom")
	})}
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { // net/http compares with == too
			t.Errorf("panicked with %v, want http.ErrAbortHandler", v)
		}
	}()
	a.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
}
