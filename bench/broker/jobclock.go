package broker

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// jobClock is the schedule of a measurement of the latency: each job has a time at which it should
// be submitted, which its payload begins with. The latency counts from that time, so that it
// includes what a late submit has waited for the ones before.
type jobClock struct {
	bench *JobsBench
	begun time.Time
	due   chan time.Duration // of jobs whose time has come, after begun

	mu   sync.Mutex
	took []time.Duration // from the time of a job until an agent had it
}

func newJobClock(b *JobsBench) *jobClock {
	return &jobClock{bench: b, begun: time.Now(), due: make(chan time.Duration, b.Rate)}
}

// run lets the jobs of the schedule become due, of which the first quarter is not timed.
func (c *jobClock) run(ctx context.Context) error {
	defer close(c.due)
	interval := time.Second / time.Duration(c.bench.Rate)
	for at := time.Duration(0); at < c.warmUp()+c.bench.Duration; at += interval {
		if wait := at - time.Since(c.begun); wait > 0 && !pause.For(ctx, wait) {
			return ctx.Err()
		}
		select {
		case c.due <- at:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (c *jobClock) warmUp() time.Duration { return c.bench.Duration / 3 }

// clockSubmitters is the number of submits of a schedule at a time, at most.
const clockSubmitters = 32

// submitters returns functions that submit the jobs that are due, each for as long as there are
// some: one job in a request, or several if they have waited.
func (c *jobClock) submitters(l *jobLoad) (list []func(context.Context) error) {
	for range clockSubmitters {
		list = append(list, func(ctx context.Context) error {
			for at := range c.due {
				jobs := []*jobpb.NewJob{c.job(at)}
				for more := true; more && len(jobs) < c.bench.Batch; {
					select {
					case at, open := <-c.due:
						if more = open; open {
							jobs = append(jobs, c.job(at))
						}
					default:
						more = false
					}
				}
				if err := l.submit(ctx, jobs); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return list
}

// job returns the job of a time.
func (c *jobClock) job(at time.Duration) *jobpb.NewJob {
	j := c.bench.job()
	binary.BigEndian.PutUint64(j.GetPayload(), uint64(at))
	return j
}

// started notes the latencies of jobs that an agent has got now.
func (c *jobClock) started(list []*jobpb.StartedJob) {
	now := time.Since(c.begun)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range list {
		if at := time.Duration(binary.BigEndian.Uint64(j.GetPayload())); at >= c.warmUp() {
			c.took = append(c.took, now-at)
		}
	}
}
