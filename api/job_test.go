package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/queues"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// fakeShards are the shards of job queues of one process: the real ones, without a broker. It is a
// JobSource, a JobSink, and the StateSource of what they have committed.
type fakeShards struct {
	StateSource

	mu      sync.Mutex
	runners []*streamtest.Runner
	offsets []int64
	gone    map[int32]bool // partitions that this process does not run
	held    bool           // nothing commits
}

func newFakeShards(t *testing.T) *fakeShards {
	f := &fakeShards{gone: map[int32]bool{}, offsets: make([]int64, fakePartitions)}
	for p := range int32(fakePartitions) {
		r := streamtest.New(t, streamtest.Options{Processor: queues.Processor(events.Layout{Shards: fakePartitions}, nil), Partition: p})
		f.runners = append(f.runners, r)
		t.Cleanup(func() { r.Handler().(stream.Closer).Close() })
	}
	return f
}

func (f *fakeShards) gap(p int32) error {
	if f.gone[p] {
		return &PartitionsError{Gaps: []PartitionGap{{Partition: p, State: "restoring"}}}
	}
	return nil
}

func (f *fakeShards) Ask(_ context.Context, p int32, _ bool, fn func(*queues.Shard) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.gap(p); err != nil {
		return err
	}
	if err := streamtest.Ask(f.runners[p], fn); err != nil {
		return err
	}
	if !f.held {
		f.runners[p].Commit(time.Now().UnixMilli())
	}
	return nil
}

func (f *fakeShards) Shown(p int32) (*queues.Shown, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.gap(p); err != nil {
		return nil, err
	}
	var shard *queues.Shard
	err := streamtest.Ask(f.runners[p], func(s *queues.Shard) error { shard = s; return nil })
	if err != nil {
		return nil, err
	}
	return shard.Shown(), nil
}

