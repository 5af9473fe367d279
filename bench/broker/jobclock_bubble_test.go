//go:build synctests

package broker

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/jobqueue/jobpb"
)

// TestJobClock: the schedule does not wait for submitters, and a job that is submitted late has a
// latency from its time in the schedule on. The first quarter is not timed.
func TestJobClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newJobClock(&JobsBench{Rate: 100, Duration: 300 * time.Millisecond, Payload: 8})
		go func() {
			if err := c.run(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(time.Second) // no submitter takes a job
		jobs := 0
		for at := range c.due {
			if at != time.Duration(jobs)*10*time.Millisecond {
				t.Fatalf("job %d has the time %v", jobs, at)
			}
			jobs++
			c.started([]*jobpb.StartedJob{{Payload: c.job(at).GetPayload()}})
		}
		if jobs != 40 || len(c.took) != 30 {
			t.Fatalf("%d jobs, %d of them timed", jobs, len(c.took))
		}
		for i, took := range c.took {
			if want := time.Second - time.Duration(10+i)*10*time.Millisecond; took != want {
				t.Errorf("job %d took %v, want %v", 10+i, took, want)
			}
		}
	})
}
