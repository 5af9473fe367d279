package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/keywatch"
	"github.com/weirhq/weir/internal/obs"
)

// pollFixture is a served process, in a bubble, whose partition of account a1 commits when the test
// does.
type pollFixture struct {
	*fakeSpend
	state  *fakeState
	peers  *fakePeers
	client *Client
	reg    *obs.Registry
	log    bytes.Buffer
	stop   func() error

	mu  sync.Mutex
	set *keywatch.Set
}

const pollPartition = 0 // of account a1

// Spend is that of fakeSpend, for records that change.
func (f *pollFixture) Spend(ctx context.Context, q SpendQuery, fn func(*eventspb.Spend, *weirpb.AsOf) error) ([]*weirpb.AsOf, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fakeSpend.Spend(ctx, q, fn)
}

// commit makes r the only record of campaign c1, or changes nothing that concerns it.
func (f *pollFixture) commit(r *eventspb.Spend) {
	f.mu.Lock()
	if r != nil {
		f.records = []*eventspb.Spend{r}
	}
	f.mu.Unlock()
	f.set.WakeAll()
}

func polls(t *testing.T, change func(*Config), test func(t *testing.T, f *pollFixture)) {
	t.Helper()
	if p := events.Shard("a1", fakePartitions); p != pollPartition {
		t.Fatalf("account a1 is in partition %d", p)
	}
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		f := &pollFixture{fakeSpend: cfg.Spend.(*fakeSpend), peers: &fakePeers{}, reg: cfg.Registry, set: &keywatch.Set{}}
		f.records = []*eventspb.Spend{record(20131020, "local", 10, 1)}
		f.state = &fakeState{
			instance: "weir-0", parts: map[int32]*fakePart{pollPartition: {state: "owner"}},
			watches: map[int32]*keywatch.Set{pollPartition: f.set},
		}
		m := &member{fakeState: f.state, router: NewRouter(RouterConfig{State: f.state, Peers: f.peers})}
		defer m.router.Close()
		f.peers.set(nil, Peer{Instance: "weir-0", Endpoint: "127.0.0.1:8080", Partitions: []int32{pollPartition}})
		cfg.Spend, cfg.Apps, cfg.SpendApp = f, []App{m.app()}, "counter"
		cfg.Log = new(zerolog.New(zerolog.SyncWriter(&f.log)))
		if change != nil {
			change(&cfg)
		}
		s := mustNew(t, cfg)
		data, ops := newPipeListener(), newPipeListener()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		s.data, s.ops = data, ops
		go func() { done <- s.serve(ctx) }()
		<-s.Ready()
		tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return data.dial(), nil }}
		f.client = NewClientWith(ClientConfig{Server: "127.0.0.1:8080", Transport: tr})
		defer f.client.Close()
		f.stop = sync.OnceValue(func() error { cancel(); return <-done })
		test(t, f)
		if err := f.stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

type pollAnswer struct {
	res  *weirpb.PollSpendResponse
	err  error
	took time.Duration
}

// poll parks a poll. version "": that of the answer now.
func (f *pollFixture) poll(ctx context.Context, t *testing.T, wait time.Duration) <-chan pollAnswer {
	t.Helper()
	req := &weirpb.PollSpendRequest{Spend: &weirpb.GetSpendRequest{Campaign: "c1", Account: "a1"}}
	first, err := f.client.PollSpend(ctx, req)
	if err != nil || first.GetVersion() == "" || first.GetSpend().GetAccount() != "a1" {
		t.Fatalf("the first poll: %v, %v", first, err)
	}
	synctest.Wait() // the server has left the first request, which has its place until then
	req.Version, req.WaitMs = first.GetVersion(), wait.Milliseconds()
	answer := make(chan pollAnswer, 1)
	go func() {
		begin := time.Now()
		res, err := f.client.PollSpend(ctx, req)
		answer <- pollAnswer{res, err, time.Since(begin)}
	}()
	synctest.Wait()
	return answer
}