func (f *fakeShards) Rows(_ context.Context, p int32, keys []RowKey) (values [][]byte, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.gap(p); err != nil {
		return nil, err
	}
	for _, k := range keys {
		value, err := f.runners[p].Get(k.Table, k.Key)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// commit commits all shards, as the runtime does.
func (f *fakeShards) commit() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = false
	for _, r := range f.runners {
		r.Commit(time.Now().UnixMilli())
		r.Commit(time.Now().UnixMilli()) // what the first has requested
	}
}

// commitUntil commits all shards again and again until a request has ended.
func (f *fakeShards) commitUntil(t *testing.T, ended <-chan error, want func(error) bool) {
	t.Helper()
	for {
		select {
		case err := <-ended:
			if !want(err) {
				t.Errorf("the request ended with %v", err)
			}
			return
		case <-time.After(20 * time.Millisecond):
			f.commit()
		}
	}
}

func (f *fakeShards) Submit(_ context.Context, list []JobRecord) (offsets []int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range list {
		value, err := proto.Marshal(r.JobSubmission)
		if err != nil {
			return nil, err
		}
		f.runners[r.Partition].Append(value)
		f.runners[r.Partition].FoldAll()
		if !f.held {
			f.runners[r.Partition].Commit(time.Now().UnixMilli())
		}
		offsets = append(offsets, f.offsets[r.Partition])
		f.offsets[r.Partition]++
	}
	return offsets, nil
}

func (f *fakeShards) Info() StateInfo {
	return StateInfo{App: "jobs", Instance: "a", Partitions: fakePartitions}
}

func (f *fakeShards) Page(_ context.Context, q PageQuery) (*Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.gap(q.Partition); err != nil {
		return nil, err
	}
	page := &Page{AsOf: &weirpb.AsOf{Partition: q.Partition, ServedBy: &weirpb.ServedBy{Instance: "a"}}}
	err := f.runners[q.Partition].Range(q.Table, q.From, q.To, func(key, value []byte) error {
		if page.More = len(page.Entries) == q.Limit; page.More {
			return stream.ErrStopScan
		}
		page.Entries = append(page.Entries, Entry{slices.Clone(key), slices.Clone(value)})
		return nil
	})
	return page, err
}

// fakeOwners is a PeerSource.
type fakeOwners []Peer

func (f fakeOwners) Peers(context.Context) ([]Peer, error) { return f, nil }

// oneOwner is the process that has all partitions.
func oneOwner() fakeOwners { return fakeOwners{{Instance: "a", Partitions: []int32{0, 1, 2, 3}}} }

// newJobService returns the service over f, with queue "q" of some partitions.
func newJobService(t *testing.T, f *fakeShards, partitions int32) *jobService {
	t.Helper()
	s := newJobServiceOf(t, f, oneOwner())
	set(t, s, &jobpb.QueueSettings{Partitions: partitions, LeaseMs: 60_000}, "")
	return s
}

// newJobServiceOf returns the service of a process.
func newJobServiceOf(t *testing.T, f interface {
	JobSource
	JobSink
	StateSource
}, owners fakeOwners,
) *jobService {
	t.Helper()
	m, err := newMetrics(obs.NewRegistry("test"))
	if err != nil {
		t.Fatal(err)
	}
	s := &jobService{
		source: f, sink: f, router: NewRouter(RouterConfig{State: f, Peers: owners}), apps: &apps{}, waitLimit: time.Minute,
		parking:  newParking(&Config{MaxParked: 10, MaxParkedPerClient: 10}, newInflightLimiter(10), m),
		settings: map[string]knownQueue{},
	}
	t.Cleanup(s.router.Close)
	return s
}

// set sets the settings of queue "q", and expects a code; empty: it succeeds.
func set(t *testing.T, s *jobService, m *jobpb.QueueSettings, code string) (version uint64) {
	t.Helper()
	res, err := s.SetQueue(t.Context(), connect.NewRequest(&jobpb.SetQueueRequest{Queue: "q", Settings: m}))
	if code != "" {
		if err == nil || connect.CodeOf(err).String() != code {
			t.Errorf("SetQueue: %v, want %s", err, code)
		}
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.GetVersion()
}

// partitionsOfQ are the partitions of queue "q", in the order in which they are added.
func partitionsOfQ(n int32) []int32 { return events.QueuePartitions("q", n, fakePartitions) }

// leases returns the lease that each partition of queue "q" has, in seconds; 0: it does not have
// the queue.
func (f *fakeShards) leases() (list []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range partitionsOfQ(fakePartitions) {
		lease := int64(0)
		_ = streamtest.Ask(f.runners[p], func(q *queues.Shard) error {
			for _, x := range q.Shown().Queues() {
				lease = x.Settings.GetLeaseMs() / 1000
			}
			return nil
		})
		list = append(list, lease)
	}
	return list
}

// TestSetQueue: settings that have reached some of the partitions are completed, or replaced, by
// the next request, so that all partitions have equal ones in the end.
func TestSetQueue(t *testing.T) {
	f := newFakeShards(t)
	s := newJobService(t, f, 3)
	settings := func(seconds int64) *jobpb.QueueSettings {
		return &jobpb.QueueSettings{Partitions: 3, LeaseMs: seconds * 1000}
	}
	if v := set(t, s, settings(60), ""); v != 1 {
		t.Errorf("the same settings have version %d", v)
	}
	first := partitionsOfQ(1)[0]
	for _, next := range []int64{20, 30} { // the same ones again, and others
		set(t, s, settings(60), "")
		f.gone[first] = true
		s.router.peers = &peers{source: oneOwner()}
		list := partitionsOfQ(3)
		for _, p := range list[1:] { // what a request did before it failed
			if _, err := s.setShard(t.Context(), &jobpb.SetQueueRequest{Queue: "q", Settings: settings(20), Partition: &p, Version: 100}); err != nil {
				t.Fatal(err)
			}
		}
		set(t, s, settings(20), "unavailable")
		f.gone[first] = false
		set(t, s, settings(next), "")
		if got := f.leases(); !slices.Equal(got, []int64{next, next, next, 0}) {
			t.Errorf("the leases are %v, want %d", got, next)
		}
		f = newFakeShards(t)
		s = newJobService(t, f, 3)
	}
	set(t, s, &jobpb.QueueSettings{Partitions: 2}, "failed_precondition")
	set(t, s, &jobpb.QueueSettings{Partitions: 5}, "invalid_argument")
	set(t, s, &jobpb.QueueSettings{Partitions: 3, LeaseMs: -1}, "invalid_argument")
	partition := int32(3)
	for name, err := range map[string]error{
		"set": func() error {
			_, err := s.SetQueue(t.Context(), connect.NewRequest(&jobpb.SetQueueRequest{Queue: "q", Partition: &partition, Version: 1 << 63}))
			return err
		}(),
		"poll": func() error {
			_, err := s.PollJobs(t.Context(), connect.NewRequest(&jobpb.PollJobsRequest{Queue: "q", Agent: "a", Partition: &partition}))
			return err
		}(),
	} {
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s with a partition that is not forwarded: %v", name, err)
		}
	}
}

// TestGrowPaused: further partitions of a paused queue are paused.
func TestGrowPaused(t *testing.T) {
	f := newFakeShards(t)
	s := newJobService(t, f, 1)
	if _, err := s.PauseQueue(t.Context(), connect.NewRequest(&jobpb.PauseQueueRequest{Queue: "q"})); err != nil {
		t.Fatal(err)
	}
	set(t, s, &jobpb.QueueSettings{Partitions: 4}, "")
	res, err := s.ListQueues(t.Context(), connect.NewRequest(&jobpb.ListQueuesRequest{Queue: "q"}))
	if err != nil || !res.Msg.GetQueues()[0].GetPaused() || res.Msg.GetQueues()[0].GetSettings().GetPartitions() != 4 {
		t.Errorf("%v, %v", res, err)
	}
}

// submitTo submits a job to each partition of queue "q", by idempotency keys, and returns the ids.
func submitTo(t *testing.T, s *jobService, n int32) map[int32]string {
	t.Helper()
	ids := map[int32]string{}
	for k := 0; len(ids) < int(n); k++ {
		res, err := s.SubmitJobs(t.Context(), connect.NewRequest(&jobpb.SubmitJobsRequest{Queue: "q", Jobs: []*jobpb.NewJob{{Key: fmt.Sprint(k)}}}))
		if err != nil {
			t.Fatal(err)
		}
		id, err := ParseJobID(res.Msg.GetIds()[0])
		if err != nil {
			t.Fatal(err)
		}
		ids[id.Partition] = id.String()
	}
	return ids
}

// TestPartitionAway: an agent gets the jobs of the other partitions of a queue while one cannot be
// asked, and its heartbeat renews their leases.
func TestPartitionAway(t *testing.T) {
	f := newFakeShards(t)
	s := newJobService(t, f, 3)
	ids := submitTo(t, s, 3)
	poll := func() (*connect.Response[jobpb.PollJobsResponse], error) {
		return s.PollJobs(t.Context(), connect.NewRequest(&jobpb.PollJobsRequest{Queue: "q", Agent: "a", MaxJobs: 100, WaitMs: 1}))
	}
	var held []*jobpb.JobAttempt
	for _, away := range partitionsOfQ(3) { // whatever partition the agent begins with
		f.gone = map[int32]bool{away: true}
		for range 3 {
			res, err := poll()
			if err != nil {
				t.Fatalf("without partition %d: %v", away, err)
			}
			for _, j := range res.Msg.GetJobs() {
				if id, _ := ParseJobID(j.GetId()); id.Partition == away {
					t.Errorf("a job of partition %d, which is away", away)
				}
				held = append(held, &jobpb.JobAttempt{Id: j.GetId(), Attempt: j.GetAttempt()})
			}
		}
		if away == partitionsOfQ(3)[0] && len(held) < 2 {
			t.Errorf("without partition %d the agent has %v", away, held)
		}
	}
	if len(held) < len(ids) {
		t.Fatalf("the agent has %v of %v", held, ids)
	}
	for _, away := range partitionsOfQ(3) {
		f.gone = map[int32]bool{away: true}
		over := append(slices.Clone(held), &jobpb.JobAttempt{Id: ids[partitionsOfQ(3)[0]], Attempt: 9}, &jobpb.JobAttempt{Id: ids[partitionsOfQ(3)[1]], Attempt: 9})
		res, err := s.HeartbeatJobs(t.Context(), connect.NewRequest(&jobpb.HeartbeatJobsRequest{Queue: "q", Agent: "a", Jobs: over}))
		if err != nil || res.Msg.GetUnread() == "" || len(res.Msg.GetStop()) == 0 {
			t.Errorf("a heartbeat without partition %d: %v, %v", away, res, err)
		}
	}
	f.gone = map[int32]bool{0: true, 1: true, 2: true, 3: true}
	s.settings["q"] = knownQueue{s.settings["q"].JobQueueSettings, time.Now()}
	if _, err := poll(); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("without all partitions: %v", err)
	}
}

