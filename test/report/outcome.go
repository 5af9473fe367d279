package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is a line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string // empty for an event of the package
	Output  string
}

// name is a test, or a package if test is empty.
type name struct{ pkg, test string }

func (n name) String() string { return strings.TrimSpace(n.pkg + " " + n.test) }

// history is what the events say about one test.
type history struct {
	last   string          // action of the last result; "run" before the first result
	failed bool            // whether a result was "fail"
	output strings.Builder // until the end of the first failure
}

// outcome is the result of a test run.
type outcome struct {
	passed, failed, skipped int
	flaky                   []flake
}

// flake is a flaky test with the output of its first failure.
type flake struct {
	test   name
	output string
}

// line returns the line of the file TOTALS, and a line for each flaky test.
func (o outcome) line() string {
	text := fmt.Sprintf("%d %d\n", o.passed, o.failed)
	for _, f := range o.flaky {
		text += fmt.Sprintf("flaky %s\n", f.test)
	}
	return text
}

// ran returns whether the run had a test.
func (o outcome) ran() bool { return o.passed+o.failed+o.skipped > 0 }

// run collects the events.
type run struct {
	tests  map[name]*history
	order  []name
	began  map[string]int  // tests without a result in a package's present run
	failed map[string]int  // tests that failed in that run
	broken map[string]bool // packages that failed with tests without a result, or without a failed test
}

// read returns the outcome of the events in r. It fails at a line that is not JSON: a report of a
// run that was cut off must not look complete.
func read(r io.Reader) (outcome, error) {
	x := run{tests: map[name]*history{}, began: map[string]int{}, failed: map[string]int{}, broken: map[string]bool{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return outcome{}, fmt.Errorf("line %d of the events: %w", n, err)
		}
		x.add(e)
	}
	if err := lines.Err(); err != nil {
		return outcome{}, fmt.Errorf("read the events: %w", err)
	}
	return x.outcome(), nil
}

func (x *run) add(e event) {
	if e.Test == "" {
		x.addPackage(e)
		return
	}
	n := name{e.Package, e.Test}
	h := x.tests[n]
	if h == nil {
		h = &history{}
		x.tests[n], x.order = h, append(x.order, n)
	}
	switch e.Action {
	case "run":
		h.last = "run"
		x.began[e.Package]++
	case "output":
		if !h.failed {
			h.output.WriteString(e.Output)
		}
	case "pass", "fail", "skip":
		h.last = e.Action
		x.began[e.Package]--
		if e.Action == "fail" {
			h.failed = true
			x.failed[e.Package]++
		}
	}
}

// addPackage notes a package that failed for more than its failed tests.
func (x *run) addPackage(e event) {
	switch e.Action {
	case "start":
		x.began[e.Package], x.failed[e.Package] = 0, 0
	case "fail":
		if x.began[e.Package] > 0 || x.failed[e.Package] == 0 {
			x.broken[e.Package] = true
		}
	}
}

func (x *run) outcome() outcome {
	o := outcome{failed: len(x.broken)}
	for _, n := range x.order {
		h := x.tests[n]
		switch h.last {
		case "pass":
			o.passed++
			if h.failed {
				o.flaky = append(o.flaky, flake{n, h.output.String()})
			}
		case "skip":
			o.skipped++
		default:
			o.failed++
		}
	}
	slices.SortStableFunc(o.flaky, func(a, b flake) int { return strings.Compare(a.test.String(), b.test.String()) })
	return o
}