// TestPoll: a poll is answered when a commit changes the answer, and by no other commit. It is
// logged and measured as a long poll.
func TestPoll(t *testing.T) {
	polls(t, nil, func(t *testing.T, f *pollFixture) {
		answer := f.poll(t.Context(), t, 0)
		if n := metric(t, f.reg, "weir_api_parked_requests"); n != 1 {
			t.Errorf("%v requests are parked", n)
		}
		if n := metric(t, f.reg, "weir_api_requests_in_flight"); n != 0 {
			t.Errorf("%v requests are worked on", n)
		}
		<-time.After(7 * time.Second)
		f.commit(nil)
		f.commit(record(20131020, "local", 10, 1)) // the same figures
		synctest.Wait()
		if len(answer) != 0 {
			t.Fatalf("answered by a commit without a change: %+v", <-answer)
		}
		f.commit(record(20131020, "local", 11, 1))
		got := <-answer
		if got.err != nil || got.res.GetSpend().GetChargedMicros() != 11000 || got.res.GetVersion() == "" || got.took != 7*time.Second {
			t.Errorf("%+v", got)
		}
		synctest.Wait() // the log follows the answer
		if n := metric(t, f.reg, "weir_api_parked_requests"); n != 0 {
			t.Errorf("%v requests are parked after the answer", n)
		}
		var line struct {
			LongPoll bool    `json:"long_poll"`
			Parked   float64 `json:"parked_ms"`
			Code     string
		}
		lines := strings.Split(strings.TrimSpace(f.log.String()), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil || !line.LongPoll || line.Parked < 7000 || line.Code != "ok" {
			t.Errorf("logged as %s: %v", lines[len(lines)-1], err)
		}
		if strings.Contains(lines[len(lines)-2], "long_poll") {
			t.Errorf("a short question is logged as %s", lines[len(lines)-2])
		}
		if s := seconds(t, f.reg, "weir_api_request_seconds"); s > 0.1 {
			t.Errorf("%v s of parked requests count as work", s)
		}
		if s := seconds(t, f.reg, "weir_api_parked_seconds"); s < 7 {
			t.Errorf("parked for %v s", s)
		}
	})
}

// seconds returns the sum of a histogram over its series.
func seconds(t *testing.T, r *obs.Registry, name string) (sum float64) {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += m.GetHistogram().GetSampleSum()
			}
		}
	}
	return sum
}

// TestPollUnchanged: without a change the poll ends after its wait, which has a limit.
func TestPollUnchanged(t *testing.T) {
	polls(t, nil, func(t *testing.T, f *pollFixture) {
		for wait, want := range map[time.Duration]time.Duration{
			0: 30 * time.Second, 5 * time.Second: 5 * time.Second, time.Hour: time.Minute, 1<<62 - 1: time.Minute,
		} {
			got := <-f.poll(t.Context(), t, wait)
			if got.err != nil || got.res.Spend != nil || got.res.GetVersion() == "" || got.took != want {
				t.Errorf("wait %s: %+v", wait, got)
			}
		}
	})
}

// TestPollSlowReader: a caller that polls too late gets the newest answer at once.
func TestPollSlowReader(t *testing.T) {
	polls(t, nil, func(t *testing.T, f *pollFixture) {
		first := <-f.poll(t.Context(), t, time.Second)
		for n := range uint64(100) {
			f.commit(record(20131020, "local", 11+n, 1))
		}
		begin := time.Now()
		res, err := f.client.PollSpend(t.Context(), &weirpb.PollSpendRequest{
			Spend: &weirpb.GetSpendRequest{Campaign: "c1", Account: "a1"}, Version: first.res.GetVersion(),
		})
		if err != nil || res.GetSpend().GetChargedMicros() != 110_000 || time.Since(begin) != 0 {
			t.Errorf("%v, %v after %s", res, err, time.Since(begin))
		}
	})
}

