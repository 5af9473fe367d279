package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// events returns lines of go test -json. Each word is ACTION:PACKAGE or ACTION:PACKAGE:TEST.
func events(words string) string {
	var b strings.Builder
	for w := range strings.FieldsSeq(words) {
		part := append(strings.Split(w, ":"), "")
		b.WriteString(`{"Action":"` + part[0] + `","Package":"` + part[1] + `"`)
		if part[2] != "" {
			b.WriteString(`,"Test":"` + part[2] + `"`)
		}
		if part[0] == "output" {
			b.WriteString(`,"Output":"line of ` + part[2] + `\n"`)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func TestOutcome(t *testing.T) {
	for _, c := range []struct{ name, words, line string }{
		{"passes", "start:p run:p:T pass:p:T pass:p", "1 0\n"},
		{"skips", "start:p run:p:T skip:p:T pass:p", "0 0\n"},
		{"fails", "start:p run:p:T fail:p:T run:p:U pass:p:U fail:p", "1 1\n"},
		{"fails twice", "start:p run:p:T fail:p:T fail:p start:p run:p:T fail:p:T fail:p", "0 1\n"},
		{"flaky", "start:p run:p:T fail:p:T fail:p start:q run:q:T pass:q:T pass:q start:p run:p:T pass:p:T pass:p", "2 0\nflaky p T\n"},
		{"the second run fails in another test", "start:p run:p:T fail:p:T fail:p start:p run:p:T pass:p:T run:p:U fail:p:U fail:p", "1 1\nflaky p T\n"},
		{"does not end", "start:p run:p:T pass:p:T run:p:U output:p:U fail:p", "1 2\n"},
		{"ends the package, and passes alone", "start:p run:p:T fail:p start:p run:p:T pass:p:T pass:p", "1 1\n"},
		{"does not end in the second run", "start:p run:p:T fail:p:T fail:p start:p run:p:T fail:p", "0 2\n"},
		{"TestMain fails", "start:p run:p:T pass:p:T fail:p", "1 1\n"},
		{"TestMain fails once", "start:p run:p:T pass:p:T fail:p start:p pass:p", "1 1\n"},
		{"does not build", "start:p fail:p", "0 1\n"},
	} {
		o, err := read(strings.NewReader(events(c.words)))
		if err != nil || o.line() != c.line {
			t.Errorf("%s: %q, %v, want %q", c.name, o.line(), err, c.line)
		}
	}
}

// TestReport: the totals are appended, the output of the first failure is printed, and a report
// that was cut off is an error.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	file, totals := filepath.Join(dir, "events"), filepath.Join(dir, "totals")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	for range 2 {
		write(events("start:p run:p:T output:p:T fail:p:T fail:p start:p run:p:T output:p:T pass:p:T pass:p"))
		out.Reset()
		if err := report(file, totals, &out); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(totals); err != nil || string(text) != "1 0\nflaky p T\n1 0\nflaky p T\n" {
		t.Errorf("totals %q, %v", text, err)
	}
	if !strings.Contains(out.String(), "=== FLAKY: p T\nline of T\n") || strings.Count(out.String(), "line of T") != 1 {
		t.Errorf("printed %q", out.String())
	}
	write(events("start:p run:p:T fail:p:T fail:p"))
	if err := report(file, "", &out); err == nil || err.Error() != "1 failed" {
		t.Errorf("%v, want a failure", err)
	}
	write(events("start:p run:p:T pass:p:T pass:p") + `{"Action":"pa`)
	if err := report(file, "", &out); err == nil || !strings.Contains(err.Error(), "line 5") {
		t.Errorf("%v, want the line that was cut off", err)
	}
}
