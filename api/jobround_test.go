package api

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
	"github.com/weirhq/weir/jobqueue/queues"
)

// submitJob submits a job to a partition of queue "q".
func (f *fakeShards) submitJob(t *testing.T, p int32) {
	t.Helper()
	_, err := f.Submit(t.Context(), []JobRecord{{p, &eventspb.JobSubmission{Queue: "q"}}})
	if err != nil {
		t.Fatal(err)
	}
}

// polled is the answer to a poll.
type polled struct {
	jobs []*jobpb.StartedJob
	err  error
	took time.Duration
}

// pollLong polls queue "q" for a minute at most.
func pollLong(t *testing.T, s *jobService, jobs int32) <-chan polled {
	t.Helper()
	return pollAs(t, s, "a", jobs)
}

// pollAs is pollLong of an agent.
func pollAs(t *testing.T, s *jobService, agent string, jobs int32) <-chan polled {
	t.Helper()
	out, began := make(chan polled, 1), time.Now()
	go func() {
		req := &jobpb.PollJobsRequest{Queue: "q", Agent: agent, MaxJobs: jobs, WaitMs: 60_000}
		res, err := s.PollJobs(t.Context(), connect.NewRequest(req))
		p := polled{err: err, took: time.Since(began)}
		if err == nil {
			p.jobs = res.Msg.GetJobs()
		}
		out <- p
	}()
	return out
}

// TestPollWaitsInAllPartitions: an agent that waits gets a job of any partition at once. After its
// poll has ended, no job is started for it.
func TestPollWaitsInAllPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeShards(t)
		s := newJobService(t, f, 4)
		for p := range int32(fakePartitions) {
			for _, from := range []int{0, 1} { // the polls begin at different partitions
				answer := pollLong(t, s, 10)
				<-time.After(time.Duration(10+from) * time.Second)
				synctest.Wait()
				arrived := time.Now()
				f.submitJob(t, p)
				f.commit()
				got := <-answer
				if time.Since(arrived) > 0 || got.err != nil || len(got.jobs) != 1 || got.jobs[0].GetAttempt() != 1 {
					t.Fatalf("a job of partition %d after %s: %v, %v", p, time.Since(arrived), got.jobs, got.err)
				}
			}
		}
		for p := range int32(fakePartitions) {
			f.submitJob(t, p)
		}
		f.commit()
		for range fakePartitions {
			if got := <-pollLong(t, s, 10); got.err != nil || len(got.jobs) != 1 || got.jobs[0].GetAttempt() != 1 || got.took > 0 {
				t.Errorf("a job that was submitted between two polls: %+v", got)
			}
		}
		if got := <-pollLong(t, s, 10); got.err != nil || len(got.jobs) != 0 || got.took != time.Minute {
			t.Errorf("without jobs: %+v", got)
		}
	})
}

// TestPollWhileAPartitionMoves: a partition that has no owner when the wait begins is polled again
// soon after it has one.
func TestPollWhileAPartitionMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeShards(t)
		s := newJobService(t, f, 4)
		away := partitionsOfQ(4)[3]
		gone := func(list map[int32]bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.gone = list
		}
		gone(map[int32]bool{away: true})
		answer := pollLong(t, s, 1)
		<-time.After(10*time.Second + time.Millisecond)
		gone(nil)
		f.submitJob(t, away)
		synctest.Wait()
		<-time.After(againAfter)
		synctest.Wait()
		f.commit()
		if got := <-answer; got.err != nil || len(got.jobs) != 1 || got.took > 12*time.Second {
			t.Errorf("a job of the partition that has moved: %+v", got)
		}
		answer = pollLong(t, s, 1)
		<-time.After(10 * time.Second)
		gone(map[int32]bool{0: true, 1: true, 2: true, 3: true})
		s.mu.Lock()
		s.settings["q"] = knownQueue{s.settings["q"].JobQueueSettings, time.Now()}
		s.mu.Unlock()
		if got := <-pollLong(t, s, 1); connect.CodeOf(got.err) != connect.CodeUnavailable || got.took > 2*againAfter {
			t.Errorf("without any partition: %+v", got)
		}
		gone(nil)
		<-answer
	})
}

// someShards are the shards of one of two processes. It can read the rows of all.
type someShards struct {
	*fakeShards

	instance string
	has      []int32
}