// TestCallerGone: jobs that were started for a poll whose caller has gone are pending again,
// whether the start has committed or not.
func TestCallerGone(t *testing.T) {
	f := newFakeShards(t)
	s := newJobService(t, f, 1)
	p := partitionsOfQ(1)[0]
	ids := submitTo(t, s, 1)
	f.mu.Lock()
	f.held = true
	f.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := s.PollJobs(ctx, connect.NewRequest(&jobpb.PollJobsRequest{Queue: "q", Agent: "a", WaitMs: 1000}))
		ended <- err
	}()
	if err := <-ended; connect.CodeOf(err) != connect.CodeCanceled {
		t.Errorf("a poll whose caller has gone: %v", err)
	}
	f.commit() // the start of the job: it is taken back now
	state := func() (state string) {
		res, err := s.GetJobs(t.Context(), connect.NewRequest(&jobpb.GetJobsRequest{Queue: "q", Ids: []string{ids[p]}}))
		if err != nil {
			t.Fatal(err)
		}
		return res.Msg.GetJobs()[0].GetState()
	}
	testlimit.Within(t, "the job is pending", func(context.Context) error {
		if got := state(); got != "pending" {
			return fmt.Errorf("the job is %s", got)
		}
		return nil
	})
	poll, answer := queues.NewPoll(new(queues.Ticket), "q", jobqueue.Profile{}, jobqueue.Poll{Agent: "a", N: 1})
	if err := f.Ask(t.Context(), p, true, func(q *queues.Shard) error { return q.Poll(poll) }); err != nil {
		t.Fatal(err)
	}
	a := <-answer
	if _, err := s.answer(ctx, &jobpb.PollJobsRequest{Queue: "q", Agent: "a"}, p, a); !errors.Is(err, context.Canceled) || len(a.Jobs) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	if got := state(); got != "pending" {
		t.Errorf("after the commit the job is %s", got)
	}
}

