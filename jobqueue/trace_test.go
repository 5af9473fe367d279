package jobqueue

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// gridJob is a job of a grid, with times in ms.
type gridJob struct {
	at, run int64
	site    string
}

// gridJobs returns the first n jobs of a log of CERN's grid from 2005, with run times divided by
// 100, so that few agents are enough.
func gridJobs(t *testing.T, n int) (jobs []gridJob) {
	f, err := os.Open(filepath.Join("..", "..", "shared", "data", "jobs", "lcg2005_days0-6.swf.gz"))
	if err != nil {
		t.Skip("the log of the grid is not on this machine: ", err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(z); s.Scan() && len(jobs) < n; {
		x := strings.Fields(s.Text())
		if len(x) < 18 || x[0] == ";" {
			continue
		}
		at, err1 := strconv.ParseInt(x[1], 10, 64)
		run, err2 := strconv.ParseInt(x[3], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		jobs = append(jobs, gridJob{at * 1000, max(run, 0) * 10, "site" + x[15]})
	}
	return jobs
}

// simulate runs jobs on agents that keep the data of one site each, and load those of another one
// in 20 s. It returns the share of jobs that found their data, and the mean wait in seconds.
func simulate(t *testing.T, jobs []gridJob, agents int, p Poll) (hits, wait float64) {
	q := newQueue(t, Config{Associations: 1, Lease: 1000 * time.Hour})
	cached := make([]string, agents)
	free := make([]int, agents) // the agents that wait longest first
	for i := range free {
		free[i] = i
		must(t)(q.Declare(0, fmt.Sprint(i), &Profile{}))
	}
	type end struct {
		at    int64
		agent int
		id    ID
	}
	var ends []end // ascending
	retry := int64(0)
	for next, now := 0, int64(0); next < len(jobs) || len(ends) > 0; {
		now = int64(never)
		if next < len(jobs) {
			now = jobs[next].at
		}
		if len(ends) > 0 {
			now = min(now, ends[0].at)
		}
		if retry > 0 {
			now = min(now, retry)
		}
		for ; len(ends) > 0 && ends[0].at <= now; ends = ends[1:] {
			must(t)(q.Complete(now, fmt.Sprint(ends[0].agent), ends[0].id, 1))
			free = append(free, ends[0].agent)
		}
		for ; next < len(jobs) && jobs[next].at <= now; next++ {
			spec := &Spec{Prefer: []string{jobs[next].site}}
			if p.Policy == Wait { // FIFO: without preferences
				spec = &Spec{}
			}
			must(t)(q.Submit(now, ID(next), spec))
		}
		retry = 0
		free = slices.DeleteFunc(free, func(agent int) bool {
			p.Agent, p.N = fmt.Sprint(agent), 1
			ds, at, err := q.Poll(nil, now, &p)
			if err != nil {
				t.Fatal(err)
			}
			if len(ds) == 0 {
				if at > 0 && (retry == 0 || at < retry) {
					retry = at
				}
				return false
			}
			j := &jobs[ds[0].ID]
			run := j.run
			if wait += float64(now - j.at); cached[agent] == j.site {
				hits++
			} else {
				cached[agent], run = j.site, run+20_000
			}
			e := end{now + run, agent, ds[0].ID}
			i, _ := slices.BinarySearchFunc(ends, e.at, func(x end, at int64) int {
				if x.at <= at {
					return -1
				}
				return 1
			})
			ends = slices.Insert(ends, i, e)
			return true
		})
	}
	return hits / float64(len(jobs)), wait / float64(len(jobs)) / 1000
}

// TestGridTrace: on a real log of jobs by site, greedy association finds the data of more jobs than
// FIFO, and a delay of 5 s finds those of still more.
func TestGridTrace(t *testing.T) {
	jobs := gridJobs(t, 20_000)
	fifo, fifoWait := simulate(t, jobs, 40, Poll{Policy: Wait})
	greedy, greedyWait := simulate(t, jobs, 40, Poll{Policy: Greedy})
	patient, patientWait := simulate(t, jobs, 40, Poll{Policy: Patient, Delay: 5000})
	t.Logf("share of jobs at their data: FIFO %.3f, greedy %.3f, delay of 5 s %.3f", fifo, greedy, patient)
	t.Logf("mean wait: FIFO %.1f s, greedy %.1f s, delay of 5 s %.1f s", fifoWait, greedyWait, patientWait)
	if greedy < fifo || patient < 1.4*greedy || patient < 3*fifo {
		t.Errorf("a delay finds the data of %.2f times the jobs of greedy, want 1.4, and of %.2f times those of FIFO, want 3",
			patient/greedy, patient/fifo)
	}
}