func (f *someShards) missing(p int32) error {
	if slices.Contains(f.has, p) {
		return nil
	}
	return &PartitionsError{Gaps: []PartitionGap{{Partition: p, State: StateRemote}}}
}

func (f *someShards) Info() StateInfo {
	return StateInfo{App: "jobs", Instance: f.instance, Partitions: fakePartitions}
}

func (f *someShards) Ask(ctx context.Context, p int32, committed bool, fn func(*queues.Shard) error) error {
	if err := f.missing(p); err != nil {
		return err
	}
	return f.fakeShards.Ask(ctx, p, committed, fn)
}

func (f *someShards) Shown(p int32) (*queues.Shown, error) {
	if err := f.missing(p); err != nil {
		return nil, err
	}
	return f.fakeShards.Shown(p)
}

// newJobPair returns the service of the first of two processes, which have two partitions each.
func newJobPair(t *testing.T, f *fakeShards) *jobService {
	t.Helper()
	owners := fakeOwners{{Instance: "a", Partitions: []int32{0, 1}}, {Instance: "b", Partitions: []int32{2, 3}}}
	there := newJobServiceOf(t, &someShards{f, "b", []int32{2, 3}}, owners)
	_, handler := jobpbconnect.NewJobServiceHandler(there, connect.WithInterceptors(receive([]string{"b"})))
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	owners[1].Endpoint = strings.TrimPrefix(web.URL, "http://")
	here := newJobServiceOf(t, &someShards{f, "a", []int32{0, 1}}, owners)
	set(t, here, &jobpb.QueueSettings{Partitions: 4, LeaseMs: 60_000}, "")
	return here
}

// agents waits until n agents have polled all partitions of queue "q".
func (f *fakeShards) agents(t *testing.T, n int) {
	t.Helper()
	testlimit.Within(t, "the agents have polled", func(ctx context.Context) error {
		for p := range int32(fakePartitions) {
			if err := f.Ask(ctx, p, false, func(*queues.Shard) error { return nil }); err != nil { // commits
				return err
			}
			shown, err := f.Shown(p)
			if err != nil {
				return err
			}
			for _, q := range shown.Queues() {
				if q.Agents != n {
					return fmt.Errorf("partition %d has %d agents", p, q.Agents)
				}
			}
		}
		return nil
	})
}

// TestPollOfTwoProcesses: an agent that waits gets a job of a partition of another process, too. A
// job of this process ends the polls at the other one, and jobs that were started there at the same
// time are taken back, if the agent has not asked for as many.
func TestPollOfTwoProcesses(t *testing.T) {
	f := newFakeShards(t)
	s := newJobPair(t, f)
	for i, p := range []int32{3, 0, 2} {
		answer := pollAs(t, s, fmt.Sprint("a", i), 1)
		f.agents(t, 1+i)
		f.submitJob(t, p)
		f.commit()
		if got := testlimit.Receive(t, "the answer", answer); got.err != nil || len(got.jobs) != 1 || got.took > 30*time.Second {
			t.Fatalf("a job of partition %d: %+v", p, got)
		}
	}
	for i, most := range []int32{1, 2} {
		answer := pollAs(t, s, fmt.Sprint("b", i), most)
		f.agents(t, 4+i)
		f.mu.Lock()
		f.held = true
		f.mu.Unlock()
		f.submitJob(t, 1)
		f.submitJob(t, 2)
		f.mu.Lock()
		for range 2 { // the first one starts both jobs, the second one commits the starts
			for _, p := range []int32{1, 2} {
				f.runners[p].Commit(time.Now().UnixMilli())
			}
		}
		f.held = false
		f.mu.Unlock()
		got := testlimit.Receive(t, "the answer", answer)
		if got.err != nil || len(got.jobs) != int(most) || got.took > 30*time.Second {
			t.Fatalf("at most %d jobs: %+v", most, got)
		}
		if most == 2 {
			continue
		}
		f.commit()
		if again := testlimit.Receive(t, "the next answer", pollAs(t, s, "b0", 1)); again.err != nil || len(again.jobs) != 1 ||
			again.jobs[0].GetId() == got.jobs[0].GetId() || again.took > 30*time.Second {
			t.Errorf("the job that was taken back: %+v", again)
		}
	}
	end := &jobpb.EndPollsRequest{Queue: "q", Agent: "a", Partitions: []int32{0}, Number: 1}
	if _, err := s.EndPolls(t.Context(), connect.NewRequest(end)); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("the end of a poll by a client: %v", err)
	}
}
