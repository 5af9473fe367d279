package dynamotest

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestHostGuard: Serve answers programs that name this machine, an address or an allowed name, and
// no web page.
func TestHostGuard(t *testing.T) {
	c, _ := open(t, Config{AllowedHosts: []string{"DynamoDB"}, AccessKeyID: "local"})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Serve(ctx, l) }()
	for name, try := range map[string]struct {
		host, header, value string
		answered            bool
	}{
		"address":           {l.Addr().String(), "", "", true},
		"localhost":         {"localhost:8000", "", "", true},
		"other address":     {"10.0.0.7:8000", "", "", true},
		"service name":      {"dynamodb:8000", "", "", true},
		"rebound name":      {"evil.example:8000", "", "", false},
		"other service":     {"kafka:8000", "", "", false},
		"page of this name": {"evil.example:8000", "Sec-Fetch-Site", "same-origin", false},
		"page elsewhere":    {"127.0.0.1:8000", "Sec-Fetch-Site", "cross-site", false},
		"old browser":       {"127.0.0.1:8000", "Origin", "https://evil.example", false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String(), strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = try.host
		r.Header.Set("X-Amz-Target", itemTarget+"ListTables")
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/eu-west-1/dynamodb/aws4_request")
		if try.header != "" {
			r.Header.Set(try.header, try.value)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if try.answered && string(body) != `{"TableNames":[]}` ||
			!try.answered && (answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "AccessDeniedException")) {
			t.Errorf("%s: %d %s", name, answer.StatusCode, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
