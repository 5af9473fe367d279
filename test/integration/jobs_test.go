package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// TestJobs: two processes run a queue of two partitions, and are killed or stopped in turn, while
// submitters and agents send requests to both. No job is lost, no attempt is given to two agents,
// and one attempt of each job counts. The events of a job are what happened to it, each once.
func TestJobs(t *testing.T) {
	c := empty(t)
	settings := []string{
		"topics: {replication_factor: 1, min_insync: 1}", "jobs: {partitions: 4}", "processor: {standbys: 1}",
	}
	l := &jobLedger{t: t, queue: "work", given: map[string]string{}, done: map[string]uint32{}, stop: make(chan struct{})}
	for _, name := range []string{"a", "b"} {
		i := newInstance(c, name, settings...)
		i.roles = "jobs"
		if l.instances = append(l.instances, i); name == "a" {
			if r := weir(t, "topics", "apply", "--for", "jobs", "-f", i.config); r.code != 0 {
				t.Fatal(r.stderr)
			}
		}
		l.processes = append(l.processes, i.start())
	}
	for n := range l.processes {
		addr, _ := l.processes[n].ready()
		l.clients = append(l.clients, api.NewClient(addr))
	}
	l.try("create the queue", func(ctx context.Context, client *api.Client) error {
		_, err := client.SetQueue(ctx, &jobpb.SetQueueRequest{Queue: l.queue, Settings: &jobpb.QueueSettings{
			Partitions: 2, LeaseMs: 3000, BackoffMs: 10, AvoidMs: -1, MaxAttempts: 200, Events: true,
		}})
		return err
	})
	var running sync.WaitGroup
	for n := range 2 {
		running.Go(func() { l.submit(n) })
	}
	for n := range 8 {
		running.Go(func() { l.agent(fmt.Sprint("agent-", n), n%2 == 0) })
	}
	for n := range soak(3, 24) {
		pass(t, 5*time.Second)
		at := n % 2
		if n%3 == 2 {
			l.processes[at].signal(syscall.SIGTERM)
			l.processes[at].exit()
		} else {
			l.processes[at].kill()
		}
		p := l.instances[at].start()
		addr, _ := p.ready()
		l.mu.Lock()
		l.processes[at], l.clients[at] = p, api.NewClient(addr)
		l.mu.Unlock()
	}
	l.mu.Lock()
	l.submitted = true
	l.mu.Unlock()
	begun := time.Now()
	testlimit.Within(t, "all jobs are done", func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		left := 0
		for _, id := range l.ids {
			if l.done[id] == 0 {
				left++
			}
		}
		if left > 0 {
			return fmt.Errorf("%d of %d are not", left, len(l.ids))
		}
		return nil
	})
	close(l.stop)
	running.Wait()
	t.Logf("%d jobs, the last of them done %v after the last process was killed and started again; %d attempts, %d answers were errors",
		len(l.ids), time.Since(begun).Round(time.Millisecond), len(l.given), l.errors)
	l.check()
	l.checkEvents(c)
}

// jobLedger is what submitters and agents have seen.
type jobLedger struct {
	t         *testing.T
	queue     string
	instances []*instance
	processes []*process

	mu        sync.Mutex
	clients   []*api.Client     // of the processes that run
	submitted bool              // no more jobs are submitted
	ids       []string          // of jobs whose submission was acknowledged
	given     map[string]string // by job and attempt: the agent that has got it
	done      map[string]uint32 // by job: the attempt that counts
	wrong     []string
	errors    int
	stop      chan struct{} // closed when agents stop
}

// client returns a client of one of the processes.
func (l *jobLedger) client() *api.Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clients[rand.IntN(len(l.clients))]
}

// failed counts an error that a fault may cause, and reports others.
func (l *jobLedger) failed(what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors++
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled, connect.CodeUnknown, connect.CodeResourceExhausted:
	default:
		l.wrong = append(l.wrong, fmt.Sprintf("%s: %v", what, err))
	}
}

// try repeats a request until it succeeds.
func (l *jobLedger) try(what string, fn func(context.Context, *api.Client) error) {
	l.t.Helper()
	testlimit.Within(l.t, what, func(ctx context.Context) error { return fn(ctx, l.client()) })
}

// submit submits jobs until the faults are over.
func (l *jobLedger) submit(n int) {
	for i := 0; ; i++ {
		l.mu.Lock()
		ended := l.submitted
		l.mu.Unlock()
		if ended || !pause.For(l.t.Context(), 50*time.Millisecond) {
			return
		}
		req := &jobpb.SubmitJobsRequest{Queue: l.queue}
		for k := range 10 {
			job := &jobpb.NewJob{Payload: fmt.Append(nil, n, " ", i, " ", k)}
			if k%2 == 0 {
				job.Require = []string{"gpu"}
			}
			req.Jobs = append(req.Jobs, job)
		}
		res, err := l.client().SubmitJobs(l.t.Context(), req)
		if err != nil { // the jobs may be there: they are run, and not counted
			l.failed("submit", err)
			continue
		}
		l.mu.Lock()
		l.ids = append(l.ids, res.GetIds()...)
		l.mu.Unlock()
	}
}

// agent polls, runs and reports jobs.
func (l *jobLedger) agent(name string, gpu bool) {
	poll := &jobpb.PollJobsRequest{Queue: l.queue, Agent: name, MaxJobs: 20, WaitMs: 500}
	if gpu {
		poll.Has = []string{"gpu"}
	}
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		res, err := l.client().PollJobs(l.t.Context(), poll)
		if err != nil {
			l.failed("poll", err)
			if !pause.For(l.t.Context(), 20*time.Millisecond) {
				return
			}
			continue
		}
		l.run(name, res.GetJobs())
	}
}

