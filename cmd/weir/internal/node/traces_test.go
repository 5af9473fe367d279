package node

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/config"
)

// A span is sent to the address in the environment. Without an address nothing is sent.
func TestTraces(t *testing.T) {
	got := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- r.URL.Path + " " + string(body)
	}))
	defer server.Close()
	send := func(environ ...string) string {
		t.Helper()
		getenv := func(name string) string {
			for _, kv := range environ {
				if v, ok := strings.CutPrefix(kv, name+"="); ok {
					return v
				}
			}
			return ""
		}
		provider, flush, err := Traces(t.Context(), getenv, &config.Config{Instance: "slot-0"}, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		if provider != nil {
			_, span := provider.Tracer("test").Start(t.Context(), "transaction")
			span.End()
		}
		flush()
		select {
		case s := <-got:
			return s
		default:
			return ""
		}
	}
	if s := send(); s != "" {
		t.Errorf("without an address it sends %q", s)
	}
	for env, want := range map[string][]string{
		envOTLP + "=" + server.URL + "/":                                      {"/v1/traces ", "transaction", "slot-0", "weir"},
		envTraces + "=" + server.URL + "/here":                                {"/here ", "transaction"},
		"OTEL_SERVICE_NAME=spender\n" + envOTLP + "=" + server.URL + "/below": {"/below/v1/traces ", "spender"},
	} {
		s := send(strings.Split(env, "\n")...)
		for _, w := range want {
			if !strings.Contains(s, w) {
				t.Errorf("%s: no %q in %q", env, w, s)
			}
		}
	}
}
