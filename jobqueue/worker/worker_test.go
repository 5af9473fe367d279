package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
)

// fakeService is a JobService in memory, with the core of the job queues.
type fakeService struct {
	jobpbconnect.UnimplementedJobServiceHandler

	mu       sync.Mutex
	q        *jobqueue.Queue
	lease    time.Duration
	next     jobqueue.ID
	results  map[string]string // by id
	down     bool              // all requests fail
	lose     int               // answers to reports that are lost
	requests map[string]int
	most     int               // jobs that ran at a time
	progress map[string]string // by id
}

const lease = 30 * time.Second

func newFakeService(t *testing.T) *fakeService {
	q, err := jobqueue.New(jobqueue.Config{Lease: lease, Backoff: time.Second, Blacklist: -1, MaxAttempts: 3})
	if err != nil {
		t.Fatal(err)
	}
	return &fakeService{q: q, lease: lease, results: map[string]string{}, requests: map[string]int{}, progress: map[string]string{}}
}

func (f *fakeService) submit(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		if _, err := f.q.Submit(time.Now().UnixMilli(), f.next, &jobqueue.Spec{}); err != nil {
			panic(err)
		}
		f.next++
	}
}

// state returns the state of a job.
func (f *fakeService) state(id jobqueue.ID) jobqueue.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.q.Tick(nil, time.Now().UnixMilli(), 1000)
	return f.q.State(id)
}

// begin counts a request, and returns its error while the service is down.
func (f *fakeService) begin(name string) error {
	f.requests[name]++
	if f.down {
		return connect.NewError(connect.CodeUnavailable, errors.New("down"))
	}
	return nil
}

func (f *fakeService) PollJobs(ctx context.Context, req *connect.Request[jobpb.PollJobsRequest]) (*connect.Response[jobpb.PollJobsResponse], error) {
	m := req.Msg
	for end := time.Now().Add(time.Duration(m.GetWaitMs()) * time.Millisecond); ; {
		res, err := f.tryPoll(m)
		if err != nil || len(res.GetJobs()) > 0 || !time.Now().Before(end) {
			return connect.NewResponse(res), err
		}
		if !pause.For(ctx, 100*time.Millisecond) {
			return nil, connect.NewError(connect.CodeCanceled, ctx.Err())
		}
	}
}

func (f *fakeService) tryPoll(m *jobpb.PollJobsRequest) (*jobpb.PollJobsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("poll"); err != nil {
		return nil, err
	}
	now := time.Now().UnixMilli()
	_, _ = f.q.Tick(nil, now, 1000)
	if _, err := f.q.Declare(now, m.GetAgent(), &jobqueue.Profile{Has: m.GetHas()}); err != nil {
		return nil, err
	}
	ds, _, err := f.q.Poll(nil, now, &jobqueue.Poll{Agent: m.GetAgent(), N: int(m.GetMaxJobs()), Policy: jobqueue.Greedy})
	res := &jobpb.PollJobsResponse{}
	for _, d := range ds {
		res.Jobs = append(res.Jobs, &jobpb.StartedJob{
			Id: fmt.Sprint(d.ID), Attempt: uint32(d.Attempt), LeaseMs: f.lease.Milliseconds(), Payload: fmt.Append(nil, "payload ", d.ID),
		})
	}
	return res, err
}