// run runs jobs: the ledger is the other system on which they act.
func (l *jobLedger) run(name string, jobs []*jobpb.StartedJob) {
	if len(jobs) == 0 {
		return
	}
	req := &jobpb.ReportJobsRequest{Queue: l.queue, Agent: name}
	l.mu.Lock()
	for _, j := range jobs {
		key := fmt.Sprint(j.GetId(), " ", j.GetAttempt())
		if other, twice := l.given[key]; twice {
			l.wrong = append(l.wrong, fmt.Sprintf("attempt %d of job %s was given to %s and %s", j.GetAttempt(), j.GetId(), other, name))
		}
		l.given[key] = name
		req.Reports = append(req.Reports, &jobpb.JobReport{Id: j.GetId(), Attempt: j.GetAttempt(), Result: []byte(name)})
	}
	l.mu.Unlock()
	for range 100 { // a report is repeated until its outcome is known
		res, err := l.client().ReportJobs(l.t.Context(), req)
		if err != nil {
			l.failed("report", err)
			if !pause.For(l.t.Context(), 50*time.Millisecond) {
				return
			}
			continue
		}
		if req.Reports = l.outcomes(req.GetReports(), res.GetOutcomes()); len(req.GetReports()) == 0 {
			return
		}
		if !pause.For(l.t.Context(), 50*time.Millisecond) {
			return
		}
	}
}

// outcomes notes the attempts that count, and returns the reports without an outcome yet.
func (l *jobLedger) outcomes(reports []*jobpb.JobReport, list []*jobpb.JobOutcome) (again []*jobpb.JobReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, o := range list {
		r := reports[i]
		switch o.GetCode() {
		case "":
			if before, ok := l.done[r.GetId()]; ok && before != r.GetAttempt() {
				l.wrong = append(l.wrong, fmt.Sprintf("attempts %d and %d of job %s count", before, r.GetAttempt(), r.GetId()))
			}
			l.done[r.GetId()] = r.GetAttempt()
		case "aborted": // its lease ended, and another attempt follows
		case "unavailable", "canceled", "deadline_exceeded", "resource_exhausted":
			again = append(again, r)
		default:
			l.wrong = append(l.wrong, fmt.Sprintf("a report about job %s: %s %s", r.GetId(), o.GetCode(), o.GetMessage()))
		}
	}
	return again
}

// check compares the ledger with the state of all jobs.
func (l *jobLedger) check() {
	for _, w := range l.wrong {
		l.t.Error(w)
	}
	if len(l.ids) < 100 || len(l.given) < len(l.ids) {
		l.t.Fatalf("%d jobs, %d attempts", len(l.ids), len(l.given))
	}
	for part := range slices.Chunk(l.ids, 500) {
		l.try("read the jobs", func(ctx context.Context, client *api.Client) error {
			res, err := client.GetJobs(ctx, &jobpb.GetJobsRequest{Queue: l.queue, Ids: part})
			for i, j := range res.GetJobs() {
				if j.GetState() != "done" || j.GetAttempt() != l.done[part[i]] || string(j.GetResult()) != l.given[fmt.Sprint(part[i], " ", j.GetAttempt())] {
					l.t.Errorf("job %s is %v, and attempt %d counts", part[i], j, l.done[part[i]])
				}
			}
			return err
		})
	}
}

// checkEvents compares the events of all jobs with the ledger. Each attempt has one start and one
// end, and each job one submission and one end that counts.
func (l *jobLedger) checkEvents(c *cluster) {
	type counts struct{ submitted, done, started, ended int }
	jobs := map[string]*counts{}
	seen := map[string]bool{} // by job, attempt, and whether it is the start
	err := kafkaadmin.ReadTopic(testlimit.Context(l.t), kafka.Cluster{Brokers: c.addrs()}, events.JobEventsTopic, time.Time{},
		func(p int32, r stream.Record) error {
			m := &eventspb.JobEvent{}
			if err := proto.Unmarshal(r.Value, m); err != nil {
				return err
			}
			id := m.GetJob()
			if id == "" {
				return nil
			}
			if jobs[id] == nil {
				jobs[id] = &counts{}
			}
			n := jobs[id]
			attempt := fmt.Sprint(id, " ", m.GetAttempt())
			switch m.GetKind() {
			case eventspb.JobEventKind_JOB_EVENT_KIND_SUBMITTED:
				n.submitted++
				return nil
			case eventspb.JobEventKind_JOB_EVENT_KIND_STARTED:
				n.started++
			case eventspb.JobEventKind_JOB_EVENT_KIND_DONE:
				n.done++
				n.ended++
				if l.done[id] != 0 && l.done[id] != m.GetAttempt() || string(m.GetResult()) != l.given[attempt] {
					l.t.Errorf("event %v, and attempt %d of %q counts", m, l.done[id], l.given[attempt])
				}
			case eventspb.JobEventKind_JOB_EVENT_KIND_DUE:
				return nil
			default:
				n.ended++
			}
			if agent := l.given[attempt]; agent != "" && agent != m.GetAgent() {
				l.t.Errorf("event %v, and the attempt was given to %s", m, agent)
			}
			key := fmt.Sprint(attempt, m.GetKind() == eventspb.JobEventKind_JOB_EVENT_KIND_STARTED)
			if seen[key] || !strings.HasPrefix(id, fmt.Sprint(p, "-")) {
				l.t.Errorf("event %v comes twice, or is in partition %d", m, p)
			}
			seen[key] = true
			return nil
		})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, id := range l.ids {
		if n := jobs[id]; n == nil || n.submitted != 1 || n.done != 1 || n.started != n.ended || n.started < int(l.done[id]) {
			l.t.Errorf("job %s, of which attempt %d counts, has events %+v", id, l.done[id], n)
		}
	}
}
