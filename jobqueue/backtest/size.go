package backtest

import (
	"context"
	"fmt"
	"time"
)

// Size returns the run with the least number of agents for which 95 % of the jobs wait no longer
// than target. The agents are Alike; those of c are not used. If no number does, ok is false, and
// the run is that with the most agents: one for each job, at most 10,000. With a policy that delays
// jobs that can be, as they are delayed beside idle agents.
//
// The search assumes that more agents do not make waits longer. That need not hold for each single
// agent: the number that is returned meets the target, and one agent less does not.
func (t *Trace) Size(ctx context.Context, c Config, p Policy, target time.Duration) (r *Result, ok bool, err error) {
	if target < 0 {
		return nil, false, fmt.Errorf("%w: a wait of %v", ErrConfig, target)
	}
	most := min(len(t.Jobs), maxAgents)
	run := func(n int) (*Result, error) {
		c.Agents = Alike(t, n)
		return t.Run(ctx, c, p)
	}
	few, enough := 0, 1 // agents
	for {
		if r, err = run(enough); err != nil {
			return nil, false, err
		}
		if r.P95 <= target {
			break
		}
		if enough == most {
			return r, false, nil
		}
		few, enough = enough, min(2*enough, most)
	}
	for few+1 < enough {
		n := (few + enough) / 2
		x, err := run(n)
		if err != nil {
			return nil, false, err
		}
		if x.P95 <= target {
			enough, r = n, x
		} else {
			few = n
		}
	}
	return r, true, nil
}
