package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// JobsBench measures job queues. Its submitters and agents use the API over HTTP, in the process of
// the queues. The zero value of Rate, Steady, Parked and Readers leaves their measurement out.
type JobsBench struct {
	Partitions int           // of the queue
	Events     bool          // of the queue
	Submitters int           // each sends one request at a time
	Agents     int           // each polls, reports what it got, and polls again
	Batch      int           // jobs of a request, at most 1,000
	Payload    int           // bytes of a job, at least 8
	Duration   time.Duration // of each measurement under load; a third more passes before, untimed
	Rate       int           // jobs per second in the measurement of the latency
	Steady     int           // jobs per second in the measurement of reads beside a fixed load
	Parked     int           // agents that wait at an idle queue
	Idle       time.Duration // for which their CPU time is measured
	Readers    int           // that read the status of jobs, beside life cycles
	Rounds     int
	Profile    string // file for a CPU profile of the life cycles
}

// NewJobsBench returns the default settings.
func NewJobsBench() *JobsBench {
	return &JobsBench{
		Partitions: 1, Submitters: 4, Agents: 8, Batch: 500, Payload: 100, Duration: 30 * time.Second,
		Rate: 1000, Steady: 10_000, Parked: 500, Idle: 20 * time.Second, Readers: 2, Rounds: 3,
	}
}

// Rows measures life cycles, reads of the status, the latency and parked agents.
func (b *JobsBench) Rows(ctx context.Context, e *Env) ([]Figure, error) {
	var rounds [][]Figure
	for i := range b.Rounds {
		var rows []Figure
		for _, measure := range []func(context.Context, *jobServer) ([]Figure, error){b.lifeCycles, b.steady, b.latency, b.parked} {
			more, err := b.on(ctx, e, measure)
			if err != nil {
				return nil, err
			}
			for _, f := range more {
				e.Notef("round %d: %s: %v %s", i+1, f.What, f.Median, f.Unit)
			}
			rows = append(rows, more...)
		}
		rounds = append(rounds, rows)
	}
	return medians(rounds), nil
}

// medians returns the median of each figure over the rounds.
func medians(rounds [][]Figure) (rows []Figure) {
	for i, f := range rounds[0] {
		var values, ratios []float64
		for _, r := range rounds {
			values, ratios = append(values, r[i].Median), append(ratios, r[i].Ratio)
		}
		m := newFigure(f.What, f.Unit, values)
		m.Goal, m.Ratio = f.Goal, hundredths(median(ratios))
		rows = append(rows, m)
	}
	return rows
}

// on runs a measurement on a server of its own.
func (b *JobsBench) on(ctx context.Context, e *Env,
	measure func(context.Context, *jobServer) ([]Figure, error),
) (rows []Figure, err error) {
	s, err := startJobServer(ctx, e, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return measure(ctx, s)
}

// lifeCycles measures whole life cycles per second, and then the same beside readers.
func (b *JobsBench) lifeCycles(ctx context.Context, s *jobServer) (rows []Figure, err error) {
	l := newJobLoad(b, s)
	err = l.run(ctx, l.submitters(), func(ctx context.Context) error {
		if err := pass(ctx, b.Duration/3); err != nil {
			return err
		}
		stop, err := startProfile(b.Profile)
		if err != nil {
			return err
		}
		from, known := cpuTime()
		all, slowest, err := l.ledger.rate(ctx, b.Duration)
		to, _ := cpuTime()
		if err = errors.Join(err, stop()); err != nil {
			return err
		}
		if all == 0 {
			return fmt.Errorf("no job was done in %v: use a longer duration", b.Duration)
		}
		rows = append(rows, row("life cycles", "jobs/s", all), row("life cycles, the slowest 10 s", "jobs/s", slowest))
		rows[0].Goal = ">= 11,600"
		if known {
			used := (to - from).Seconds() / b.Duration.Seconds() / all
			rows = append(rows, row("CPU time of a life cycle in this process", "us", 1e6*used))
		}
		if b.Readers == 0 {
			return nil
		}
		states, beside, err := b.reads(ctx, l, l.readStates)
		if err != nil {
			return err
		}
		jobs, slower, err := b.reads(ctx, l, l.readJobs)
		more := []Figure{
			row("status reads, 10,000 in a request", "jobs/s", states), row("life cycles beside them", "jobs/s", beside),
			row("reads of whole jobs, 1,000 in a request", "jobs/s", jobs), row("life cycles beside these", "jobs/s", slower),
		}
		more[0].Goal, more[1].Ratio, more[3].Ratio = ">= 1,000,000", beside/all, slower/all
		rows = append(rows, more...)
		return err
	})
	return rows, err
}

func row(what, unit string, value float64) Figure { return newFigure(what, unit, []float64{value}) }

// reads returns the jobs per second of readers that repeat read, and the life cycles per second
// beside them.
func (b *JobsBench) reads(ctx context.Context, l *jobLoad,
	read func(ctx context.Context) (jobs int, err error),
) (reads, beside float64, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	var count atomic.Int64
	for range b.Readers {
		g.Go(func() error {
			for {
				n, err := read(ctx)
				if ctx.Err() != nil || err != nil {
					return err
				}
				count.Add(int64(n))
			}
		})
	}
	begun := time.Now()
	beside, _, err = l.ledger.rate(ctx, b.Duration)
	reads = float64(count.Load()) / time.Since(begun).Seconds()
	stop()
	return reads, beside, errors.Join(err, g.Wait())
}

// steady measures reads of the status beside a fixed load, and how much they slow it.
func (b *JobsBench) steady(ctx context.Context, s *jobServer) (rows []Figure, err error) {
	if b.Steady == 0 || b.Readers == 0 {
		return nil, nil
	}
	fixed := *b
	fixed.Rate, fixed.Duration = b.Steady, 3*b.Duration // with the time before, longer than the measurement
	l, c := newJobLoad(&fixed, s), newJobClock(&fixed)
	err = l.run(ctx, c.submitters(l), func(ctx context.Context) error {
		clock, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { _ = c.run(clock) }) // its error is that of the context
		defer running.Wait()
		defer stop()
		if err := pass(ctx, b.Duration/3); err != nil {
			return err
		}
		alone, _, err := l.ledger.rate(ctx, b.Duration)
		if err != nil {
			return err
		}
		states, beside, err := b.reads(ctx, l, l.readStates)
		rows = []Figure{
			row(fmt.Sprintf("life cycles of %d jobs/s", b.Steady), "jobs/s", alone),
			row("the same beside status reads", "jobs/s", beside), row("these status reads, 10,000 in a request", "jobs/s", states),
		}
		rows[1].Ratio, rows[1].Goal, rows[2].Goal = beside/max(alone, 1), "> 0.95 of it", ">= 1,000,000"
		return err
	})
	return rows, err
}

