package api

import (
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/jobqueue/jobpb"
)

// TestSignals: the signals of a queue are sums over its partitions, an agent counts once, and the
// advice is that of the whole load. A partition that cannot be asked is named.
func TestSignals(t *testing.T) {
	f := newFakeShards(t)
	s := newJobService(t, f, 3)
	list := partitionsOfQ(3)
	for k := range 60 {
		require := [][]string{{"gpu"}, nil}[k%2]
		if _, err := s.SubmitJobs(t.Context(), connect.NewRequest(&jobpb.SubmitJobsRequest{
			Queue: "q", Jobs: []*jobpb.NewJob{{Key: fmt.Sprint(k), Require: require}},
		})); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 { // agent a gets about half of the jobs of each partition
		_, err := s.PollJobs(t.Context(), connect.NewRequest(&jobpb.PollJobsRequest{Queue: "q", Agent: "a", Has: []string{"gpu"}, Slots: 50, WaitMs: 1}))
		if err != nil {
			t.Fatal(err)
		}
	}
	get := func() *jobpb.GetSignalsResponse {
		res, err := s.GetSignals(t.Context(), connect.NewRequest(&jobpb.GetSignalsRequest{Queue: "q"}))
		if err != nil {
			t.Fatal(err)
		}
		return res.Msg
	}
	res := get()
	if len(res.GetClasses()) != 2 || res.GetWaitTargetMs() != 60_000 || res.GetDrainMs() != 600_000 || len(res.GetUnread()) != 0 {
		t.Fatalf("signals: %v", res)
	}
	var pending, running int64
	for i, c := range res.GetClasses() {
		pending, running = pending+c.GetPending(), running+c.GetRunning()
		if c.GetAgents() != 1 || c.GetSlots() != 50 || len(c.GetRequire()) != i {
			t.Errorf("class %v", c)
		}
	}
	if pending != 40 || running != 20 {
		t.Errorf("%d jobs are pending and %d running", pending, running)
	}
	_, err := s.GetSignals(t.Context(), connect.NewRequest(&jobpb.GetSignalsRequest{Queue: "none"}))
	if connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a queue that does not exist: %v", err)
	}
	f.gone[list[1]] = true
	if got := get(); !slices.Equal(got.GetUnread(), list[1:2]) || len(got.GetClasses()) != 2 {
		t.Errorf("without a partition: %v", got)
	}
	f.gone = map[int32]bool{0: true, 1: true, 2: true, 3: true}
	if _, err := s.GetSignals(t.Context(), connect.NewRequest(&jobpb.GetSignalsRequest{Queue: "q"})); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("without all partitions: %v", err)
	}
}

// TestAddClass: sums of two partitions.
func TestAddClass(t *testing.T) {
	sum := &jobpb.JobClass{Pending: 1, Running: 2, Arrivals: 3, Trend: 1, Starts: 4, Done: 30, MeanMs: 100, OldestMs: 7, Agents: 2, Slots: 8}
	addClass(sum, &jobpb.JobClass{Pending: 10, Arrivals: 1, Done: 5, Failed: 5, MeanMs: 300, OldestMs: 9, Agents: 3, Slots: 6})
	if sum.GetPending() != 11 || sum.GetRunning() != 2 || sum.GetArrivals() != 4 || sum.GetDone() != 35 || sum.GetFailed() != 5 ||
		sum.GetMeanMs() != 150 || sum.GetOldestMs() != 9 || sum.GetAgents() != 3 || sum.GetSlots() != 8 {
		t.Errorf("%v", sum)
	}
	addClass(sum, &jobpb.JobClass{Agents: 1})
	if sum.GetSlots() != 0 {
		t.Errorf("with an agent without a limit: %v", sum)
	}
	none := &jobpb.JobClass{}
	addClass(none, &jobpb.JobClass{MeanMs: 50, Agents: 1, Slots: 4})
	if none.GetMeanMs() != 50 || none.GetSlots() != 4 {
		t.Errorf("from nothing: %v", none)
	}
}