// TestPollLimits: parked requests have their own limits, of the process and of a client. Short
// questions are answered beside them.
func TestPollLimits(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"process": {func(c *Config) { c.MaxParked, c.MaxParkedPerClient = 2, 5 }, "2 requests of all clients wait"},
		"client":  {func(c *Config) { c.MaxParked, c.MaxParkedPerClient = 5, 2 }, "2 requests from pipe wait"},
	} {
		t.Run(name, func(t *testing.T) {
			polls(t, func(cfg *Config) { c.change(cfg); cfg.MaxRequests = 1 }, func(t *testing.T, f *pollFixture) {
				a, b := f.poll(t.Context(), t, 0), f.poll(t.Context(), t, 0)
				got := <-f.poll(t.Context(), t, 0)
				var coded *connect.Error
				if connect.CodeOf(got.err) != connect.CodeResourceExhausted || !strings.Contains(got.err.Error(), c.want) ||
					!errors.As(got.err, &coded) || coded.Meta().Get("Retry-After") != "1" {
					t.Errorf("a third poll: %+v", got)
				}
				synctest.Wait()
				if _, err := f.client.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "c1"}); err != nil {
					t.Errorf("a short question: %v", err)
				}
				f.commit(record(20131020, "local", 11, 1))
				for _, answer := range []<-chan pollAnswer{a, b} {
					if got := <-answer; got.err != nil {
						t.Error(got.err)
					}
				}
				synctest.Wait()
				if got := <-f.poll(t.Context(), t, time.Second); got.err != nil {
					t.Error(got.err)
				}
			})
		})
	}
}

// TestPollShutdown: a server that stops answers its polls at once, with an error that names the
// next step.
func TestPollShutdown(t *testing.T) {
	polls(t, nil, func(t *testing.T, f *pollFixture) {
		a, b := f.poll(t.Context(), t, 0), f.poll(t.Context(), t, 0)
		begin := time.Now()
		if err := f.stop(); err != nil {
			t.Error(err)
		}
		for _, answer := range []<-chan pollAnswer{a, b} {
			got := <-answer
			var coded *connect.Error
			if connect.CodeOf(got.err) != connect.CodeUnavailable || !errors.As(got.err, &coded) || coded.Meta().Get("Retry-After") != "1" ||
				!strings.Contains(coded.Message(), "send it again, to another process") {
				t.Errorf("%+v", got)
			}
		}
		if took := time.Since(begin); took > time.Second { // http.Server looks for idle connections twice a second
			t.Errorf("the stop took %s", took)
		}
	})
}

// TestPollCancelled: a caller that leaves frees its place.
func TestPollCancelled(t *testing.T) {
	polls(t, nil, func(t *testing.T, f *pollFixture) {
		ctx, cancel := context.WithCancel(t.Context())
		answer := f.poll(ctx, t, 0)
		cancel()
		synctest.Wait()
		if got := <-answer; got.err == nil {
			t.Errorf("%+v", got)
		}
		if n := metric(t, f.reg, "weir_api_parked_requests"); n != 0 || !f.set.Empty() {
			t.Errorf("%v requests are parked", n)
		}
	})
}

// TestPollMoves: when the partition moves, the poll is passed to the new owner, or answered by an
// error that names the owner.
func TestPollMoves(t *testing.T) {
	polls(t, nil, func(t *testing.T, f *pollFixture) {
		answer := f.poll(t.Context(), t, 0)
		<-time.After(time.Second) // the cached owners are older than a refresh may be
		f.peers.set(nil, Peer{Instance: "weir-1", Endpoint: "127.0.0.1:1", Partitions: []int32{pollPartition}})
		f.state.is(pollPartition, "restoring", 0)
		f.set.Close()
		got := <-answer
		if connect.CodeOf(got.err) != connect.CodeUnavailable || !strings.Contains(got.err.Error(), "weir-1 at 127.0.0.1:1 cannot answer") {
			t.Errorf("%+v", got)
		}
	})
}

