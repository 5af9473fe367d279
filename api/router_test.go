package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
)

// pair starts two processes that share the partitions, 0 and 1 at a, 2 and 3 at b, and the answer
// of the brokers.
func pair(t *testing.T) (a, b *member, peers *fakePeers) {
	t.Helper()
	peers = &fakePeers{}
	fa, fb := &fakeState{instance: "weir-a"}, &fakeState{instance: "weir-b"}
	for i := range 10 {
		fa.put(0, fmt.Sprint("0:", i), "v")
		fa.put(1, fmt.Sprint("1:", i), "v")
		fb.put(2, fmt.Sprint("2:", i), "v")
		fb.put(3, fmt.Sprint("3:", i), "v")
	}
	a, b = start(t, fa, peers, nil), start(t, fb, peers, nil)
	peers.set(nil, a.peer(0, 1), b.peer(2, 3))
	return a, b, peers
}

// getFive reads a key of partition 2 through m.
func getFive(t *testing.T, m *member, maxStalenessMs int64) (*weirpb.GetStateResponse, error) {
	t.Helper()
	return m.client.GetState(t.Context(), &weirpb.GetStateRequest{Table: "spend", Key: []byte("2:5"), MaxStalenessMs: maxStalenessMs})
}

// TestRouted reads all partitions through each process.
func TestRouted(t *testing.T) {
	a, b, peers := pair(t)
	for _, m := range []*member{a, b} {
		keys, _ := scanAll(t, m, &weirpb.ScanStateRequest{Table: "spend", Limit: 6}, nil)
		if len(keys) != 40 || keys[0] != "0:0" || keys[39] != "3:9" {
			t.Errorf("%s gives %q", m.instance, keys)
		}
		res, err := getFive(t, m, 0)
		if err != nil || res.AsOf.ServedBy.Instance != "weir-b" || res.AsOf.ServedBy.Role != "owner" || string(res.Entry.Key) != "2:5" {
			t.Errorf("%s: %v, %v", m.instance, res, err)
		}
		hashes, err := m.client.HashState(t.Context(), &weirpb.HashStateRequest{})
		if err != nil || len(hashes.Partitions) != 4 || hashes.Partitions[3].Tables[0].Name != "spend" || hashes.Partitions[3].AsOf.ServedBy.Instance != "weir-b" {
			t.Errorf("%s: %v, %v", m.instance, hashes, err)
		}
	}
	if n := peers.times(); n != 2 { // once by each process
		t.Errorf("the brokers were asked %d times", n)
	}
}

