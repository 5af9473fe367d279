package queues

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// TestRecent: agents get the specification and the payload of a job, whether it is one of the last
// that were submitted or one of the many before, and also at its second attempt.
func TestRecent(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1, BackoffMs: 1, AvoidMs: -1}, func(r *run) {
		const jobs = 3 * recentBytes / MaxPayload
		for i := range jobs {
			r.submit(&eventspb.JobSubmission{
				Spec: &eventspb.JobSpec{Group: fmt.Sprint(i)}, Payload: fmt.Appendf(nil, "%*d", MaxPayload, i),
			})
			if i%100 == 99 {
				r.commit()
			}
		}
		r.commit()
		remembered := func() (n int) {
			r.ask(func(s *Shard) error {
				n = len(s.recent.now) + len(s.recent.before)
				return nil
			})
			return n
		}
		if n := remembered(); n < jobs/8 || n > jobs/3 {
			t.Errorf("%d of %d jobs are remembered, want a sixth to a third", n, jobs)
		}
		check := func(list []Job, attempt uint8) {
			t.Helper()
			for _, j := range list {
				i := int(j.ID)
				if j.Attempt != attempt || j.GetSpec().GetGroup() != fmt.Sprint(i) || string(j.Payload) != fmt.Sprintf("%*d", MaxPayload, i) {
					t.Fatalf("job %d: attempt %d, %v, payload %.100q", i, j.Attempt, j.GetSpec(), j.Payload)
				}
			}
		}
		var last []Job
		for got := 0; got < jobs; got += len(last) {
			last = r.poll("a", MaxPollJobs)
			check(last, 1)
		}
		if n := remembered(); n != 0 {
			t.Errorf("%d jobs are remembered after their start", n)
		}
		r.ask(func(s *Shard) error { return s.Fail(&Attempt{"q", "a", last[0].ID, 1}, "again", false) })
		r.sleep(time.Second)
		check(r.poll("a", 1), 2)
	})
}
