package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// events are lines of go test -json; a word is short for an event of test T in package p.
func lines(short ...string) string {
	var b strings.Builder
	for _, s := range short {
		if strings.HasPrefix(s, "{") || !strings.Contains(s, " ") {
			b.WriteString(s + "\n")
			continue
		}
		action, test, _ := strings.Cut(s, " ")
		if test == "p" {
			test = ""
		}
		b.WriteString(`{"Action":"` + action + `","Package":"p","Test":"` + test + `"}` + "\n")
	}
	return b.String()
}

func TestCounts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		events string
		broken bool
		want   string // last line
		also   string // somewhere
	}{
		{"one passes", lines("run A", "pass A", "pass p"), false, "1 passed, 0 failed", "ok   p "},
		{"subtests count, not their test", lines("run A", "run A/x", "run A/y", "pass A/x", "pass A/y", "pass A", "pass p"), false, "2 passed, 0 failed", ""},
		{"deep subtests", lines("run A", "run A/x", "run A/x/1", "run A/x/2", "pass A/x/1", "pass A/x/2", "pass A/x", "pass A", "pass p"), false, "2 passed, 0 failed", ""},
		{"a subtest fails", lines("run A", "run A/x", "run A/y", "fail A/x", "pass A/y", "fail A", "fail p"), true, "1 passed, 1 failed", "--- FAIL: A/x (p)"},
		{"a deep subtest fails", lines("run A", "run A/x", "run A/x/1", "fail A/x/1", "fail A/x", "fail A", "fail p"), true, "0 passed, 1 failed", ""},
		{"a test fails after its subtests", lines("run A", "run A/x", "pass A/x", "fail A", "fail p"), true, "1 passed, 1 failed", "--- FAIL: A (p)"},
		{
			"a failure is shown",
			lines("run A", `{"Action":"output","Package":"p","Test":"A","Output":"want 3\n"}`, "fail A", "fail p"), true, "0 passed, 1 failed", "--- FAIL: A (p)\nwant 3\n",
		},
		{
			"a skip says why", lines("run A", `{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:3: no engine\n"}`, "skip A", "run B", "pass B", "pass p"),
			false, "1 passed, 0 failed", "1 skipped:\n  A (p): a_test.go:3: no engine\n",
		},
		{"nothing but a skip", lines("run A", "skip A", "pass p"), false, "0 passed, 0 failed", "1 skipped:\n  A (p): it gave no reason\n"},
		{"does not build", lines(`{"ImportPath":"p","Action":"build-output","Output":"x.go:1: bad\n"}`, `{"Action":"fail","Package":"p","FailedBuild":"p"}`), true, "0 passed, 1 failed", "x.go:1: bad\n--- FAIL: p does not build"},
		{"crash in a test", lines("run A", "pass A", "run B", "fail p"), true, "1 passed, 1 failed", "--- FAIL: B (p) did not end"},
		{"crash in a subtest", lines("run A", "run A/x", "fail p"), true, "0 passed, 1 failed", "--- FAIL: A/x (p) did not end"},
		{"crash after the tests", lines("run A", "pass A", "fail p"), true, "1 passed, 1 failed", "--- FAIL: p\n"},
		{"cut off", lines("run A", "pass A"), true, "1 passed, 1 failed", "--- FAIL: p did not end"},
		{"go test fails for no reason", lines("run A", "pass A", "pass p"), true, "1 passed, 1 failed", "go test failed"},
		{"no output", "", false, "0 passed, 1 failed", "ran no test"},
		{"noise", "warning: odd\n" + lines("run A", "pass A", "pass p"), false, "1 passed, 0 failed", "warning: odd\n"},
		{"a last line without end", strings.TrimSpace(lines("run A", "pass A", "pass p")), false, "1 passed, 0 failed", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			ta := newTally(&out)
			if err := ta.read(strings.NewReader(tc.events)); err != nil {
				t.Fatal(err)
			}
			ta.end(tc.broken)
			if !strings.HasSuffix("\n"+out.String(), "\n"+tc.want+"\n") || !strings.Contains(out.String(), tc.also) {
				t.Errorf("want %q last and %q somewhere in\n%s", tc.want, tc.also, &out)
			}
		})
	}
}

// The real go command, on a module with tests of every fate.
func TestGoTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module m\n\ngo 1.26.0\n",
		"a/a_test.go":  "package a\nimport \"testing\"\nfunc TestGood(t *testing.T) {}\nfunc TestBad(t *testing.T) { t.Run(\"x\", func(t *testing.T) { t.Fatal(\"told so\") }) }\n",
		"b/b_test.go":  "package b\nimport \"testing\"\nfunc TestCrash(t *testing.T) { panic(\"oh no\") }\n",
		"c/c_test.go":  "package c\nfunc broken {\n",
		"d/d_test.go":  "package d\nimport \"testing\"\nfunc TestSkipped(t *testing.T) { t.Skip(\"not here\") }\nfunc FuzzSeeds(f *testing.F) { f.Add(1); f.Add(2); f.Fuzz(func(*testing.T, int) {}) }\n",
		"e/nothing.go": "package e\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	totals := filepath.Join(t.TempDir(), "totals")
	var out bytes.Buffer
	for range 2 {
		out.Reset()
		ok, err := run(t.Context(), []string{"-count=1", "./..."}, totals, &out)
		if ok || err != nil {
			t.Fatalf("ok %v, error %v\n%s", ok, err, &out)
		}
	}
	for _, want := range []string{"told so", "oh no", "not here", "FAIL m/a ", "ok   m/d ", "--- FAIL: m/c"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if !strings.HasSuffix(out.String(), "\n3 passed, 3 failed\n") {
		t.Errorf("counts:\n%s", &out)
	}
	if got, err := os.ReadFile(totals); err != nil || string(got) != "3 3 1\n3 3 1\n" {
		t.Errorf("totals %q, %v", got, err)
	}
}