// TestForwardedOnce: two processes each take the other for the owner. The request ends at the
// second.
func TestForwardedOnce(t *testing.T) {
	a, b, _ := pair(t)
	b.is(2, "restoring", 0)
	wrong := &fakePeers{}
	wrong.set(nil, a.peer(2)) // the owners in b's cache
	b.router.peers.source = wrong
	asked := b.times()
	_, err := getFive(t, a, 0)
	if connect.CodeOf(err) != connect.CodeUnavailable {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"the process that answered does not own partition 2", "its owner weir-b at " + b.addr, "partition 2 is restoring (42 % done)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if n := b.times() - asked; n != 1 || wrong.times() != 0 {
		t.Errorf("b was asked %d times, and asked the brokers %d times", n, wrong.times())
	}
	// A caller that sends the header gets an answer from this process alone.
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+scanState, strings.NewReader(`{"table":"spend","partition":0}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(ForwardedHeader, "weir-b")
	s := mustNew(t, changed(config(), func(c *Config) { c.Apps = []App{b.app()} }))
	if _, body := serve(s.dataHandler(), r); !strings.Contains(body, "the process that answered does not own partition 0") {
		t.Errorf("%s", body)
	}
	if n := wrong.times(); n != 0 {
		t.Errorf("a forwarded request made b ask the brokers %d times", n)
	}
}

// TestOwnerMoved moves the partition to a third process. A process with the old owner in its cache
// finds the new one at once.
func TestOwnerMoved(t *testing.T) {
	a, b, peers := pair(t)
	if _, err := getFive(t, a, 0); err != nil {
		t.Fatal(err)
	}
	c := start(t, &fakeState{instance: "weir-c"}, peers, nil)
	c.put(2, "2:5", "moved")
	peers.set(nil, a.peer(0, 1), b.peer(3), c.peer(2))
	b.is(2, StateStandby, 10)
	a.age()
	res, err := getFive(t, a, 0)
	if err != nil || string(res.Entry.Value) != "moved" || res.AsOf.ServedBy.Instance != "weir-c" {
		t.Errorf("%v, %v", res, err)
	}
	// The partition moves to the process that is asked. The brokers know it before its own status
	// does.
	a.put(2, "2:5", "here")
	a.is(2, "barrier", 0)
	peers.set(nil, a.peer(0, 1, 2), b.peer(3))
	c.is(2, "stopped", 0)
	a.age()
	_, err = getFive(t, a, 0)
	if err == nil || !strings.Contains(err.Error(), "partition 2 is barrier") || !strings.Contains(err.Error(), "the group assigned it to this process, weir-a") {
		t.Errorf("%v", err)
	}
	a.is(2, "owner", 0)
	if res, err := getFive(t, a, 0); err != nil || string(res.Entry.Value) != "here" {
		t.Errorf("%v, %v", res, err)
	}
}

// TestOwnerAway reads a partition whose owner is gone, with and without staleness.
func TestOwnerAway(t *testing.T) {
	a, b, peers := pair(t)
	gone := deadEnd(t)
	fc := &fakeState{instance: "weir-c"}
	fc.put(2, "2:5", "warm")
	fc.is(2, StateStandby, 1500)
	c := start(t, fc, peers, nil)
	owner, standby := Peer{Instance: "weir-b", Endpoint: gone, Partitions: []int32{2, 3}}, c.peer()
	standby.Standbys = []int32{2}
	peers.set(nil, a.peer(0, 1), owner, standby)

	_, err := getFive(t, a, 0)
	for _, want := range []string{"the process that answered does not own partition 2", "its owner weir-b at " + gone + " cannot answer", "connection refused", "try again"} {
		if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if c.times() != 0 {
		t.Error("the standby was asked without staleness")
	}
	_, err = getFive(t, a, 1000)
	if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "its standby weir-c at "+c.addr) || !strings.Contains(err.Error(), "1500 ms old") {
		t.Errorf("too old: %v", err)
	}
	for _, m := range []*member{a, c} { // through another process, and through the standby itself
		res, err := getFive(t, m, 2000)
		if err != nil || string(res.Entry.Value) != "warm" || res.AsOf.ServedBy.Role != StateStandby || res.AsOf.ServedBy.StalenessMs != 1500 || res.AsOf.ServedBy.Instance != "weir-c" {
			t.Errorf("%s: %v, %v", m.instance, res, err)
		}
	}
	// When the owner is back, it answers, although the standby may.
	owner.Endpoint = b.addr
	peers.set(nil, a.peer(0, 1), owner, standby)
	a.age()
	c.age()
	for _, m := range []*member{a, c} {
		res, err := getFive(t, m, 2000)
		if err != nil || res.AsOf.ServedBy.Instance != "weir-b" || res.AsOf.ServedBy.StalenessMs != 0 {
			t.Errorf("%s: %v, %v", m.instance, res, err)
		}
	}
}

// deadEnd returns an address without a listener.
func deadEnd(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestOwnerUnknown reads a partition without an owner, or with an owner that cannot be determined.
func TestOwnerUnknown(t *testing.T) {
	a, b, peers := pair(t)
	for name, c := range map[string]struct {
		list []Peer
		err  error
		want string
	}{
		"unassigned":   {[]Peer{a.peer(0, 1), b.peer(3)}, nil, "the group has assigned it to no process"},
		"no broker":    {nil, errNoBroker, "its owner is unknown, because the brokers did not answer: no broker answers"},
		"no address":   {[]Peer{{Instance: "weir-b", Partitions: []int32{2}}}, nil, "weir-b has no API address"},
		"misdirected":  {[]Peer{{Instance: "weir-b", Endpoint: a.addr, Partitions: []int32{2}}}, nil, `this process is weir-a, but the request is for "weir-b"`},
		"no weir":      {[]Peer{{Instance: "weir-b", Endpoint: notFound(t), Partitions: []int32{2}}}, nil, "cannot answer: 404"},
		"another host": {[]Peer{{Instance: "weir-b", Endpoint: "weir.invalid:80", Partitions: []int32{2}}}, nil, "weir.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			peers.set(c.err, c.list...)
			a.forget()
			_, err := getFive(t, a, 0)
			if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	// With a stale cache the request still succeeds.
	peers.set(nil, a.peer(0, 1), b.peer(2, 3))
	a.forget()
	if _, err := getFive(t, a, 0); err != nil {
		t.Fatal(err)
	}
	peers.set(errNoBroker)
	if res, err := getFive(t, a, 0); err != nil || res.AsOf.ServedBy.Instance != "weir-b" {
		t.Errorf("with brokers that are away: %v, %v", res, err)
	}
}

func notFound(t *testing.T) string {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	return strings.TrimPrefix(web.URL, "http://")
}

// TestOwnersRefusal: the owner's error for a request that it did handle is returned to the caller.
func TestOwnersRefusal(t *testing.T) {
	a, b, peers := pair(t)
	b.during = func(context.Context) error { return errors.New("the disk is upside down") }
	_, err := getFive(t, a, 60_000)
	if connect.CodeOf(err) != connect.CodeInternal || !strings.Contains(err.Error(), "weir-b at "+b.addr+", the owner of partition 2, answered: ") || !strings.Contains(err.Error(), "upside down") {
		t.Errorf("%v", err)
	}
	if n := peers.times(); n != 1 {
		t.Errorf("the brokers were asked %d times", n)
	}
}

// TestSilentOwner forwards to an owner that accepts the request and never answers.
func TestSilentOwner(t *testing.T) {
	a, b, _ := pair(t)
	b.during = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	a.put(2, "2:5", "warm")
	a.is(2, StateStandby, 100)
	began := time.Now()
	res, err := getFive(t, a, 1000)
	if err != nil || string(res.Entry.Value) != "warm" {
		t.Errorf("%v, %v", res, err)
	}
	t.Logf("answered after %s of %s for the owner", time.Since(began), forwardTimeoutStale)
	// The caller's deadline is kept, and is not reported as the owner's failure.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = a.router.Page(ctx, PageQuery{Partition: 2, Table: 1, Limit: 1})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestListPartitionsOfAll lists each partition once, those of silent processes with the reason.
func TestListPartitionsOfAll(t *testing.T) {
	peers := &fakePeers{}
	part := func(p int32, instance, state string) *weirpb.Partition {
		return &weirpb.Partition{App: "counter", Partition: p, Instance: instance, State: state}
	}
	a := start(t, &fakeState{instance: "weir-a"}, peers, func(c *Config) {
		c.tasks(&fakeCluster{parts: []*weirpb.Partition{part(0, "weir-a", "running"), part(1, "weir-a", StateStandby)}})
	})
	b := start(t, &fakeState{instance: "weir-b"}, peers, func(c *Config) {
		c.tasks(&fakeCluster{parts: []*weirpb.Partition{part(1, "weir-b", "stopped")}})
		c.Waiting = func() []string { return []string{"role copier waits for us"} }
	})
	gone := deadEnd(t)
	peers.set(nil, a.peer(0), b.peer(1), Peer{Instance: "weir-c", Endpoint: gone, Partitions: []int32{2}})
	for _, m := range []*member{a, b} {
		res, err := m.client.ListPartitions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range res.Partitions {
			got = append(got, fmt.Sprint(p.Partition, p.Instance, " ", p.State))
		}
		if want := "0weir-a running,1weir-a standby,1weir-b stopped,2weir-c elsewhere,3 elsewhere"; strings.Join(got, ",") != want {
			t.Errorf("%s: %q, want %s", m.instance, got, want)
		}
		if w := res.Waiting; len(w) != 1 || w[0].Instance != "weir-b" || w[0].Reason != "role copier waits for us" {
			t.Errorf("%s: waiting roles %v", m.instance, w)
		}
		if r := res.Partitions[3].Reason; !strings.Contains(r, "weir-c at "+gone+" does not answer") {
			t.Errorf("reason %q", r)
		}
		if r := res.Partitions[4].Reason; r != "the group has assigned it to no process" {
			t.Errorf("reason %q", r)
		}
	}
	peers.set(errNoBroker)
	a.forget()
	res, err := a.client.ListPartitions(t.Context())
	if err != nil || len(res.Partitions) != 5 || !strings.Contains(res.Partitions[4].Reason, "no broker answers") {
		t.Errorf("without brokers: %v, %v", res, err)
	}
}

// TestForwardedAuthorization: the caller's token is forwarded only over connections that others
// cannot read.
func TestForwardedAuthorization(t *testing.T) {
	for name, c := range map[string]struct {
		endpoint string
		tls      bool
		url      string
		token    bool
	}{
		"this machine": {"127.0.0.1:1", false, "http://127.0.0.1:1/", true},
		"in the clear": {"weir.example:8080", false, "http://weir.example:8080/", false},
		"TLS":          {"weir.example:8080", true, "https://weir.example:8080/", true},
	} {
		t.Run(name, func(t *testing.T) {
			var sent *http.Request
			r := NewRouter(RouterConfig{State: &fakeState{instance: "weir-a"}, TLS: c.tls, Transport: carrier(func(r *http.Request) (*http.Response, error) {
				sent = r
				return nil, io.EOF
			})})
			ctx := withRequestMeta(t.Context(), http.Header{"Authorization": {"Bearer " + token}})
			_, err := r.client(Peer{Instance: "weir-b", Endpoint: c.endpoint}).state.HashState(ctx, connect.NewRequest(&weirpb.HashStateRequest{}))
			if err == nil || sent == nil || !strings.HasPrefix(sent.URL.String(), c.url) || sent.Header.Get(ForwardedHeader) != "weir-b" {
				t.Fatalf("%v, %v", sent, err)
			}
			if got := sent.Header.Get("Authorization"); (got == "Bearer "+token) != c.token || got != "" && !c.token {
				t.Errorf("Authorization %q", got)
			}
		})
	}
}

type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// TestForwardedToken forwards requests between processes that require a token.
func TestForwardedToken(t *testing.T) {
	peers := &fakePeers{}
	secured := func(c *Config) { c.Token = token }
	fb := &fakeState{instance: "weir-b"}
	fb.put(2, "2:5", "v")
	a, b := start(t, &fakeState{instance: "weir-a"}, peers, secured), start(t, fb, peers, secured)
	peers.set(nil, a.peer(), b.peer(2))
	if res, err := getFive(t, a, 0); err != nil || res.AsOf.ServedBy.Instance != "weir-b" {
		t.Errorf("%v, %v", res, err)
	}
	// Without a token the owner cannot be reached through another process either.
	stranger := NewClient(a.addr)
	defer stranger.Close()
	if _, err := stranger.GetState(t.Context(), &weirpb.GetStateRequest{Table: "spend", Key: []byte("2:5")}); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("%v", err)
	}
}

// TestPeersAreAskedOnce has many concurrent callers, one of which gives up.
func TestPeersAreAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakePeers{list: []Peer{{Instance: "weir-a", Partitions: []int32{0}}}, block: make(chan struct{})}
		p := &peers{source: source}
		var all sync.WaitGroup
		hasty, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			if _, err := p.get(hasty, false); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that gave up got %v", err)
			}
		})
		synctest.Wait()
		for range 50 {
			all.Go(func() {
				list, err := p.get(t.Context(), false)
				if o, ok := owner(list, 0); err != nil || !ok || o.Instance != "weir-a" {
					t.Errorf("%v, %v", list, err)
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(source.block)
		all.Wait()
		if n := source.times(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		// The list is cached until a refresh is requested. Then the source is called once, not
		// again and again.
		<-time.After(time.Hour)
		for _, c := range []struct {
			refresh bool
			want    int
		}{{false, 1}, {true, 2}, {true, 2}} {
			if _, err := p.get(t.Context(), c.refresh); err != nil || source.times() != c.want {
				t.Errorf("%v: %v, asked %d times, want %d", c.refresh, err, source.times(), c.want)
			}
		}
		// A source that does not answer has a timeout. The cached list comes with the error.
		source.mu.Lock()
		source.block = make(chan struct{})
		source.mu.Unlock()
		<-time.After(time.Second)
		began := time.Now()
		list, err := p.get(t.Context(), true)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != peersTimeout || len(list) != 1 {
			t.Errorf("%v, %v after %s", list, err, time.Since(began))
		}
	})
}
