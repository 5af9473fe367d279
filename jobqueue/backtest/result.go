package backtest

import (
	"math"
	"slices"
	"time"
)

// Result is what a policy meant for a trace.
type Result struct {
	Policy Policy
	Config Config // with its defaults
	Agents int
	Jobs   int

	Preferring int // jobs that prefer a resource
	Hits       int // jobs that started on an agent that had a preferred resource already

	Mean, P50, P95, P99, Max time.Duration // wait from arrival to start; percentiles by nearest rank

	Late         int    // jobs that waited longer than Config.MaxWait
	LongestClass string // class of the job that waited longest, the first one of several

	Utilisation float64       // share of the time of all slots from the first arrival to Makespan, loading included
	Loading     float64       // share of that time for loading resources
	Makespan    time.Duration // from the first arrival to the end of the last job

	trace             *Trace
	waits             []int64 // by job, ms
	sorted            []int64 // ascending
	busyMs, loadingMs float64
	makespanMs        int64
}

// HitRate returns the share of Hits among the jobs that prefer a resource, 0 without such jobs.
func (r *Result) HitRate() float64 { return share(float64(r.Hits), float64(r.Preferring)) }

// share returns the share of part in whole, 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// finish computes the figures of the result.
func (s *simulation) finish() *Result {
	r := s.result
	r.Agents, r.Jobs = len(s.agents), len(s.trace.Jobs)
	r.sorted = slices.Clone(r.waits)
	slices.Sort(r.sorted)
	sum, longest := 0.0, 0
	for i, wait := range r.waits {
		sum += float64(wait)
		if wait > r.Config.MaxWait.Milliseconds() {
			r.Late++
		}
		if wait > r.waits[longest] {
			longest = i
		}
	}
	r.Mean = time.Duration(sum / float64(r.Jobs) * float64(time.Millisecond))
	r.P50, r.P95, r.P99, r.Max = r.percentile(0.5), r.percentile(0.95), r.percentile(0.99), r.percentile(1)
	r.LongestClass = describe(&s.trace.Classes[s.trace.Jobs[longest].Class])
	whole := float64(r.makespanMs) * float64(r.Agents*r.Config.Slots)
	r.Utilisation, r.Loading = share(r.busyMs, whole), share(r.loadingMs, whole)
	r.Makespan = milli(r.makespanMs)
	return r
}

// percentile returns the least wait that the share p of the jobs did not exceed.
func (r *Result) percentile(p float64) time.Duration {
	return milli(r.sorted[max(0, int(math.Ceil(p*float64(r.Jobs)))-1)])
}

// milli returns a duration, the longest one if ms is too large.
func milli(ms int64) time.Duration {
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
