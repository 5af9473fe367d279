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

// pair is two processes that share the partitions, 0 and 1 at a, 2 and 3 at b, with what the brokers say.
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

// getFive asks m for a key of partition 2.
func getFive(t *testing.T, m *member, maxStalenessMs int64) (*weirpb.GetStateResponse, error) {
	t.Helper()
	return m.client.GetState(t.Context(), &weirpb.GetStateRequest{Table: "spend", Key: []byte("2:5"), MaxStalenessMs: maxStalenessMs})
}

// TestRouted asks each process for everything.
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

// TestHopIsOne lets each of two processes believe that the other has the partition: the question ends at the second.
func TestHopIsOne(t *testing.T) {
	a, b, _ := pair(t)
	b.is(2, "restoring", 0)
	wrong := &fakePeers{}
	wrong.set(nil, a.peer(2)) // what b believes
	b.router.peers.source = wrong
	asked := b.times()
	_, err := getFive(t, a, 0)
	if connect.CodeOf(err) != connect.CodeUnavailable {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"partition 2 is elsewhere", "its owner weir-b at " + b.addr, "partition 2 is restoring (42 % done)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if n := b.times() - asked; n != 1 || wrong.times() != 0 {
		t.Errorf("b was asked %d times, and asked the brokers %d times", n, wrong.times())
	}
	// And one who sends the header gets what is there.
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+scanState, strings.NewReader(`{"table":"spend","partition":0}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(ForwardedHeader, "weir-b")
	s := mustNew(t, changed(config(), func(c *Config) { c.State = b.router }))
	if _, body := serve(s.dataHandler(), r); !strings.Contains(body, "partition 0 is elsewhere") {
		t.Errorf("%s", body)
	}
	if n := wrong.times(); n != 0 {
		t.Errorf("a question that was passed on made b ask the brokers %d times", n)
	}
}

// TestOwnerMoved takes the partition to a third process: who asked the second finds it at once.
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
	// It comes to the one that is asked, which the brokers know before its own status does.
	a.put(2, "2:5", "here")
	a.is(2, "barrier", 0)
	peers.set(nil, a.peer(0, 1, 2), b.peer(3))
	c.is(2, "stopped", 0)
	a.age()
	_, err = getFive(t, a, 0)
	if err == nil || !strings.Contains(err.Error(), "partition 2 is barrier") || !strings.Contains(err.Error(), "the group gives it to this process, weir-a") {
		t.Errorf("%v", err)
	}
	a.is(2, "owner", 0)
	if res, err := getFive(t, a, 0); err != nil || string(res.Entry.Value) != "here" {
		t.Errorf("%v, %v", res, err)
	}
}

// TestOwnerAway asks for a partition whose owner is gone, with and without leave to take an older state.
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
	for _, want := range []string{"partition 2 is elsewhere", "its owner weir-b at " + gone + " does not answer", "connection refused", "try again"} {
		if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if c.times() != 0 {
		t.Error("the standby was asked although only the owner was wanted")
	}
	_, err = getFive(t, a, 1000)
	if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "its standby weir-c at "+c.addr) || !strings.Contains(err.Error(), "1500 ms old") {
		t.Errorf("too old: %v", err)
	}
	for _, m := range []*member{a, c} { // by another, and by the standby itself
		res, err := getFive(t, m, 2000)
		if err != nil || string(res.Entry.Value) != "warm" || res.AsOf.ServedBy.Role != StateStandby || res.AsOf.ServedBy.StalenessMs != 1500 || res.AsOf.ServedBy.Instance != "weir-c" {
			t.Errorf("%s: %v, %v", m.instance, res, err)
		}
	}
	// With the owner back it is the owner that answers, though the standby may.
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

// deadEnd is an address at which nobody listens.
func deadEnd(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestOwnerUnknown asks when nobody has the partition, or nobody can say.
func TestOwnerUnknown(t *testing.T) {
	a, b, peers := pair(t)
	for name, c := range map[string]struct {
		list []Peer
		err  error
		want string
	}{
		"nobody":       {[]Peer{a.peer(0, 1), b.peer(3)}, nil, "no process of the group has it"},
		"no broker":    {nil, errNoBroker, "the brokers do not say who has it: no broker answers"},
		"no address":   {[]Peer{{Instance: "weir-b", Partitions: []int32{2}}}, nil, "weir-b does not say where its API is"},
		"misdirected":  {[]Peer{{Instance: "weir-b", Endpoint: a.addr, Partitions: []int32{2}}}, nil, `this is weir-a and "weir-b" was meant`},
		"no weir":      {[]Peer{{Instance: "weir-b", Endpoint: notFound(t), Partitions: []int32{2}}}, nil, "does not answer for it: 404"},
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
	// What was known before is better than nothing.
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

// TestOwnersRefusal passes on what the owner says to a question that it does answer.
func TestOwnersRefusal(t *testing.T) {
	a, b, peers := pair(t)
	b.during = func(context.Context) error { return errors.New("the disk is upside down") }
	_, err := getFive(t, a, 60_000)
	if connect.CodeOf(err) != connect.CodeInternal || !strings.Contains(err.Error(), "weir-b at "+b.addr+", which has partition 2, says: ") || !strings.Contains(err.Error(), "upside down") {
		t.Errorf("%v", err)
	}
	if n := peers.times(); n != 1 {
		t.Errorf("the brokers were asked %d times", n)
	}
}

// TestSilentOwner asks an owner that takes the question and never answers.
func TestSilentOwner(t *testing.T) {
	a, b, _ := pair(t)
	b.during = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	a.put(2, "2:5", "warm")
	a.is(2, StateStandby, 100)
	began := time.Now()
	res, err := getFive(t, a, 1000)
	if err != nil || string(res.Entry.Value) != "warm" || time.Since(began) > 2*forwardTimeoutStale {
		t.Errorf("%v, %v after %s", res, err, time.Since(began))
	}
	// The caller's own time is kept, and is not taken for the owner's fault.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began = time.Now()
	_, err = a.router.Page(ctx, PageQuery{Partition: 2, Table: 1, Limit: 1})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// TestListPartitionsOfAll shows each partition once, those of silent processes with the reason.
func TestListPartitionsOfAll(t *testing.T) {
	peers := &fakePeers{}
	part := func(p int32, instance, state string) *weirpb.Partition {
		return &weirpb.Partition{App: "counter", Partition: p, Instance: instance, State: state}
	}
	a := start(t, &fakeState{instance: "weir-a"}, peers, func(c *Config) {
		c.Cluster = &fakeCluster{parts: []*weirpb.Partition{part(0, "weir-a", "running"), part(1, "weir-a", StateStandby)}}
	})
	b := start(t, &fakeState{instance: "weir-b"}, peers, func(c *Config) {
		c.Cluster = &fakeCluster{parts: []*weirpb.Partition{part(1, "weir-b", "stopped")}}
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
		if r := res.Partitions[3].Reason; !strings.Contains(r, "weir-c at "+gone+" does not answer") {
			t.Errorf("reason %q", r)
		}
		if r := res.Partitions[4].Reason; r != "no process of the group has it" {
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

// TestAuthorizationOfAHop passes the caller's token on where nobody can read it, and nowhere else.
func TestAuthorizationOfAHop(t *testing.T) {
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

// TestTokenOnEachHop asks processes that want a token.
func TestTokenOnEachHop(t *testing.T) {
	peers := &fakePeers{}
	secured := func(c *Config) { c.Token = token }
	fb := &fakeState{instance: "weir-b"}
	fb.put(2, "2:5", "v")
	a, b := start(t, &fakeState{instance: "weir-a"}, peers, secured), start(t, fb, peers, secured)
	peers.set(nil, a.peer(), b.peer(2))
	if res, err := getFive(t, a, 0); err != nil || res.AsOf.ServedBy.Instance != "weir-b" {
		t.Errorf("%v, %v", res, err)
	}
	// Without it the owner is not reached by a detour.
	stranger := NewClient(a.addr)
	defer stranger.Close()
	if _, err := stranger.GetState(t.Context(), &weirpb.GetStateRequest{Table: "spend", Key: []byte("2:5")}); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("%v", err)
	}
}

// TestPeersAreAskedOnce lets many ask at a time, and one give up.
func TestPeersAreAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakePeers{list: []Peer{{Instance: "weir-a", Partitions: []int32{0}}}, block: make(chan struct{})}
		p := &peers{source: source}
		var all sync.WaitGroup
		hasty, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			if _, err := p.get(hasty, false); !errors.Is(err, context.Canceled) {
				t.Errorf("who gave up got %v", err)
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
		// Remembered until somebody says that it is wrong, and then asked once more, but not without end.
		<-time.After(time.Hour)
		for _, c := range []struct {
			anew bool
			want int
		}{{false, 1}, {true, 2}, {true, 2}} {
			if _, err := p.get(t.Context(), c.anew); err != nil || source.times() != c.want {
				t.Errorf("%v: %v, asked %d times, want %d", c.anew, err, source.times(), c.want)
			}
		}
		// A source that does not answer has its limit; what was known comes with the error.
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