// TestPollForwarded: a process passes a poll to the owner of the partition, and back comes the
// answer to the commit.
func TestPollForwarded(t *testing.T) {
	peers, set := &fakePeers{}, &keywatch.Set{}
	spend := &pollFixture{set: set}
	serve := func(name string, f *fakeState) *member {
		f.instance = name
		return start(t, f, peers, func(c *Config) {
			if spend.fakeSpend == nil {
				spend.fakeSpend = c.Spend.(*fakeSpend)
			}
			c.Spend = spend
		})
	}
	a := serve("a", &fakeState{})
	b := serve("b", &fakeState{parts: map[int32]*fakePart{pollPartition: {state: "owner"}}, watches: map[int32]*keywatch.Set{pollPartition: set}})
	peers.set(nil, a.peer(), b.peer(pollPartition))
	req := &weirpb.PollSpendRequest{Spend: &weirpb.GetSpendRequest{Campaign: "c1", Account: "a1"}}
	first, err := a.client.PollSpend(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.Version = first.GetVersion()
	answer := make(chan pollAnswer, 1)
	go func() {
		res, err := a.client.PollSpend(t.Context(), req)
		answer <- pollAnswer{res: res, err: err}
	}()
	for tick := time.NewTicker(time.Millisecond); set.Empty(); { // until b watches
		select {
		case <-tick.C:
		case got := <-answer:
			t.Fatalf("%+v", got)
		}
	}
	spend.commit(record(20131020, "local", 1, 1))
	if got := <-answer; got.err != nil || got.res.GetSpend().GetChargedMicros() != 1000 {
		t.Errorf("%+v", got)
	}
}

func TestPollErrors(t *testing.T) {
	h := mustNew(t, config()).dataHandler()
	for body, want := range map[string]string{
		`{}`: "no campaign",
		`{"spend":{"campaign":"c1"},"waitMs":-1}`:                                     "wait_ms -1 is negative",
		`{"spend":{"campaign":"c1"},"version":"x"}`:                                   "needs the account",
		`{"spend":{"campaign":"c1","account":"a1","wait":true},"version":"x"}`:        "for a poll without a version",
		`{"spend":{"campaign":"c1","account":"a1","maxStalenessMs":9},"version":"x"}`: "for a poll without a version",
		`{"spend":{"campaign":"c9"}}`:                                                 "has no spend",
		`{"spend":{"campaign":"c1","account":"a1"},"version":"x"}`:                    "role spendcounter", // it has no state
	} {
		if status, answer := post(t, h, weirpbconnect.SpendServicePollSpendProcedure, body); status == http.StatusOK || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s, want %q", body, status, answer, want)
		}
	}
}

// FuzzPollSpendJSON sends any body as a poll that ends at once. The answer is JSON with a code that
// a caller can cause.
func FuzzPollSpendJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spend":{"campaign":"c1"}}`, `{"spend":{"campaign":"c1","account":"a1"},"version":"x","waitMs":1}`,
		`{"spend":{"campaign":"c1","account":"a1"},"version":"\u0000","waitMs":9223372036854775807}`, `{"version":"x"}`, `{"spend":null,"waitMs":-1}`,
	} {
		f.Add([]byte(seed))
	}
	cfg := config()
	cfg.WaitLimit = time.Millisecond
	state := &fakeState{instance: "weir-0", parts: map[int32]*fakePart{}}
	for p := range int32(fakePartitions) {
		state.parts[p] = &fakePart{state: "owner"}
	}
	cfg.Apps, cfg.SpendApp = []App{appOf(state, &fakePeers{})}, "counter"
	h := mustNew(f, cfg).dataHandler()
	f.Fuzz(func(t *testing.T, body []byte) {
		status, answer := post(t, h, weirpbconnect.SpendServicePollSpendProcedure, string(body))
		var got struct{ Code, Version string }
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Fatalf("%d %q: %v", status, answer, err)
		}
		switch {
		case status == http.StatusOK && got.Version == "":
			t.Fatalf("an answer without a version to %q: %s", body, answer)
		case status != http.StatusOK && got.Code != "invalid_argument" && got.Code != "not_found" && got.Code != "resource_exhausted":
			t.Fatalf("%q got %d %s", body, status, answer)
		}
	})
}
