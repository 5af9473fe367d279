package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// TestSilentBroker: a broker accepts connections and never answers. Each command reports that it
// waits, and ends with the likely cause.
func TestSilentBroker(t *testing.T) {
	if testing.Short() {
		t.Skip("waits ten seconds")
	}
	l := clitest.Listen(t)
	t.Cleanup(func() { _ = l.Close() })
	broker := l.Addr().String()
	go func() {
		var open []net.Conn // an unreachable connection is closed by the garbage collector
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			open = append(open, c)
		}
		for _, c := range open {
			_ = c.Close()
		}
	}()
	file := filepath.Join(t.TempDir(), "events.jsonl")
	line := `{"event_id":"e1","account":"a","campaign":"c","type":"impression","price_micros":1,"currency":"USD","event_ms":1384000000000}`
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	var running sync.WaitGroup // t.Parallel would run no more than there are processors
	for _, c := range []struct {
		line  string
		code  int
		notes string // while it waits
	}{
		{"status", cli.ExitUnavailable, "waiting for "},
		{"dedup list", cli.ExitUnavailable, "waiting for "},
		{"balancer plan", cli.ExitUnavailable, "waiting for "},
		{"bridge scan eu", cli.ExitUnavailable, "waiting for "},
		{"bridge rejected", cli.ExitUnavailable, "waiting for "},
		{"lease history --client c --pool p --key k --from kafka", cli.ExitUnavailable, "waiting for "},
		{"lag", cli.ExitUnavailable, "waiting for "},
		{"lag --group g", cli.ExitUnavailable, "waiting for "},
		{"dlq list", cli.ExitUnavailable, "waiting for "},
		{"dlq replay --all --yes", cli.ExitUnavailable, "waiting for "},
		{"partition skip ads.events/0 --to 1 --why damaged", cli.ExitUnavailable, "waiting for "},
		{"topics plan", cli.ExitUnavailable, "waiting for "},
		{"doctor --for spend,leases", cli.ExitFailed, "waiting for "},
		{"ingest " + file + " --format jsonl --brokers " + broker, cli.ExitUnavailable, "waiting for "},
		{"load", cli.ExitUnavailable, "waiting for "},
		{"bench spend", cli.ExitUnavailable, "waiting for "},
		{"run --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0", cli.ExitUnavailable, "brokers_waiting"},
		{"run --roles executor --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0", cli.ExitUnavailable, "brokers_waiting"},
	} {
		env := []string{
			"WEIR_DATA_DIR=" + t.TempDir(), "WEIR_KAFKA_BROKERS=" + broker,
			"WEIR_LEASES_REGIONS=eu=http://127.0.0.1:1", "AWS_EC2_METADATA_DISABLED=true",
		}
		running.Go(func() {
			r := weir(t, env, strings.Fields(c.line)...)
			for _, want := range []string{c.notes, broker + " accepts connections and sends nothing; often one side uses TLS"} {
				if text := r.Stdout + r.Stderr; r.Code != c.code || !strings.Contains(text, want) {
					t.Errorf("weir %s: code %d, want %d and %q in:\n%s", c.line, r.Code, c.code, want, text)
				}
			}
		})
	}
	running.Wait()
}

// TestRefusedConnection: brokers that refuse connections end a command at once. `weir run` waits
// for them, so that it may be started first.
func TestRefusedConnection(t *testing.T) {
	broker := clitest.FreeAddr(t)
	env := []string{"WEIR_DATA_DIR=" + t.TempDir(), "WEIR_KAFKA_BROKERS=" + broker}
	expect(t, env, cli.ExitUnavailable, "connection refused", "lag")
	for _, bench := range []string{"spend", "growth", "scale", "latency", "restart", "restore", "jobs", "all"} {
		expect(t, env, cli.ExitUnavailable, "connection refused", "bench", bench)
	}
	waiting := append(slices.Clone(env), "WEIR_INSTANCE=waiting") // another one than that of weir dev
	line := background(t, waiting, `{"level":"warn","brokers":["`+broker+`"],"error":"unable to dial: dial tcp `+broker, "run", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	if !strings.Contains(line, "brokers_waiting") {
		t.Errorf("no event in %s", line)
	}
	_, port, _ := strings.Cut(broker, ":")
	background(t, []string{"WEIR_DATA_DIR=" + t.TempDir()}, "ready in ", "dev", "--no-load", "--kafka-port", port, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	rows(t, env, func(l []map[string]any) bool { return len(l) > 0 }, "lag")
}
