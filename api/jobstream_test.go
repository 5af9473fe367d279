package api

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
)

// TestStreamJobs: a stream gives an agent as many jobs as it has free slots, and the next one when
// it has reported one of them. It ends after its wait.
func TestStreamJobs(t *testing.T) {
	f := newFakeShards(t)
	s := newJobService(t, f, 1)
	p := partitionsOfQ(1)[0]
	_, handler := jobpbconnect.NewJobServiceHandler(s)
	web := httptest.NewServer(handler)
	defer web.Close()
	client := NewClient(web.URL)
	defer client.Close()
	got, ended := make(chan *jobpb.StartedJob, 100), make(chan error, 1)
	stream := func(ctx context.Context, req *jobpb.StreamJobsRequest, fn func() error) {
		go func() {
			ended <- client.StreamJobs(ctx, req, func(jobs []*jobpb.StartedJob) error {
				for _, j := range jobs {
					got <- j
				}
				return fn()
			})
		}()
	}
	next := func() *jobpb.StartedJob {
		t.Helper()
		var j *jobpb.StartedJob
		testlimit.Within(t, "a job", func(context.Context) error {
			f.commit()
			select {
			case j = <-got:
				return nil
			default:
				return errors.New("no job yet")
			}
		})
		return j
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 5 {
		f.submitJob(t, p)
	}
	stream(ctx, &jobpb.StreamJobsRequest{Queue: "q", Agent: "a", Slots: 2, WaitMs: 60_000}, func() error { return nil })
	held := []*jobpb.StartedJob{next(), next()}
	for range 3 {
		select {
		case j := <-got:
			t.Fatalf("without a free slot: %v", j)
		default:
		}
		_, err := s.ReportJobs(t.Context(), connect.NewRequest(&jobpb.ReportJobsRequest{
			Queue: "q", Agent: "a", Reports: []*jobpb.JobReport{{Id: held[0].GetId(), Attempt: held[0].GetAttempt()}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held[1:], next())
	}
	cancel()
	if err := testlimit.Receive(t, "the end of the stream", ended); connect.CodeOf(err) != connect.CodeCanceled {
		t.Errorf("after the client has gone: %v", err)
	}
	stop := errors.New("enough")
	f.submitJob(t, p)
	stream(t.Context(), &jobpb.StreamJobsRequest{Queue: "q", Agent: "b", Slots: 1, WaitMs: 60_000}, func() error { return stop })
	next()
	if err := testlimit.Receive(t, "the end of the stream", ended); !errors.Is(err, stop) {
		t.Errorf("after an error of the client: %v", err)
	}
	stream(t.Context(), &jobpb.StreamJobsRequest{Queue: "q", Agent: "c", Slots: 1, WaitMs: 1}, func() error { return nil })
	if err := testlimit.Receive(t, "the end of the stream", ended); err != nil {
		t.Errorf("after its wait: %v", err)
	}
	for _, req := range []*jobpb.StreamJobsRequest{
		{Queue: "q", Agent: "a"},
		{Queue: "q", Agent: "a", Slots: 1, WaitMs: -1},
		{Queue: "q", Agent: "a", Slots: 1, Policy: "none"},
	} {
		stream(t.Context(), req, func() error { return nil })
		if err := testlimit.Receive(t, "the end of the stream", ended); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: %v", req, err)
		}
	}
}

// TestStreamGone: no job is started for a stream whose agent has gone.
func TestStreamGone(t *testing.T) {
	f := newFakeShards(t)
	s := newJobService(t, f, 1)
	p := partitionsOfQ(1)[0]
	_, handler := jobpbconnect.NewJobServiceHandler(s)
	web := httptest.NewServer(handler)
	defer web.Close()
	client := NewClient(web.URL)
	defer client.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- client.StreamJobs(ctx, &jobpb.StreamJobsRequest{Queue: "q", Agent: "a", Slots: 1, WaitMs: 60_000}, func([]*jobpb.StartedJob) error { return nil })
	}()
	f.agents(t, 1)
	cancel()
	_ = testlimit.Receive(t, "the end of the stream", ended)
	testlimit.Within(t, "the server has noticed that the agent is gone", func(context.Context) error {
		s.parking.clients.mu.Lock()
		defer s.parking.clients.mu.Unlock()
		if n := s.parking.clients.n; n > 0 {
			return fmt.Errorf("%d polls wait", n)
		}
		return nil
	})
	f.submitJob(t, p)
	f.commit()
	res, err := s.ListJobs(t.Context(), connect.NewRequest(&jobpb.ListJobsRequest{Queue: "q"}))
	if err != nil {
		t.Fatal(err)
	}
	if list := res.Msg.GetJobs(); len(list) != 1 || list[0].GetState() != "pending" {
		t.Errorf("the queue has %v", list)
	}
}