func (f *fakeService) HeartbeatJobs(_ context.Context, req *connect.Request[jobpb.HeartbeatJobsRequest]) (*connect.Response[jobpb.HeartbeatJobsResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("heartbeat"); err != nil {
		return nil, err
	}
	var held []jobqueue.Held
	for _, j := range req.Msg.GetJobs() {
		held = append(held, jobqueue.Held{ID: number(j.GetId()), Attempt: uint8(j.GetAttempt())})
		f.progress[j.GetId()] = j.GetProgress()
	}
	f.most = max(f.most, len(held))
	res := &jobpb.HeartbeatJobsResponse{}
	_, stop := f.q.Heartbeat(nil, time.Now().UnixMilli(), req.Msg.GetAgent(), held)
	for _, h := range stop {
		res.Stop = append(res.Stop, &jobpb.JobAttempt{Id: fmt.Sprint(h.ID), Attempt: uint32(h.Attempt)})
	}
	return connect.NewResponse(res), nil
}

func number(id string) (n jobqueue.ID) {
	_, _ = fmt.Sscan(id, &n)
	return n
}

func (f *fakeService) ReportJobs(_ context.Context, req *connect.Request[jobpb.ReportJobsRequest]) (*connect.Response[jobpb.ReportJobsResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("report"); err != nil {
		return nil, err
	}
	res := &jobpb.ReportJobsResponse{}
	now, agent := time.Now().UnixMilli(), req.Msg.GetAgent()
	_, _ = f.q.Tick(nil, now, 1000)
	for _, r := range req.Msg.GetReports() {
		id, attempt := number(r.GetId()), uint8(r.GetAttempt())
		var err error
		switch {
		case r.GetReturned():
			_, err = f.q.Return(now, agent, id, attempt)
		case r.GetFinal():
			_, err = f.q.FailForGood(now, agent, id, attempt)
		case r.GetError() != "":
			_, err = f.q.Fail(now, agent, id, attempt)
		default:
			_, err = f.q.Complete(now, agent, id, attempt)
		}
		o := &jobpb.JobOutcome{Id: r.GetId()}
		if err != nil {
			o.Code = "aborted"
		} else {
			f.results[r.GetId()] = string(r.GetResult()) + r.GetError()
		}
		res.Outcomes = append(res.Outcomes, o)
	}
	if f.lose > 0 {
		f.lose--
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("the answer is lost"))
	}
	return connect.NewResponse(res), nil
}

// do changes the service.
func (f *fakeService) do(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
}

// test is a worker in a bubble.
type test struct {
	*testing.T
	*fakeService
	w    *Worker
	stop func()
	err  chan error
}

// inBubble runs fn with a worker of 4 slots.
func inBubble(t *testing.T, run func(ctx context.Context, j *Job) ([]byte, error), fn func(x *test)) {
	synctest.Test(t, func(t *testing.T) {
		x := &test{T: t, fakeService: newFakeService(t), err: make(chan error, 1)}
		w, err := New(Config{Queue: "q", Agent: "a", Slots: 4, Run: run, service: x.fakeService})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		x.w, x.stop = w, cancel
		go func() { x.err <- w.Run(ctx) }()
		fn(x)
		cancel()
		if err := <-x.err; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// pass lets time pass.
func (x *test) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (x *test) want(id jobqueue.ID, state jobqueue.State) {
	x.Helper()
	if got := x.state(id); got != state {
		x.Errorf("job %d is %v, want %v", id, got, state)
	}
}

// TestResults: a job is done with its result, fails and is tried again, fails for good, or is
// returned, as Config.Run returns. A panic is a failure with its stack.
func TestResults(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	run := func(_ context.Context, j *Job) ([]byte, error) {
		mu.Lock()
		seen = append(seen, j.Token()+" "+string(j.Payload))
		mu.Unlock()
		switch {
		case j.ID == "1" && j.Attempt == 1:
			return nil, errors.New("once")
		case j.ID == "2":
			return nil, fmt.Errorf("wrapped: %w", Final(errors.New("for good")))
		case j.ID == "3" && j.Attempt == 1:
			return nil, Return(errors.New("no GPU"))
		case j.ID == "4":
			panic("oh")
		case j.ID == "5":
			return make([]byte, maxResult+1), nil
		}
		return []byte("result " + j.ID), nil
	}
	inBubble(t, run, func(x *test) {
		x.submit(6)
		x.pass(20 * time.Second)
		for id, want := range []jobqueue.State{jobqueue.Done, jobqueue.Done, jobqueue.Failed, jobqueue.Done, jobqueue.Failed, jobqueue.Failed} {
			x.want(jobqueue.ID(id), want)
		}
		if got := x.results["1"]; got != "result 1" {
			t.Errorf("the result of a second attempt is %q", got)
		}
		if got := x.results["4"]; !strings.HasPrefix(got, "panic: oh\n") || !strings.Contains(got, "TestResults") || len(got) > maxError {
			t.Errorf("the error of a panic has %d bytes: %q", len(got), got)
		}
		if got := x.results["5"]; !strings.Contains(got, "store it in another system") {
			t.Errorf("a large result: %q", got)
		}
		if s := x.w.Stats(); s != (Stats{Started: 10, Done: 3, Failed: 6, Returned: 1}) {
			t.Errorf("%+v", s)
		}
		if !slices.Contains(seen, "1/2 payload 1") || !slices.Contains(seen, "3/2 payload 3") {
			t.Errorf("the attempts are %q", seen)
		}
	})
}

// TestHeartbeats: a job that takes several leases keeps its lease, and so does one whose report has
// no answer.
func TestHeartbeats(t *testing.T) {
	inBubble(t, func(ctx context.Context, _ *Job) ([]byte, error) {
		if !pause.For(ctx, 5*lease) {
			return nil, context.Cause(ctx)
		}
		return []byte("ok"), nil
	}, func(x *test) {
		x.submit(6)
		x.pass(4 * lease)
		if x.most != 4 {
			t.Errorf("%d jobs run at a time, with 4 slots", x.most)
		}
		x.want(0, jobqueue.Running)
		x.want(5, jobqueue.Pending)
		x.do(func() { x.lose = 10 })
		x.pass(lease + lease/2)
		x.want(0, jobqueue.Done)
		x.pass(6 * lease)
		x.want(5, jobqueue.Done)
		if s := x.w.Stats(); s != (Stats{Started: 6, Done: 6}) {
			t.Errorf("%+v", s)
		}
	})
}

// TestProgress: heartbeats have what a job has reported last, cut to what the queue takes.
func TestProgress(t *testing.T) {
	run := func(_ context.Context, j *Job) ([]byte, error) {
		<-time.After(lease)
		j.Progress("half")
		<-time.After(lease)
		j.Progress(strings.Repeat("\u00e9", maxProgress))
		<-time.After(lease)
		return nil, nil
	}
	inBubble(t, run, func(x *test) {
		x.submit(1)
		x.pass(lease / 2)
		for _, want := range []string{"", "half", strings.Repeat("\u00e9", maxProgress/2)} {
			if want != "" {
				x.pass(lease)
			}
			x.mu.Lock()
			if got, ok := x.progress["0"]; !ok || got != want {
				t.Errorf("the progress is %q, want %q", got, want)
			}
			x.mu.Unlock()
		}
		x.pass(lease)
		x.want(0, jobqueue.Done)
	})
}

// TestLost: the context of a job ends when the queue reports that the attempt is over, and when no
// heartbeat has succeeded for as long as the lease.
func TestLost(t *testing.T) {
	var mu sync.Mutex
	ended := map[string]time.Duration{}
	start := time.Time{}
	run := func(ctx context.Context, j *Job) ([]byte, error) {
		<-ctx.Done()
		mu.Lock()
		defer mu.Unlock()
		if !errors.Is(context.Cause(ctx), ErrLost) {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
		ended[j.Token()] = time.Since(start)
		return nil, nil
	}
	inBubble(t, run, func(x *test) {
		start = time.Now()
		x.submit(2)
		x.pass(3 * lease)
		x.do(func() { _, _ = x.q.Cancel(time.Now().UnixMilli(), 0) })
		x.pass(lease)
		x.do(func() { x.down = true })
		x.pass(3 * lease)
		mu.Lock()
		canceled, alone := ended["0/1"], ended["1/1"]
		mu.Unlock()
		if canceled < 3*lease || canceled > 3*lease+lease/2 {
			t.Errorf("a canceled job ended after %v", canceled)
		}
		if alone < 4*lease+lease/2 || alone > 5*lease {
			t.Errorf("a job without heartbeats ended after %v", alone)
		}
		if s := x.w.Stats(); s.Lost != 2 || s.Done != 0 {
			t.Errorf("%+v", s)
		}
		x.do(func() { x.down = false; _, _ = x.q.Cancel(time.Now().UnixMilli(), 1) })
	})
}

// TestStop: a worker that stops polls no more, and waits for its jobs. After the grace period their
// contexts end, and they are returned.
func TestStop(t *testing.T) {
	run := func(ctx context.Context, j *Job) ([]byte, error) {
		d := 10 * time.Second
		if j.ID == "1" {
			d = time.Hour
		}
		if !pause.For(ctx, d) {
			return nil, context.Cause(ctx)
		}
		return nil, nil
	}
	inBubble(t, run, func(x *test) {
		x.submit(2)
		x.pass(time.Second)
		x.stop()
		stopped := time.Now()
		x.submit(1)
		x.pass(25 * time.Second)
		x.want(0, jobqueue.Done)
		x.want(1, jobqueue.Running)
		if err := <-x.err; err != nil {
			t.Error(err)
		}
		x.err <- nil
		if took := time.Since(stopped); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("the worker stops after %v", took)
		}
		x.want(1, jobqueue.Pending)
		x.want(2, jobqueue.Pending)
		if s := x.w.Stats(); s != (Stats{Started: 2, Done: 1, Returned: 1}) {
			t.Errorf("%+v", s)
		}
	})
}

// TestStopInOutage: a worker that stops while no server answers does not wait for the end of its
// leases: it repeats reports for five seconds after Grace, and not at all if Grace is negative.
func TestStopInOutage(t *testing.T) {
	for _, grace := range []time.Duration{20 * time.Second, -1} {
		run := func(ctx context.Context, _ *Job) ([]byte, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		inBubble(t, run, func(x *test) {
			x.do(func() { x.lease = time.Hour })
			x.w.cfg.Grace = grace
			x.submit(1)
			x.pass(time.Second)
			x.do(func() { x.down = true })
			stopped := time.Now()
			x.stop()
			if err := <-x.err; err != nil {
				t.Error(err)
			}
			x.err <- nil
			most := max(0, grace) + 2*lastReports
			if grace < 0 {
				most = time.Second
			}
			if took := time.Since(stopped); took < max(0, grace) || took > most {
				t.Errorf("with a grace of %v the worker stops after %v", grace, took)
			}
			if s := x.w.Stats(); s != (Stats{Started: 1, Lost: 1}) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestOutage: a worker continues after an outage of all servers, and asks them less and less often
// during it.
func TestOutage(t *testing.T) {
	inBubble(t, func(context.Context, *Job) ([]byte, error) { return nil, nil }, func(x *test) {
		x.do(func() { x.down = true })
		x.submit(1)
		x.pass(time.Minute)
		polls := 0
		x.do(func() { polls, x.down = x.requests["poll"], false })
		if polls < 10 || polls > 30 {
			t.Errorf("%d polls in an outage of a minute", polls)
		}
		x.pass(10 * time.Second)
		x.want(0, jobqueue.Done)
	})
}

// TestRefused: a worker whose queue does not exist ends with an error.
func TestRefused(t *testing.T) {
	w, err := New(Config{
		Queue: "q", Run: func(context.Context, *Job) ([]byte, error) { return nil, nil },
		service: jobpbconnect.UnimplementedJobServiceHandler{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); connect.CodeOf(err) != connect.CodeUnimplemented || !strings.Contains(err.Error(), `poll queue "q"`) {
		t.Errorf("Run: %v", err)
	}
}

// TestConfig: a wrong configuration is refused, with the name of the field.
func TestConfig(t *testing.T) {
	good := Config{Servers: []string{"http://127.0.0.1:8080"}, Queue: "q", Run: func(context.Context, *Job) ([]byte, error) { return nil, nil }}
	if w, err := New(good); err != nil || w.Agent() == "" {
		t.Fatalf("%v, %v", w, err)
	}
	for field, change := range map[string]func(c *Config){
		"Servers":                  func(c *Config) { c.Servers = nil },
		"Queue":                    func(c *Config) { c.Queue = "" },
		"Run":                      func(c *Config) { c.Run = nil },
		"Slots":                    func(c *Config) { c.Slots = 1001 },
		"Delay":                    func(c *Config) { c.Delay = -1 },
		"is not a URL of a server": func(c *Config) { c.Servers = []string{"127.0.0.1:8080"} },
		"plain HTTP":               func(c *Config) { c.Servers, c.Token = []string{"http://weir:8080"}, "secret" },
	} {
		c := good
		change(&c)
		if _, err := New(c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestCompression: a worker does not ask for compressed answers.
func TestCompression(t *testing.T) {
	accepts := "none"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accepts = r.Header.Get("Accept-Encoding")
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	c := Config{Servers: []string{server.URL}, Queue: "q", Run: func(context.Context, *Job) ([]byte, error) { return nil, nil }}
	if err := c.setDefaults(); err != nil {
		t.Fatal(err)
	}
	services, err := c.services()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := services[0].PollJobs(t.Context(), connect.NewRequest(&jobpb.PollJobsRequest{})); err == nil || strings.Contains(accepts, "gzip") {
		t.Errorf("a poll accepts %q, %v", accepts, err)
	}
}