// latency measures the time from the scheduled submit of a job until an agent has it.
func (b *JobsBench) latency(ctx context.Context, s *jobServer) ([]Figure, error) {
	if b.Rate == 0 {
		return nil, nil
	}
	l := newJobLoad(b, s)
	c := newJobClock(b)
	l.started = c.started
	if err := l.run(ctx, c.submitters(l), c.run); err != nil {
		return nil, err
	}
	if len(c.took) == 0 {
		return nil, fmt.Errorf("no job was started in %v: use a longer duration", b.Duration)
	}
	slices.Sort(c.took)
	what := fmt.Sprintf("submit to start at %d jobs/s", b.Rate)
	at := func(percent int) float64 { return c.took[len(c.took)*percent/100].Seconds() * 1000 }
	return []Figure{row(what+", p50", "ms", at(50)), row(what+", p99", "ms", at(99))}, nil
}

// parked measures the CPU time of the process with no agent, and with agents that wait at an idle
// queue.
func (b *JobsBench) parked(ctx context.Context, s *jobServer) ([]Figure, error) {
	if b.Parked == 0 {
		return nil, nil
	}
	none, err := cpuShare(ctx, b.Idle)
	if err != nil {
		return nil, err
	}
	l := newJobLoad(b, s)
	agents, stop := context.WithCancel(ctx)
	defer stop()
	g, agents := errgroup.WithContext(agents)
	for i := range b.Parked {
		g.Go(func() error { return l.agent(agents, fmt.Sprint("parked-", i)) })
	}
	err = s.awaitAgents(agents, b.Parked*b.Partitions)
	var share float64
	if err == nil {
		share, err = cpuShare(agents, b.Idle)
	}
	stop()
	if err := errors.Join(err, g.Wait()); err != nil {
		return nil, err
	}
	rows := []Figure{
		row(fmt.Sprintf("CPU time with %d agents that wait", b.Parked), "% of a CPU", 100*share),
		row("CPU time without agents", "% of a CPU", 100*none),
	}
	rows[0].Goal = "< 5"
	return rows, nil
}

// cpuShare returns the CPU time of the process in the next d, divided by d.
func cpuShare(ctx context.Context, d time.Duration) (float64, error) {
	from, ok := cpuTime()
	if !ok {
		return 0, errors.New("the CPU time of a process is not known on this system: leave parked agents out with --parked 0")
	}
	begun := time.Now()
	err := pass(ctx, d)
	to, _ := cpuTime()
	return (to - from).Seconds() / time.Since(begun).Seconds(), err
}
