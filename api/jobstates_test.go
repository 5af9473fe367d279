package api

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// TestAwaitStates: a request that waits returns as soon as all of its jobs have ended, whatever
// their partition. Refused jobs have ended, and jobs that are not submitted yet have not.
func TestAwaitStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeShards(t)
		s := newJobService(t, f, 3)
		ids := submitTo(t, s, 3)
		list := partitionsOfQ(3)
		type answer struct {
			states []jobpb.JobState
			err    error
			at     time.Time
		}
		wait := func(ms int64, ids ...string) <-chan answer {
			out := make(chan answer, 1)
			go func() {
				res, err := s.GetJobStates(t.Context(), connect.NewRequest(&jobpb.GetJobStatesRequest{Queue: "q", Ids: ids, WaitMs: ms}))
				x := answer{err: err, at: time.Now()}
				if err == nil {
					x.states = res.Msg.GetStates()
				}
				out <- x
			}()
			return out
		}
		want := func(what string, x answer, at time.Time, states ...jobpb.JobState) {
			t.Helper()
			if x.err != nil || !x.at.Equal(at) || !slices.Equal(x.states, states) {
				t.Errorf("%s: %v, %v after %s", what, x.states, x.err, x.at.Sub(at))
			}
		}
		const pending, done = jobpb.JobState_JOB_STATE_PENDING, jobpb.JobState_JOB_STATE_DONE
		first, second := ids[list[0]], ids[list[1]]
		waiting := wait(60_000, first, second, first)
		end := func() {
			t.Helper()
			got := <-pollAs(t, s, "a", 1)
			if got.err != nil || len(got.jobs) != 1 {
				t.Fatalf("%+v", got)
			}
			j := got.jobs[0]
			report := &jobpb.JobReport{Id: j.GetId(), Attempt: j.GetAttempt()}
			if _, err := s.ReportJobs(t.Context(), connect.NewRequest(&jobpb.ReportJobsRequest{Queue: "q", Agent: "a", Reports: []*jobpb.JobReport{report}})); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(10 * time.Second)
		synctest.Wait()
		for n := 0; len(waiting) == 0; n++ {
			if n == 9 { // submitTo submits some jobs more
				t.Fatal("all jobs are done, and the request waits")
			}
			end()
			synctest.Wait()
		}
		want("jobs of two partitions", <-waiting, time.Now(), done, done, done)
		want("jobs that have ended", <-wait(60_000, first, second), time.Now(), done, done)
		f.submitJob(t, list[0])
		last := JobID{list[0], 0}
		f.mu.Lock()
		last.Number += jobqueue.ID(f.offsets[list[0]] - 1)
		f.mu.Unlock()
		begun := time.Now()
		want("without a wait", <-wait(0, first, last.String()), begun, done, pending)
		want("after its wait", <-wait(3000, first, last.String()), begun.Add(3*time.Second), done, pending)
		next := JobID{last.Partition, last.Number + 1}.String()
		waiting = wait(60_000, next)
		<-time.After(time.Second)
		synctest.Wait()
		if len(waiting) > 0 {
			t.Error("the wait for a job that is not submitted has ended")
		}
		refused := JobRecord{last.Partition, &eventspb.JobSubmission{Queue: "q", Spec: &eventspb.JobSpec{After: []uint64{1 << 40}}}}
		if _, err := f.Submit(t.Context(), []JobRecord{refused}); err != nil {
			t.Fatal(err)
		}
		want("a refused job", <-waiting, time.Now(), jobpb.JobState_JOB_STATE_UNSPECIFIED)
		waiting = wait(60_000, last.String())
		synctest.Wait()
		f.mu.Lock()
		f.gone = map[int32]bool{last.Partition: true}
		f.mu.Unlock()
		f.submitJob(t, last.Partition) // its commit lets the request look again
		if x := <-waiting; connect.CodeOf(x.err) != connect.CodeUnavailable {
			t.Errorf("after the partition has moved: %v", x)
		}
	})
}