// TestPollEnds: a poll whose wait ends after a job was started for it, and before that has
// committed, has the job. In a queue of several partitions each turn of a poll ends that way.
func TestPollEnds(t *testing.T) {
	for _, partitions := range []int32{1, 3} {
		f := newFakeShards(t)
		s := newJobService(t, f, partitions)
		submitTo(t, s, partitions)
		f.mu.Lock()
		f.held = true
		f.mu.Unlock()
		ended := make(chan error, 1)
		go func() {
			res, err := s.PollJobs(t.Context(), connect.NewRequest(&jobpb.PollJobsRequest{Queue: "q", Agent: "a", WaitMs: 1}))
			if jobs := res.Msg.GetJobs(); err == nil && (len(jobs) != 1 || jobs[0].GetAttempt() != 1) {
				err = fmt.Errorf("the agent has %v", jobs)
			}
			ended <- err
		}()
		f.commitUntil(t, ended, func(err error) bool { return err == nil })
	}
}

// TestJobStates: the states of jobs of several partitions come in the order of the ids, and as they
// have committed.
func TestJobStates(t *testing.T) {
	f := newFakeShards(t)
	s := newJobService(t, f, 3)
	ids := submitTo(t, s, 3)
	list := partitionsOfQ(3)
	get := func(ids ...string) ([]jobpb.JobState, error) {
		res, err := s.GetJobStates(t.Context(), connect.NewRequest(&jobpb.GetJobStatesRequest{Queue: "q", Ids: ids}))
		if err != nil {
			return nil, err
		}
		return res.Msg.GetStates(), nil
	}
	want := func(what string, ids []string, want ...jobpb.JobState) {
		t.Helper()
		if got, err := get(ids...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
	}
	const pending, running, none = jobpb.JobState_JOB_STATE_PENDING, jobpb.JobState_JOB_STATE_RUNNING, jobpb.JobState_JOB_STATE_UNSPECIFIED
	three := []string{ids[list[2]], fmt.Sprintf("%d-999", list[1]), ids[list[0]]}
	want("after the submit", three, pending, none, pending)
	poll, answer := queues.NewPoll(new(queues.Ticket), "q", jobqueue.Profile{}, jobqueue.Poll{Agent: "a", N: 1000, Policy: jobqueue.Greedy})
	f.mu.Lock()
	f.held = true
	f.mu.Unlock()
	if err := f.Ask(t.Context(), list[0], false, func(q *queues.Shard) error { return q.Poll(poll) }); err != nil {
		t.Fatal(err)
	}
	want("before the commit of the start", three, pending, none, pending)
	f.commit()
	<-answer
	want("after the commit of the start", three, pending, none, running)
	if _, err := get(); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("without ids: %v", err)
	}
	if _, err := get(make([]string, MaxJobStates+1)...); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("too many ids: %v", err)
	}
	if _, err := get("9-1"); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a partition that does not exist: %v", err)
	}
	f.gone[list[2]] = true
	if _, err := get(three...); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("without a partition: %v", err)
	}
}

