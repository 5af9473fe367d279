package connect

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// TestAccessFlags: with --ca-file and --token-file a command reaches a server over TLS without a
// configuration file, also by host:port. Without the certificate it does not connect.
func TestAccessFlags(t *testing.T) {
	var token atomic.Value
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token.Store(r.Header.Get("Authorization"))
		http.NotFound(w, r)
	}))
	defer s.Close()
	dir := t.TempDir()
	ca, secret := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "token")
	for file, text := range map[string][]byte{
		ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), secret: []byte("0123456789abcdef\n"),
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commands := func(a *cli.App) []*cobra.Command {
		return []*cobra.Command{{Use: "ask", RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := APIClient(a)
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = c.GetCluster(cmd.Context())
			return err
		}}}
	}
	server := s.Listener.Addr().String()
	clitest.Run(t, commands, nil, "ask", "--server", "https://"+server, "--token-file", secret)
	if got := token.Load(); got != nil {
		t.Errorf("the token %q was sent to a server of an unknown authority", got)
	}
	clitest.Run(t, commands, nil, "ask", "--server", server, "--ca-file", ca, "--token-file", secret)
	if got := token.Load(); got != "Bearer 0123456789abcdef" {
		t.Errorf("the server got the token %v", got)
	}
}
