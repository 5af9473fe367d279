package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
)

// ask sends GET to m and returns status and body.
func (m *member) ask(t *testing.T, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// words answers with the row of table 1, and with that of the key "and.KEY".
func words() Query {
	return Query{App: "counter", Name: "words", Read: func(get stream.Get, key string) ([]byte, error) {
		if key == "defect" {
			return nil, errors.New("a defect")
		}
		var rows []string
		for _, k := range []string{key, "and." + key} {
			v, err := get(1, []byte(k))
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", k, err)
			}
			if v != nil {
				rows = append(rows, string(v))
			}
		}
		if rows == nil {
			return nil, nil
		}
		return json.Marshal(rows)
	}}
}

// TestQuery asks each of two processes for keys of both, and of a partition that moves.
func TestQuery(t *testing.T) {
	peers := &fakePeers{}
	states := []*fakeState{{instance: "weir-a"}, {instance: "weir-b"}}
	keys := map[int32]string{}
	for i := 0; len(keys) < fakePartitions; i++ {
		key := fmt.Sprintf("word/%d", i)
		p := stream.Murmur2([]byte(key), fakePartitions)
		if _, known := keys[p]; known {
			continue
		}
		keys[p] = key
		states[p/2].put(p, key, "of "+key)
		states[p/2].put(p, "and."+key, "more")
	}
	var list []*member
	for _, s := range states {
		list = append(list, start(t, s, peers, func(c *Config) { c.Queries = []Query{words()} }))
	}
	a, b := list[0], list[1]
	peers.set(nil, a.peer(0, 1), b.peer(2, 3))
	for _, m := range list {
		for _, key := range keys {
			if code, body := m.ask(t, "/query/words/"+key); code != http.StatusOK || body != fmt.Sprintf("[%q,\"more\"]\n", "of "+key) {
				t.Errorf("%s, %s: %d %s", m.instance, key, code, body)
			}
		}
	}
	for path, want := range map[string]string{
		"/query/words/":       `400 {"code":"invalid_argument","message":"the key has 0 bytes: send GET /query/words/KEY`,
		"/query/words/nobody": `404 {"code":"not_found","message":"query words of key \"nobody\" has found nothing"}`,
		"/query/words/defect": `500 {"code":"internal","message":"query words of key \"defect\" could not be read: a defect`,
		"/query/verbs/nobody": "404 no page has this path",
	} {
		if code, body := a.ask(t, path); !strings.HasPrefix(fmt.Sprint(code, " ", body), want) {
			t.Errorf("%s: %d %s, want %s", path, code, body, want)
		}
	}
	b.is(2, "restoring", 0)
	for _, m := range list {
		if code, body := m.ask(t, "/query/words/"+keys[2]); code != http.StatusServiceUnavailable || !strings.Contains(body, "partition 2") || !strings.Contains(body, "try again") {
			t.Errorf("%s: %d %s", m.instance, code, body)
		}
	}
}

// TestQueryEmptyRow: a row with an empty value is found, in this process and in another one.
func TestQueryEmptyRow(t *testing.T) {
	peers := &fakePeers{}
	states := []*fakeState{{instance: "weir-a"}, {instance: "weir-b"}}
	size := Query{App: "counter", Name: "size", Read: func(get stream.Get, key string) ([]byte, error) {
		v, err := get(1, []byte(key))
		if v == nil {
			return nil, err
		}
		return json.Marshal(len(v))
	}}
	var list []*member
	for _, s := range states {
		list = append(list, start(t, s, peers, func(c *Config) { c.Queries = []Query{size} }))
	}
	peers.set(nil, list[0].peer(0, 1), list[1].peer(2, 3))
	for n := range 8 {
		key := fmt.Sprint("word-", n)
		p := stream.Murmur2([]byte(key), fakePartitions)
		states[p/2].put(p, key, "")
		for _, m := range list {
			if code, body := m.ask(t, "/query/size/"+key); code != http.StatusOK || body != "0\n" {
				t.Errorf("%s, %s: %d %s", m.instance, key, code, body)
			}
		}
	}
}

// TestQueryKeys asks each of two processes for keys that a path has to encode, or that look like a
// path.
func TestQueryKeys(t *testing.T) {
	peers := &fakePeers{}
	states := []*fakeState{{instance: "weir-a"}, {instance: "weir-b"}}
	read := func(get stream.Get, key string) ([]byte, error) {
		v, err := get(1, []byte(key))
		if v == nil {
			return nil, err
		}
		return json.Marshal(string(v))
	}
	rows := map[string]string{}
	for _, key := range []string{"https://example.org/a/", "a//b", "a/b", "../up", "..", ".", "/", "//", "a b+c%2F", "?#", "\xff\x00", "\u00fc"} {
		rows[key] = "of " + key
	}
	for key, v := range rows {
		p := stream.Murmur2([]byte(key), fakePartitions)
		states[p/2].put(p, key, v)
	}
	var list []*member
	for _, s := range states {
		list = append(list, start(t, s, peers, func(c *Config) {
			c.Queries = []Query{{App: "counter", Name: "rows", Read: read}, {App: "counter", Name: "..", Read: read}}
		}))
	}
	peers.set(nil, list[0].peer(0, 1), list[1].peer(2, 3))
	for _, m := range list {
		for key, v := range rows {
			want, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if code, body := m.ask(t, "/query/rows/"+url.PathEscape(key)); code != http.StatusOK || body != string(want)+"\n" {
				t.Errorf("%s, %q: %d %s", m.instance, key, code, body)
			}
		}
		for _, plain := range []string{"https://example.org/a/", "a//b"} { // not encoded
			if code, body := m.ask(t, "/query/rows/"+plain); code != http.StatusOK || body != fmt.Sprintf("%q\n", "of "+plain) {
				t.Errorf("%s, %q: %d %s", m.instance, plain, code, body)
			}
		}
	}
}

// TestQueryConfig: a query that cannot be answered is an error of New.
func TestQueryConfig(t *testing.T) {
	for want, change := range map[string]func(*Query){
		"no function":               func(q *Query) { q.Read = nil },
		"no legal name":             func(q *Query) { q.Name = "a/b" },
		"two queries have the name": func(q *Query) {},
		`about "nothing", and this process has no such application`:      func(q *Query) { q.Name, q.App = "other", "nothing" },
		`about "spendcounter", and this process has no such application`: func(q *Query) { q.Name, q.App = "other", "spendcounter" },
	} {
		m := &member{fakeState: &fakeState{instance: "weir-a"}}
		m.router = NewRouter(RouterConfig{State: m.fakeState, Peers: &fakePeers{}})
		cfg, q := config(), words()
		cfg.Apps = append(cfg.Apps, m.app())
		cfg.tasks(&fakeCluster{})
		change(&q)
		cfg.Queries = []Query{words(), q}
		_, err := New(cfg)
		if field, ok := errors.AsType[*FieldError](err); !ok || field.Fields[0] != "Queries" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