// TestHeartbeatReachesAll: an agent whose slots are all in use stays up in the partitions of which
// it has no job.
func TestHeartbeatReachesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeShards(t)
		s := newJobService(t, f, 3)
		list := partitionsOfQ(3)
		for _, p := range list {
			poll, _ := queues.NewPoll(new(queues.Ticket), "q", jobqueue.Profile{Has: []string{"x"}}, jobqueue.Poll{Agent: "a", N: 1})
			if err := f.Ask(t.Context(), p, true, func(q *queues.Shard) error { defer poll.Abandon(); return q.Poll(poll) }); err != nil {
				t.Fatal(err)
			}
		}
		up := func() (n int32) {
			res, err := s.ListQueues(t.Context(), connect.NewRequest(&jobpb.ListQueuesRequest{Queue: "q"}))
			if err != nil {
				t.Fatal(err)
			}
			return res.Msg.GetQueues()[0].GetAgents()
		}
		for range 10 {
			<-time.After(30 * time.Second)
			_, err := s.HeartbeatJobs(t.Context(), connect.NewRequest(&jobpb.HeartbeatJobsRequest{
				Queue: "q", Agent: "a", Jobs: []*jobpb.JobAttempt{{Id: JobID{list[0], 0}.String(), Attempt: 1}},
			}))
			if err != nil {
				t.Fatal(err)
			}
			f.commit()
		}
		if n := up(); n != 3 {
			t.Errorf("with heartbeats the agent is up in %d partitions", n)
		}
		<-time.After(3 * time.Minute)
		f.commit()
		if n := up(); n != 0 {
			t.Errorf("without heartbeats the agent is up in %d partitions", n)
		}
	})
}

