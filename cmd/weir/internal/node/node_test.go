package node_test

import (
	"net/http"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/node/nodetest"
)

// The API accepts the advertised name in the Host header, and no other name.
func TestAdvertised(t *testing.T) {
	n := nodetest.Listening(t, []string{
		"WEIR_API_LISTEN=127.0.0.1:0", "WEIR_API_OPS_LISTEN=127.0.0.1:0", "WEIR_API_ADVERTISE=weir-0.example:443", "WEIR_DATA_DIR=" + t.TempDir(),
	})
	for host, want := range map[string]int{"weir-0.example:443": http.StatusOK, "weir-1.example:443": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.Server.Addr()+"/weir.css", nil)
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
	if n.Endpoint() != "weir-0.example:443" {
		t.Errorf("the endpoint is %q", n.Endpoint())
	}
}
