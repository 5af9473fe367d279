package backtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/jobqueue"
)

// ErrTrace is wrapped by errors about the content of a trace.
var ErrTrace = errors.New("no usable trace")

// Limits of times, so that no sum of them overflows.
const (
	maxAtMs  = 1 << 50         // 35,000 years
	maxRunMs = 100_000_000_000 // 3 years
)

// Job is a job of a trace.
type Job struct {
	AtMs  int64 // arrival, after that of the first job
	RunMs int64 // on an agent that has its data
	Class int32 // index in Trace.Classes
}

// Trace is a record of jobs.
type Trace struct {
	Jobs    []Job           // by arrival
	Classes []jobqueue.Spec // what jobs require and prefer, and their priorities, each once

	Lines    int    // that were read
	Bad      int    // lines that are not usable
	FirstBad string // number of the first of them, and why
	Unsorted bool   // jobs had another order than that of their arrivals
	Cut      bool   // there are more jobs than Options.Limit
}

// Scale divides arrival times by speed, and multiplies run times by run. The error wraps ErrConfig.
func (t *Trace) Scale(speed, run float64) error {
	if !(speed > 0) || !(run > 0) || math.IsInf(speed, 1) || math.IsInf(run, 1) {
		return fmt.Errorf("%w: speed %g and run scale %g are not above 0", ErrConfig, speed, run)
	}
	for i := range t.Jobs {
		j := &t.Jobs[i]
		at, ran := math.Round(float64(j.AtMs)/speed), math.Round(float64(j.RunMs)*run)
		if at > maxAtMs || ran > maxRunMs {
			return fmt.Errorf("%w: speed %g and run scale %g make a job arrive after %.3g years, or run for %.3g years", ErrConfig, speed,
				run, at/yearMs, ran/yearMs)
		}
		j.AtMs, j.RunMs = int64(at), int64(ran)
	}
	return nil
}

const yearMs = 365 * 24 * 3_600_000

// Required returns all resources that jobs require, sorted: an agent that has them can run each.
func (t *Trace) Required() (names []string) {
	for i := range t.Classes {
		names = append(names, t.Classes[i].Require...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Agents returns the least number of agents whose slots are busy for at most the share utilisation
// of the time from the first arrival to the last one, even if each job has to load its resources.
func (t *Trace) Agents(load time.Duration, slots int, utilisation float64) int {
	slots = max(1, slots)
	span, work := 1.0, 0.0
	for i := range t.Jobs {
		j := &t.Jobs[i]
		run := float64(j.RunMs)
		if len(t.Classes[j.Class].Prefer) > 0 {
			run += float64(load.Milliseconds())
		}
		work += run
		span = max(span, float64(j.AtMs), run)
	}
	most := (len(t.Jobs) + slots - 1) / slots
	need := math.Ceil(work / (span * utilisation * float64(slots)))
	return max(1, min(most, maxAgents, int(min(need, maxAgents))))
}

// describe returns the name of a class for people.
func describe(s *jobqueue.Spec) string {
	var parts []string
	if len(s.Require) > 0 {
		parts = append(parts, "requires "+strings.Join(s.Require, "+"))
	}
	if len(s.Prefer) > 0 {
		parts = append(parts, "prefers "+strings.Join(s.Prefer, "+"))
	}
	if s.Priority > 0 {
		parts = append(parts, fmt.Sprintf("priority %d", s.Priority))
	}
	if len(parts) == 0 {
		return "no resources"
	}
	return strings.Join(parts, ", ")
}
