package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is a line of go test -json (see go doc test2json).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// tally counts tests. A test with subtests counts as its subtests, unless it failed where none of them did.
type tally struct {
	out                     io.Writer
	passed, failed, skipped int
	packages                map[string]*packageRun
	skips                   []string
}

// packageRun is a package whose tests are running.
type packageRun struct {
	output                  []string // of the package itself
	tests                   map[string]*testRun
	passed, failed, skipped int
}

// testRun is a test that has begun.
type testRun struct {
	output   []string
	children bool
	failed   bool // itself or a subtest
	done     bool
}

func newTally(out io.Writer) *tally { return &tally{out: out, packages: map[string]*packageRun{}} }

func (t *tally) event(e event) {
	if e.Action == "build-output" {
		fmt.Fprint(t.out, e.Output)
	}
	if e.Package == "" {
		return
	}
	p := t.packages[e.Package]
	if p == nil {
		p = &packageRun{tests: map[string]*testRun{}}
		t.packages[e.Package] = p
	}
	if e.Test == "" {
		t.packageEvent(p, e)
		return
	}
	r := p.test(e.Test)
	switch e.Action {
	case "output":
		r.output = append(r.output, e.Output)
	case "pass", "skip", "fail":
		t.testEnd(p, r, e)
	}
}

// test returns the run of the test called name, and marks the tests it is part of as having subtests.
func (p *packageRun) test(name string) *testRun {
	r := p.tests[name]
	if r == nil {
		r = &testRun{}
		p.tests[name] = r
		for _, outer := range outerTests(name) {
			p.test(outer).children = true
		}
	}
	return r
}

// outerTests returns the tests that a subtest runs in, innermost first.
func outerTests(name string) []string {
	var outer []string
	for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		outer = append(outer, name[:i])
	}
	return outer
}

func (t *tally) testEnd(p *packageRun, r *testRun, e event) {
	r.done = true
	switch {
	case e.Action == "fail":
		if !r.failed {
			p.failed++
		}
		r.failed = true
		for _, outer := range outerTests(e.Test) {
			p.test(outer).failed = true
		}
		fmt.Fprintf(t.out, "--- FAIL: %s (%s)\n%s", e.Test, e.Package, strings.Join(r.output, ""))
	case e.Action == "skip":
		p.skipped++
		t.skips = append(t.skips, fmt.Sprintf("%s (%s): %s", e.Test, e.Package, reason(r.output)))
	case !r.children:
		p.passed++
	}
	r.output = nil
}

// reason is what a skipped test said, on one line.
func reason(output []string) string {
	var said []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		said = append(said, line)
	}
	if len(said) == 0 {
		return "it gave no reason"
	}
	return strings.Join(said, " ")
}

func (t *tally) packageEvent(p *packageRun, e event) {
	switch e.Action {
	case "output":
		p.output = append(p.output, e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	if e.Action == "fail" {
		t.packageFailed(p, e)
	}
	delete(t.packages, e.Package)
	t.passed, t.failed, t.skipped = t.passed+p.passed, t.failed+p.failed, t.skipped+p.skipped
	if p.passed+p.failed+p.skipped == 0 {
		return // no tests
	}
	word := "ok  "
	if p.failed > 0 {
		word = "FAIL"
	}
	fmt.Fprintf(t.out, "%s %-56s %7.1fs  %d passed", word, e.Package, e.Elapsed, p.passed)
	if p.skipped > 0 {
		fmt.Fprintf(t.out, ", %d skipped", p.skipped)
	}
	if p.failed > 0 {
		fmt.Fprintf(t.out, ", %d failed", p.failed)
	}
	fmt.Fprintln(t.out)
}

// packageFailed counts the tests that were running when a package crashed, and the package itself if that leaves
// nothing to blame: it did not compile, or a goroutine of nobody's test brought it down.
func (t *tally) packageFailed(p *packageRun, e event) {
	var open []string
	for name, r := range p.tests {
		if !r.done && !r.children {
			open = append(open, name)
		}
	}
	slices.Sort(open)
	for _, name := range open {
		p.failed++
		fmt.Fprintf(t.out, "--- FAIL: %s (%s) did not end\n%s", name, e.Package, strings.Join(p.tests[name].output, ""))
	}
	if p.failed > 0 {
		return
	}
	p.failed++
	why := ""
	if e.FailedBuild != "" {
		why = " does not build"
	}
	fmt.Fprintf(t.out, "--- FAIL: %s%s\n%s", e.Package, why, strings.Join(p.output, ""))
}

// end prints what was skipped and the counts. broken tells that go test failed; if nothing explains that, it counts.
func (t *tally) end(broken bool) {
	for name, p := range t.packages {
		fmt.Fprintf(t.out, "--- FAIL: %s did not end\n%s", name, strings.Join(p.output, ""))
		t.passed, t.failed, t.skipped = t.passed+p.passed, t.failed+p.failed+1, t.skipped+p.skipped
	}
	if t.failed == 0 && (broken || t.passed+t.skipped == 0) {
		t.failed++
		fmt.Fprintln(t.out, "--- FAIL: go test failed, or ran no test at all")
	}
	if len(t.skips) > 0 {
		fmt.Fprintf(t.out, "%d skipped:\n", t.skipped)
		for _, s := range t.skips {
			fmt.Fprintln(t.out, " ", s)
		}
	}
	fmt.Fprintf(t.out, "%d passed, %d failed\n", t.passed, t.failed)
}
