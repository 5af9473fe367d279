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
	run := func(packages ...string) (output, totals string, ok bool) {
		file := filepath.Join(t.TempDir(), "totals")
		cmd := exec.CommandContext(t.Context(), "go", append([]string{
			"tool", "-modfile=" + base + "/tools/go.mod",
			"gotestsum", "--jsonfile", module + "/tests.json", "--post-run-command", base + "/.ci/after-tests", "--", "-timeout", "3s",
		}, packages...)...)
		cmd.Dir, cmd.Env = module, append(os.Environ(), "TOTALS="+file)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		text, _ := os.ReadFile(file)
		return out.String(), string(text), err == nil
	}

	out, totals, ok := run("./...")
	// Failed: TestBad and its subtest, TestPanic, TestHang and its package, the packages exits and
	// invalid.
	if ok || totals != "3 7\n" {
		t.Errorf("passed %v with totals %q, want a failure with 3 7\n%s", ok, totals, out)
	}
	for _, want := range []string{
		"want 3", "panic: in a goroutine", "panic: test timed out after 3s", "TestHang (unknown)", "undefined: undefined",
		"SKIP: skips TestSkipped", "no engine answers", "=== Slowest\nm/",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for outcome, want := range map[string]string{"passes": "2 0\n", "skips": "0 0\n"} {
		if out, totals, ok := run("./" + outcome); !ok || totals != want {
			t.Errorf("%s: passed %v with totals %q, want %q\n%s", outcome, ok, totals, want, out)
		}
	}
	if out, totals, ok := run("./empty"); ok || totals != "0 1\n" || !strings.Contains(out, "no test ran") {
		t.Errorf("empty: passed %v with totals %q, want a failure\n%s", ok, totals, out)
	}
}