// TestProgress: the progress of a heartbeat is that of the attempt until it is over.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeShards(t)
		s := newJobService(t, f, 1)
		id := submitTo(t, s, 1)[partitionsOfQ(1)[0]]
		start := func(attempt uint32) {
			t.Helper()
			res, err := s.PollJobs(t.Context(), connect.NewRequest(&jobpb.PollJobsRequest{Queue: "q", Agent: "a", WaitMs: 1}))
			if err != nil || len(res.Msg.GetJobs()) != 1 || res.Msg.GetJobs()[0].GetAttempt() != attempt {
				t.Fatalf("%v, %v", res, err)
			}
		}
		beat := func(attempt uint32, text string) error {
			_, err := s.HeartbeatJobs(t.Context(), connect.NewRequest(&jobpb.HeartbeatJobsRequest{
				Queue: "q", Agent: "a", Jobs: []*jobpb.JobAttempt{{Id: id, Attempt: attempt, Progress: text}},
			}))
			return err
		}
		want := func(text string) {
			t.Helper()
			res, err := s.GetJobs(t.Context(), connect.NewRequest(&jobpb.GetJobsRequest{Queue: "q", Ids: []string{id}}))
			if err != nil || res.Msg.GetJobs()[0].GetProgress() != text {
				t.Errorf("%v, %v, want %q", res, err, text)
			}
		}
		start(1)
		want("")
		for _, x := range []struct {
			attempt    uint32
			text, want string
		}{{1, "page 1", "page 1"}, {1, "", "page 1"}, {1, "page 2", "page 2"}, {9, "late", "page 2"}} {
			if err := beat(x.attempt, x.text); err != nil {
				t.Fatal(err)
			}
			want(x.want)
		}
		if err := beat(1, strings.Repeat("x", queues.MaxProgress+1)); err != nil {
			t.Fatal(err)
		}
		want(strings.Repeat("x", queues.MaxProgress))
		report := &jobpb.JobReport{Id: id, Attempt: 1, Error: "failed"}
		if _, err := s.ReportJobs(t.Context(), connect.NewRequest(&jobpb.ReportJobsRequest{Queue: "q", Agent: "a", Reports: []*jobpb.JobReport{report}})); err != nil {
			t.Fatal(err)
		}
		want("")
		<-time.After(time.Hour)
		f.commit()
		f.commit()
		shown, err := f.Shown(partitionsOfQ(1)[0])
		if err != nil {
			t.Fatal(err)
		}
		number, _ := ParseJobID(id)
		if got := shown.Progress("q", number.Number, 1); got != "" {
			t.Errorf("the progress %q is remembered after the end of the attempt", got)
		}
		start(2)
		want("")
	})
}

// TestUnknownJobs: a queue that does not exist, and partitions that a queue does not have, are
// refused.
func TestUnknownJobs(t *testing.T) {
	s := newJobService(t, newFakeShards(t), 1)
	other := fmt.Sprintf("%d-0", partitionsOfQ(2)[1])
	mine := fmt.Sprintf("%d-0", partitionsOfQ(1)[0])
	for _, c := range []struct{ queue, id string }{{"none", mine}, {"q", other}, {"q", "9-0"}} {
		_, err := s.GetJobs(t.Context(), connect.NewRequest(&jobpb.GetJobsRequest{Queue: c.queue, Ids: []string{c.id}}))
		_, err2 := s.ExplainJob(t.Context(), connect.NewRequest(&jobpb.ExplainJobRequest{Queue: c.queue, Id: c.id}))
		if connect.CodeOf(err) != connect.CodeNotFound || connect.CodeOf(err2) != connect.CodeNotFound {
			t.Errorf("%v: %v, %v", c, err, err2)
		}
	}
	res, err := s.GetJobs(t.Context(), connect.NewRequest(&jobpb.GetJobsRequest{Queue: "q", Ids: []string{mine}}))
	if err != nil || res.Msg.GetJobs()[0].GetState() != "none" {
		t.Errorf("%v, %v", res, err)
	}
}
