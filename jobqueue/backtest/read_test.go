package backtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/weirhq/weir/jobqueue"
)

// swf returns a line of the Standard Workload Format with a number of each column that is read.
func swf(at, run string) string {
	return fmt.Sprintf("1 %s 0 %s 8 -1 -1 8 100 -1 1 12 13 14 15 -1 -1 -1", at, run)
}

// TestReadSWF: comments, blank lines and lines that are not usable, in another order than that of
// arrivals.
func TestReadSWF(t *testing.T) {
	text := "\ufeff; Version: 2.2\n\n" + swf("100.5", "7") + "\r\n" + swf("99", "-1") + "\n" + swf("98", "0.25") + "\n" + strings.Repeat("x", 200_000) +
		"\n1 2 3\n" + swf("later", "1") + "\n" + swf("102", "1e12")
	for column, want := range map[string]string{"": "", "site": "", "queue": "queue:15", "executable": "executable:14", "group": "group:13", "user": "user:12"} {
		tr, err := Read(strings.NewReader(text), Options{Resource: column})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(tr.Jobs, []Job{{0, 250, 0}, {2500, 7000, 0}}) || len(tr.Classes) != 1 || strings.Join(tr.Classes[0].Prefer, " ") != want {
			t.Errorf("%s: %+v, %+v", column, tr.Jobs, tr.Classes)
		}
		if tr.Lines != 9 || tr.Bad != 5 || tr.FirstBad != "line 4: the run time is unknown" || !tr.Unsorted || tr.Cut {
			t.Errorf("%+v", tr)
		}
	}
	if _, err := Read(strings.NewReader(text), Options{Resource: "cluster"}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "site, queue, user") {
		t.Error(err)
	}
}

// TestReadJSON: classes are equal whatever the order of their names.
func TestReadJSON(t *testing.T) {
	text := `{"at_ms":1700000000000,"run_ms":5,"require":["x","gpu"],"prefer":["m"],"priority":15}
; a comment
{"at_ms":1700000000007,"run_ms":0,"prefer":["m","m"],"require":["gpu","x","x"],"priority":15}
{"at_ms":1700000000007,"run_ms":0}
{"at_ms":1700000000009,"run_ms":0,"priority":16}
{"at_ms":1700000000009,"run_ms":0,"priorty":1}
{"at_ms":1700000000009}
{"at_ms":"1700000000009","run_ms":1}
{"at_ms":1700000000009,"run_ms":-1}
{"at_ms":-1,"run_ms":1}
{"at_ms":1,"run_ms":1}{}
{"at_ms":1,"run_ms":1,"require":[""]}
[]
`
	tr, err := Read(strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(tr.Jobs, []Job{{0, 5, 0}, {7, 0, 0}, {7, 0, 1}}) || len(tr.Classes) != 2 || describe(&tr.Classes[0]) != "requires gpu+x, prefers m, priority 15" {
		t.Errorf("%+v, %+v", tr.Jobs, tr.Classes)
	}
	if tr.Lines != 13 || tr.Bad != 9 || tr.Unsorted || !strings.HasPrefix(tr.FirstBad, "line 5: ") || !strings.Contains(tr.FirstBad, "priority 16") {
		t.Errorf("%+v", tr)
	}
	for line, want := range map[string]string{
		`{"at_ms":1,"run_ms":0,"priorty":1}`:    `unknown field "priorty"`,
		`{"at_ms":1}`:                           "at_ms or run_ms is missing",
		`{"at_ms":"1","run_ms":1}`:              "at_ms has a value of type string",
		`{"at_ms":1,"run_ms":1.5}`:              "run_ms has a value of type number 1.5",
		`{"at_ms":1,"run_ms":-1}`:               "a run time of -1 ms",
		`{"at_ms":-1,"run_ms":1}`:               "an arrival at -1 ms",
		`{"at_ms":1,"run_ms":1}{}`:              "more than one JSON object",
		`{"at_ms":1,"run_ms":1,"require":[""]}`: "required resources: invalid name",
		`{"at_ms":1,"run_ms":1,"priority":16}`:  "invalid priority 16",
		`{"at_ms":1,"run_ms":1,"priority":256}`: "priority has a value of type number 256",
		`{"at_ms":1,"run_ms":200000000000}`:     "a run time of 200000000000 ms",
		`{"at_ms":1,"run_ms":1`:                 "unexpected EOF",
		swf("1", "-1"):                          "line 1: the run time is unknown",
		"1 2 3":                                 "3 columns, and the Standard Workload Format has 18",
		"x":                                     "1 columns, and",
		"":                                      "0 lines, and none of them has a job",
		"\n; nothing\n":                         "2 lines, and none of them has a job",
		strings.Repeat("1 ", 40_000):            "the line has more than 65,536 bytes",
	} {
		if _, err := Read(strings.NewReader(line), Options{}); !errors.Is(err, ErrTrace) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", line, err, want)
		}
	}
}

