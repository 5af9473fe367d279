package integration

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testlimit"
)

// TestAccess: processes on other hosts forward requests over TLS with the client's token; a client
// without a token gets no answer; commands read what they need from the configuration.
func TestAccess(t *testing.T) {
	c := shared(t)
	files := t.TempDir()
	theAuthority(t).certify(t, files, time.Now().Add(time.Hour))
	token := filepath.Join(files, "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	setting := func() string {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("api: {listen: '0.0.0.0:%d', advertise: 'localhost:%[1]d', ops_listen: '127.0.0.1:0', tls_cert_file: %s/cert.pem, tls_key_file: %[2]s/key.pem, ca_file: %s, token_file: %s}",
			port, files, filepath.Join(os.Getenv(envCerts), caFile), token)
	}
	a, b := newInstance(c, "a", setting()).start(), newInstance(c, "b", setting()).start()
	addr, _ := a.ready()
	b.ready()
	ledger := startLoad(c, 12, 10_000, 10_000).finish()
	testlimit.Within(t, "both processes own partitions, and one lists all of them", func(context.Context) error {
		var rows []struct {
			Task    string `json:"task"`
			Process string `json:"process"`
		}
		answer(t, &rows, "lag", "-f", a.config) //nolint:contextcheck // it uses the test's context
		of := map[string]int{}
		for _, r := range rows {
			of[r.Process+" "+r.Task]++
		}
		if of[a.name+" running"] != of[b.name+" running"] || of[a.name+" running"] == 0 {
			return fmt.Errorf("tasks: %v", of)
		}
		return nil
	})
	places := ledger.places()
	for i := 0; i < len(places); i += len(places)/20 + 1 {
		for _, p := range []*process{a, b} {
			r := weir(t, "spend", "show", "--campaign", places[i].campaign, "--wait", "-o", "json", "-f", p.config)
			if r.code != 0 {
				t.Fatalf("%v at %s: %s", places[i], p.name, r.stderr)
			}
			if err := sameSpend(r.stdout, ledger, places[i]); err != nil {
				t.Errorf("%v at %s: %v", places[i], p.name, err)
			}
		}
	}

	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	noToken := filepath.Join(files, "no-token.yaml")
	if err := os.WriteFile(noToken, []byte("api: {ca_file: "+os.Getenv(envCerts)+"/"+caFile+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, config, server, want string
		code                       int
	}{
		{"without a token", noToken, "https://localhost:" + port, "token", 77},
		{"without the authority", "", "https://localhost:" + port, "certificate", 69},
		{"the token in the clear", a.config, "http://192.0.2.1:" + port, "the token is not sent over plain HTTP", 64},
	} {
		args := []string{"spend", "health", "--server", tc.server}
		if tc.config != "" {
			args = append(args, "-f", tc.config)
		}
		if r := weir(t, args...); r.code != tc.code || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%s: code %d, want %d with %q\n%s", tc.name, r.code, tc.code, tc.want, r.stderr)
		}
	}
}
