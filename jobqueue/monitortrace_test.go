package jobqueue_test

import (
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/backtest"
)

// TestTraceAlarms: five weeks of a real log of a grid, of which 1.5 % of the jobs fail, raise no
// alarm. When a site breaks in the middle of a week, the alarm names it.
func TestTraceAlarms(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "shared", "data", "jobs", "lcg2005_days0-6.swf.gz"))
	if err != nil {
		t.Skip("the log of the grid is not on this machine: ", err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := backtest.Read(z, backtest.Options{Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	site := trace.Classes[trace.Jobs[len(trace.Jobs)/2].Class].Prefer[0]
	named, weeks := 0, 5
	if testing.Short() {
		weeks = 1
	}
	for seed := range uint64(weeks) {
		if alarms := week(t, trace, seed, ""); len(alarms) > 0 {
			t.Errorf("seed %d: %s", seed, alarms[0].Text)
		}
		alarms := week(t, trace, seed, site)
		if len(alarms) > 0 && alarms[0].Subject == "resource "+site {
			named++
		}
	}
	if named < weeks {
		t.Errorf("%s is named in %d of %d weeks", site, named, weeks)
	}
}

// week runs the jobs of a trace on 40 agents. From the middle on, the jobs of a site fail.
func week(t *testing.T, trace *backtest.Trace, seed uint64, broken string) (alarms []jobqueue.Alarm) {
	t.Helper()
	q, err := jobqueue.New(jobqueue.Config{MaxAttempts: 1, Blacklist: -1, WaitTarget: 100 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	q.Watch()
	rng := rand.New(rand.NewPCG(seed, 3))
	for a := range 40 {
		if _, err := q.Declare(0, fmt.Sprint("agent-", a), &jobqueue.Profile{}); err != nil {
			t.Fatal(err)
		}
	}
	sampled := int64(0)
	for i := range trace.Jobs {
		j := &trace.Jobs[i]
		spec, agent, id := &trace.Classes[j.Class], fmt.Sprint("agent-", rng.IntN(40)), jobqueue.ID(i)
		if _, err := q.Submit(j.AtMs, id, spec); err != nil {
			t.Fatal(err)
		}
		ds, _, err := q.Poll(nil, j.AtMs, &jobqueue.Poll{Agent: agent, N: 1, Policy: jobqueue.Greedy})
		if err != nil || len(ds) != 1 {
			t.Fatal(ds, err)
		}
		share := 0.015
		if i > len(trace.Jobs)/2 && len(spec.Prefer) > 0 && spec.Prefer[0] == broken {
			share = 1
		}
		if rng.Float64() < share {
			_, err = q.Fail(j.AtMs, agent, id, 1)
		} else {
			_, err = q.Complete(j.AtMs, agent, id, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		if j.AtMs-sampled > 60_000 {
			sampled = j.AtMs
			q.Sample(sampled)
		}
		alarms = append(alarms, q.Alarms()...)
	}
	return alarms
}
