package broker

import (
	"slices"
	"strings"
	"testing"
)

// TestJobLedger: the ledger finds a job that is done twice, one that is not done, and one that
// no submitter has.
func TestJobLedger(t *testing.T) {
	for _, c := range []struct {
		name            string
		submitted, done [][]string
		want            string // in the error; empty: none
	}{
		{"all are done", [][]string{{"0-0", "3-64"}, {"3-1000"}}, [][]string{{"3-1000", "0-0"}, {"3-64"}}, ""},
		{"one is done twice", [][]string{{"0-0", "0-1"}}, [][]string{{"0-0"}, {"0-0"}}, "a report: job 0-0 appears twice"},
		{"two have one id", [][]string{{"0-7"}, {"0-7"}}, nil, "a submit: job 0-7 appears twice"},
		{"one is not done", [][]string{{"0-0", "1-65"}}, [][]string{{"0-0"}}, "2 jobs were submitted and 1 are done: job 1-65 is not"},
		{"another is done", [][]string{{"2-1"}}, [][]string{{"2-1", "2-63"}}, "job 2-63 is done, and no submitter has it"},
		{"none is submitted", nil, nil, "no job was submitted"},
		{"not an id", [][]string{{"5"}}, nil, `"5" is not the id of a job`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := &jobLedger{}, error(nil)
			for _, ids := range c.submitted {
				if err == nil {
					err = l.submit(ids)
				}
			}
			for _, ids := range c.done {
				if err == nil {
					err = l.finish(ids)
				}
			}
			if err == nil {
				err = l.check()
			}
			if c.want == "" && err == nil || err != nil && c.want != "" && strings.Contains(err.Error(), c.want) {
				return
			}
			t.Errorf("%v, want %q", err, c.want)
		})
	}
}

// TestJobSample: the jobs that readers ask for are done, and each of them is asked for.
func TestJobSample(t *testing.T) {
	l := &jobLedger{}
	if _, err := l.sample(1); err == nil {
		t.Error("a sample of no job")
	}
	done := []string{"0-1", "0-200", "7-64"}
	if err := l.finish(done); err != nil {
		t.Fatal(err)
	}
	ids, err := l.sample(200)
	if err != nil || len(ids) != 200 {
		t.Fatalf("%d jobs, %v", len(ids), err)
	}
	slices.Sort(ids)
	if got := slices.Compact(ids); !slices.Equal(got, done) {
		t.Errorf("asked for %v, want %v", got, done)
	}
}
