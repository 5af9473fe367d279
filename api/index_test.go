package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/weirhq/weir/api/weirpb"
)

func index(t *testing.T, cfg Config, path string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	mustNew(t, cfg).dataHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080"+path, nil))
	return w.Result(), w.Body.String()
}

func TestIndexPage(t *testing.T) {
	res, body := index(t, config(), "/")
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	for _, want := range []string{
		"v1.2.3 in datacentre local", ">ready<", "offset out of range: run weir doctor", "ads.events@1234",
		"http://127.0.0.1:8080/weir.v1.SpendService/GetSpend", "<td>unknown</td>", `http-equiv="refresh"`, "127.0.0.1:9092",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	csp := res.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "script-src") {
		t.Errorf("policy %q", csp)
	}
}

// TestIndexObeysItsPolicy: the page has no script, no inline style and no event handler, and loads
// nothing from other origins. The page must not need what its policy forbids.
func TestIndexObeysItsPolicy(t *testing.T) {
	_, body := index(t, config(), "/")
	z := html.NewTokenizer(strings.NewReader(body))
	loaded := 0
	for z.Next() != html.ErrorToken {
		tok := z.Token()
		if tok.Type != html.StartTagToken && tok.Type != html.SelfClosingTagToken {
			continue
		}
		if tok.Data == "script" || tok.Data == "style" || tok.Data == "form" || tok.Data == "iframe" {
			t.Errorf("the page has <%s>", tok.Data)
		}
		for _, a := range tok.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has attribute %s", tok.Data, a.Key)
			}
			if tok.Data == "link" && a.Key == "href" {
				loaded++
				if res, _ := index(t, config(), a.Val); res.StatusCode != http.StatusOK || strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
					t.Errorf("%s: %d %s", a.Val, res.StatusCode, res.Header.Get("Content-Type"))
				}
			}
		}
	}
	if loaded != 2 {
		t.Errorf("%d files are loaded, want the style and the icon", loaded)
	}
}

// TestIndexUnknown: the page shows why a figure is missing, and no zero in its place. Data is shown
// as text, not as HTML.
func TestIndexUnknown(t *testing.T) {
	cfg := config()
	cfg.Spend = &fakeSpend{err: errors.New("store is closed")}
	cfg.Cluster = &fakeCluster{err: errors.New("<script>alert(1)</script>")}
	res, body := index(t, cfg, "/")
	if res.StatusCode != http.StatusOK || strings.Count(body, "not known now") != 3 || !strings.Contains(body, "store is closed") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if strings.Contains(body, "<script>") || !strings.Contains(body, "&lt;script&gt;") {
		t.Error("an error's text became HTML")
	}
	cfg = config()
	cfg.Cluster = &fakeCluster{parts: []*weirpb.Partition{}}
	if _, body := index(t, cfg, "/"); !strings.Contains(body, "No process has a partition") {
		t.Error("no partitions: the page does not state it")
	}
}
