package serverurl

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, x := range []struct{ text, token, want, problem string }{
		{"http://127.0.0.1:8080", "", "http://127.0.0.1:8080", ""},
		{"https://weir.eu/", "secret", "https://weir.eu", ""},
		{"http://localhost:8080", "secret", "http://localhost:8080", ""},
		{"http://weir.eu:8080", "", "http://weir.eu:8080", ""},
		{"http://weir.eu:8080", "secret", "", "plain HTTP to weir.eu:8080"},
		{"weir.eu:8080", "", "", "not a URL of a server"},
		{"ftp://weir.eu", "", "", "not a URL of a server"},
		{"http://", "", "", "not a URL of a server"},
		{"http://me@weir.eu", "", "", "not a URL of a server"},
		{"http://weir.eu/api", "", "", "not a URL of a server"},
		{"http://weir.eu?x=1", "", "", "not a URL of a server"},
		{"http://weir.eu#x", "", "", "not a URL of a server"},
		{"http://weir.eu:x", "", "", "not a URL of a server"},
	} {
		got, err := Parse(x.text, x.token)
		if got != x.want || (err != nil) != (x.problem != "") || err != nil && !strings.Contains(err.Error(), x.problem) {
			t.Errorf("%q with token %q: %q, %v", x.text, x.token, got, err)
		}
	}
}
