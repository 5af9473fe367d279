package lint

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// outcomes returns a test file for each outcome of the tests of a package, by the name of
// the package.
func outcomes() map[string]string {
	return map[string]string{
		"passes": `func TestGood(t *testing.T) { t.Run("x", func(*testing.T) {}) }`,
		"fails":  `func TestBad(t *testing.T) { t.Run("x", func(t *testing.T) { t.Fatal("want 3") }) }`,
		"panics": `func TestGood(*testing.T) {}
			func TestPanic(*testing.T) { c := make(chan int); go func() { panic("in a goroutine") }(); <-c }`,
		"hangs":   `func TestHang(*testing.T) { select {} }`,
		"exits":   `func TestMain(m *testing.M) { os.Exit(3) }`,
		"invalid": `func TestX(*testing.T) { undefined() }`,
		"skips":   `func TestSkipped(t *testing.T) { t.Skip("no engine answers") }`,
		"empty":   ``,
		"leaks": `func TestGood(*testing.T) {}
			func TestMain(m *testing.M) { m.Run(); os.Exit(1) }`,
		"flaky": `func TestOnce(t *testing.T) {
				t.Run("x", func(t *testing.T) {
					if _, err := os.Stat("ran"); err != nil {
						_ = os.WriteFile("ran", nil, 0o600)
						t.Fatal("for the first time")
					}
				})
			}`,
	}
}

// TestTotals runs the real gotestsum, as the Makefile does, on a module with a package for every
// outcome.
func TestTotals(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a package that exceeds its time limit")
	}
	base, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	module := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(module, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module m\n\ngo 1.26.0\n")
	for name, code := range outcomes() {
		write(name+"/a_test.go", "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _, _ = os.Exit, testing.Short\n\n"+code)
	}
	run := func(packages string) (output, totals string, ok bool) {
		file := filepath.Join(t.TempDir(), "totals")
		cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile="+base+"/tools/go.mod",
			"gotestsum", "--jsonfile", module+"/tests.json", "--post-run-command", base+"/.ci/after-tests",
			"--rerun-fails=1", "--rerun-fails-run-root-test", "--packages", packages, "--", "-timeout", "3s")
		cmd.Dir, cmd.Env = module, append(os.Environ(), "TOTALS="+file)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		text, _ := os.ReadFile(file)
		return out.String(), string(text), err == nil
	}

	out, totals, ok := run("./passes ./fails ./panics ./hangs ./exits ./invalid ./skips ./empty")
	// Failed: TestBad and its subtest, TestPanic and its package, TestHang and its package, the
	// packages exits and invalid. Nothing runs a second time after a panic.
	if ok || totals != "3 8\n" {
		t.Errorf("passed %v with totals %q, want a failure with 3 8\n%s", ok, totals, out)
	}
	for _, want := range []string{
		"want 3", "panic: in a goroutine", "panic: test timed out after 3s", "TestHang (unknown)", "undefined: undefined",
		"SKIP: skips TestSkipped", "no engine answers", "=== Slowest\nm/",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, c := range []struct {
		outcome, totals string
		ok              bool
		prints          string
	}{
		{"passes", "2 0\n", true, "=== Slowest"},
		{"skips", "0 0\n", true, "no engine answers"},
		{"empty", "0 1\n", false, "no test ran"},
		{"fails", "0 2\n", false, "TestBad (re-run 1)"},
		{"flaky", "2 0\nflaky m/flaky TestOnce\nflaky m/flaky TestOnce/x\n", true, "=== FLAKY: m/flaky TestOnce/x\n=== RUN   TestOnce/x\n    a_test.go:14: for the first time\n"},
		{"leaks", "1 1\n", false, "=== Slowest"}, // no second run can repeat what TestMain found
	} {
		if out, totals, ok := run("./" + c.outcome); ok != c.ok || totals != c.totals || !strings.Contains(out, c.prints) {
			t.Errorf("%s: passed %v with totals %q, want %v, %q and %q\n%s", c.outcome, ok, totals, c.ok, c.totals, c.prints, out)
		}
	}
}
