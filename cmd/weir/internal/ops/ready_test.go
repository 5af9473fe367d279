package ops

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/node/nodetest"
)

// tlsFiles returns the settings of the files that `weir tls create` writes for a host.
func tlsFiles(t *testing.T, host string) []string {
	t.Helper()
	dir := t.TempDir()
	if got := clitest.Run(t, Commands, nil, "tls", "create", "--dir", dir, "--host", host); got.Code != cli.ExitOK {
		t.Fatalf("%+v", got)
	}
	cert := filepath.Join(dir, "cert.pem")
	return []string{
		"WEIR_API_TLS_CERT_FILE=" + cert, "WEIR_API_CA_FILE=" + cert,
		"WEIR_API_TLS_KEY_FILE=" + filepath.Join(dir, "key.pem"), "WEIR_API_TOKEN_FILE=" + filepath.Join(dir, "token"),
	}
}

// A process without a broker is not ready. weir ready prints the reasons, with TLS on every
// interface, too.
func TestNotReady(t *testing.T) {
	env := append(tlsFiles(t, "weir-0.example"),
		"WEIR_API_LISTEN=127.0.0.1:0", "WEIR_API_OPS_LISTEN=0.0.0.0:0", "WEIR_API_ADVERTISE=weir-0.example:443", "WEIR_DATA_DIR="+t.TempDir())
	n := nodetest.Listening(t, env)
	_, port, _ := net.SplitHostPort(n.Server.OpsAddr())
	if got := clitest.Run(t, Commands, env, "ready", "--ops-listen", "0.0.0.0:"+port); got.Code != cli.ExitTempFail || !strings.Contains(got.Stderr, "no partition") {
		t.Errorf("%+v", got)
	}
	other := append(env, "WEIR_API_ADVERTISE=weir-1.example:443") // another machine's certificate
	if got := clitest.Run(t, Commands, other, "ready", "--ops-listen", "0.0.0.0:"+port); got.Code != cli.ExitUnavailable || !strings.Contains(got.Stderr, "certificate") {
		t.Errorf("%+v", got)
	}
}

func TestReady(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		status     int
		code       int
		want       string
	}{
		{"ready", `{"ready":true,"reasons":[]}`, 200, cli.ExitOK, "ready"},
		{"some are stopped", `{"ready":true,"reasons":[],"stopped":["partition 5 is stopped (why)"]}`, 200, cli.ExitOK, "partition 5 is stopped (why); `weir doctor`"},
		{"all are stopped", `{"ready":false,"reasons":["all"],"stopped":["all"]}`, 503, cli.ExitTempFail, "`weir doctor` has what to do"},
		{"not yet", `{"ready":false,"reasons":["partition 3 is restoring"]}`, 503, cli.ExitTempFail, "partition 3 is restoring"},
		{"another server", "<html>", 200, cli.ExitUnavailable, "check that api.ops_listen is the address of weir"},
		{"wants a token", "no", 401, cli.ExitUnavailable, "401"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/readyz" {
					t.Errorf("the request is for %s", r.URL)
				}
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer s.Close()
			if got := clitest.Run(t, Commands, nil, "ready", "--ops-listen", s.Listener.Addr().String()); got.Code != tc.code || !strings.Contains(got.Stderr, tc.want) {
				t.Errorf("%+v", got)
			}
		})
	}
	if got := clitest.Run(t, Commands, nil, "ready", "--ops-listen", clitest.FreeAddr(t)); got.Code != cli.ExitUnavailable {
		t.Errorf("no server: %+v", got)
	}
}

// Existing files are kept. A new host replaces the certificate, and keeps the token.
func TestTLSCreate(t *testing.T) {
	dir := t.TempDir()
	create := func(hosts string) (cert, token string) {
		t.Helper()
		if got := clitest.Run(t, Commands, nil, "tls", "create", "--dir", dir, "--host", hosts); got.Code != cli.ExitOK {
			t.Fatalf("%+v", got)
		}
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "token"))
		if err != nil {
			t.Fatal(err)
		}
		return string(pair.Leaf.Raw), string(text)
	}
	cert, token := create("a,b")
	if again, sameToken := create("b,a"); again != cert || sameToken != token || len(token) < 32 {
		t.Error("an existing certificate or token is replaced")
	}
	if again, sameToken := create("a,b,c"); again == cert || sameToken != token {
		t.Error("with a new host the certificate is kept, or the token is replaced")
	}
	if until, ok := validCertificate(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), []string{"c"}, time.Now().Add(certValidity-certRenewal+time.Hour)); ok {
		t.Errorf("a certificate that ends at %s is not replaced 29 days before", until)
	}
	if got := clitest.Run(t, Commands, nil, "tls", "create", "--dir", filepath.Join(dir, "none")); got.Code != cli.ExitIO {
		t.Errorf("a directory that does not exist: %+v", got)
	}
}