// TestClasses: jobs that differ in one respect are of different classes.
func TestClasses(t *testing.T) {
	tr := trace(t, "0 1 a", "0 1 - a", "0 1", "0 1 a,b", "0 1 a b", "0 1 ab", "0 1 a - 1", "0 1 b,a")
	if len(tr.Classes) != 7 || tr.Jobs[7].Class != tr.Jobs[3].Class {
		t.Errorf("%+v of %+v", tr.Jobs, tr.Classes)
	}
}

// TestReadLimit: the first jobs of the file are read.
func TestReadLimit(t *testing.T) {
	text := swf("5", "1") + "\n" + swf("3", "1") + "\n; end\n"
	for limit, cut := range map[int]bool{1: true, 2: false, 3: false} {
		tr, err := Read(strings.NewReader(text), Options{Limit: limit})
		if err != nil || len(tr.Jobs) != min(limit, 2) || tr.Cut != cut {
			t.Errorf("limit %d: %+v, %v", limit, tr, err)
		}
	}
	broken := errors.New("the disk is broken")
	in := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
	if _, err := Read(in, Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestScale: times are scaled, and their limits hold.
func TestScale(t *testing.T) {
	tr := trace(t, "0 100", "10 1")
	if err := tr.Scale(4, 0.01); err != nil || !reflect.DeepEqual(tr.Jobs, []Job{{0, 1000, 0}, {2500, 10, 0}}) {
		t.Errorf("%+v, %v", tr.Jobs, err)
	}
	for _, x := range [][2]float64{{0, 1}, {1, 0}, {-1, 1}, {1, 1e12}, {1e-12, 1}} {
		if err := tr.Scale(x[0], x[1]); !errors.Is(err, ErrConfig) {
			t.Errorf("%v: %v", x, err)
		}
	}
}

// TestAgents: the number of agents that a load needs.
func TestAgents(t *testing.T) {
	var jobs []string
	for i := range 101 {
		jobs = append(jobs, fmt.Sprint(i, " 30 a x,y"))
	}
	tr := trace(t, append(jobs, "100 30 - z")...) // 102 jobs in 100 s: 3,060 s, and 1,010 s of loading
	for _, tc := range []struct {
		load        time.Duration
		slots       int
		utilisation float64
		want        int
	}{{0, 1, 0.8, 39}, {10 * time.Second, 1, 0.8, 51}, {0, 4, 0.8, 10}, {0, 1, 1, 31}, {time.Hour, 2, 0.1, 51}} {
		if got := tr.Agents(tc.load, tc.slots, tc.utilisation); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
	if got := trace(t, "0 0").Agents(0, 1, 0.8); got != 1 {
		t.Error(got)
	}
	if got := fmt.Sprint(Alike(tr, 3)); got != "[{3 [x y z]}]" {
		t.Error(got)
	}
}

// valid fails the test if a trace breaks a promise.
func valid(t *testing.T, tr *Trace) {
	t.Helper()
	for i, j := range tr.Jobs {
		if j.AtMs < 0 || j.RunMs < 0 || j.RunMs > maxRunMs || i == 0 && j.AtMs != 0 || i > 0 && j.AtMs < tr.Jobs[i-1].AtMs {
			t.Fatalf("job %d: %+v", i, j)
		}
		if err := tr.Classes[j.Class].Validate(); err != nil {
			t.Fatal(err)
		}
	}
	if tr.Bad+len(tr.Jobs) > tr.Lines || (tr.Bad > 0) != (tr.FirstBad != "") {
		t.Fatalf("%d lines, %d jobs, %d not usable: %s", tr.Lines, len(tr.Jobs), tr.Bad, tr.FirstBad)
	}
}

// again reads what line writes of each job, and fails the test if the jobs are not equal.
func again(t *testing.T, tr *Trace, line func(j *Job) string) {
	t.Helper()
	var b bytes.Buffer
	for i := range tr.Jobs {
		b.WriteString(line(&tr.Jobs[i]) + "\n")
	}
	got, err := Read(&b, Options{})
	if err != nil || got.Bad > 0 || len(got.Jobs) != len(tr.Jobs) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, j := range tr.Jobs {
		x := got.Jobs[i]
		if x.AtMs != j.AtMs || x.RunMs != j.RunMs || names(&got.Classes[x.Class]) != names(&tr.Classes[j.Class]) {
			t.Fatalf("job %d: %+v of %+v, want %+v of %+v", i, x, got.Classes[x.Class], j, tr.Classes[j.Class])
		}
	}
}

// names returns what a class has, without ambiguity.
func names(s *jobqueue.Spec) string {
	return fmt.Sprintf("%q %q %d", s.Require, s.Prefer, s.Priority)
}

// FuzzSWF: whatever follows a line of the Standard Workload Format, the trace is valid, and a trace
// that is written again is equal.
func FuzzSWF(f *testing.F) {
	for _, text := range []string{
		swf("1", "2") + "\n" + swf("0", "1e3"), "; x\n\n1 2", swf("9999999999999", "1"), swf("1", "NaN"), swf("+1", "0x1p4"), strings.Replace(swf("1", "2"), "-1 -1 -1", "\x00é -1 -1", 1),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := Read(strings.NewReader(swf("5", "1")+"\n"+text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		valid(t, tr)
		again(t, tr, func(j *Job) string {
			site := "-1"
			for _, name := range tr.Classes[j.Class].Prefer {
				site = strings.TrimPrefix(name, "site:")
			}
			return fmt.Sprintf("1 %d.%03d 0 %d.%03d 1 1 1 1 1 1 1 1 1 1 1 %s 1 1", j.AtMs/1000, j.AtMs%1000, j.RunMs/1000, j.RunMs%1000, site)
		})
	})
}

// FuzzJSON: the same of JSON lines.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"at_ms":1,"run_ms":2,"require":["b","a"],"prefer":["c"],"priority":3}`, `{"at_ms":1,"run_ms":2,"prefer":["\u00e9\u0000"]}`, `{"at_ms":1e3,"run_ms":2}`,
		`{"AT_MS":1,"run_ms":2,"at_ms":3}`, `{"at_ms":1,"run_ms":2}{"at_ms":1,"run_ms":2}`, `null`, "{\"at_ms\":1,\"run_ms\":2,\"prefer\":[\"\xff\"]}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := Read(strings.NewReader(`{"at_ms":5,"run_ms":1}`+"\n"+text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		valid(t, tr)
		again(t, tr, func(j *Job) string {
			c := &tr.Classes[j.Class]
			line, err := json.Marshal(jsonJob{&j.AtMs, &j.RunMs, c.Require, c.Prefer, c.Priority})
			if err != nil {
				t.Fatal(err)
			}
			return string(line)
		})
	})
}
