package node

import (
	"context"
	"net/http"
	"testing"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
)

// listening is a node whose listeners answer, and which no broker does.
func listening(t *testing.T, environ []string) *Node {
	t.Helper()
	cfg, err := config.Load(config.Options{Environ: environ, Hostname: func() (string, error) { return "host", nil }})
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(cfg, Parts{Kafka: kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}, Log: zerolog.Nop(), Roles: []string{RoleSpend}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- n.Server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-n.Server.Ready()
	return n
}

// TestAdvertised asks the API by the name that the others are told, as a proxy passes it on, and by one that nobody was.
func TestAdvertised(t *testing.T) {
	n := listening(t, []string{
		"WEIR_API_LISTEN=127.0.0.1:0", "WEIR_API_OPS_LISTEN=127.0.0.1:0", "WEIR_API_ADVERTISE=weir-0.example:443", "WEIR_DATA_DIR=" + t.TempDir(),
	})
	for host, want := range map[string]int{"weir-0.example:443": http.StatusOK, "weir-1.example:443": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.Server.Addr()+"/style.css", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, res.StatusCode, want)
		}
	}
	if n.endpoint != "weir-0.example:443" {
		t.Errorf("the others are told %q", n.endpoint)
	}
}
