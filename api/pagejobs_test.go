package api

import (
	"fmt"
	"testing"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/page"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// TestPageJobs: the page has the queues in which most jobs wait, with their signals, and the number
// of the others.
func TestPageJobs(t *testing.T) {
	f := newFakeShards(t)
	s := newJobService(t, f, 4)
	for i := range page.MaxQueues + 2 {
		if _, err := s.SetQueue(t.Context(), connect.NewRequest(&jobpb.SetQueueRequest{Queue: fmt.Sprintf("x%02d", i)})); err != nil {
			t.Fatal(err)
		}
	}
	submitTo(t, s, 4)
	got, err := s.pageJobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Queues) != page.MaxQueues || got.Hidden != 3 || len(got.Unread) > 0 {
		t.Errorf("%d queues, %d hidden, unread %v", len(got.Queues), got.Hidden, got.Unread)
	}
	for i, q := range got.Queues {
		if q.Signals == nil || (i == 0) != (q.GetName() == "q") {
			t.Errorf("queue %d: %s, %v", i, q.GetName(), q.Signals)
		}
	}
	if n := got.Queues[0].GetJobs().GetPending(); n < 4 || int64(n) != got.Queues[0].Signals.GetClasses()[0].GetPending() {
		t.Errorf("queue q: %d jobs wait, %v", n, got.Queues[0].Signals)
	}
	f.gone = map[int32]bool{1: true}
	if got, err := s.pageJobs(t.Context()); err != nil || len(got.Unread) != 1 {
		t.Errorf("without a partition: %v, %v", got, err)
	}
	f.gone = map[int32]bool{0: true, 1: true, 2: true, 3: true}
	if _, err := s.pageJobs(t.Context()); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("without all partitions: %v", err)
	}
}

// TestSamplesHaveTheToken: what pages read in the background from other processes has the token of
// the process.
func TestSamplesHaveTheToken(t *testing.T) {
	for token, want := range map[string]string{"": "", "secret": "Bearer secret"} {
		s := newSamples(token)
		if got := requestMetaOf(s.ends); got.authorization != want || got.forwarded {
			t.Errorf("token %q: %+v", token, got)
		}
		s.stop()
	}
}
