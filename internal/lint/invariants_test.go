package lint

import "testing"

func TestCheckInvariants(t *testing.T) {
	code := File{"a/b/b.go", []byte("package b\n\n// f keeps RUN-1 and LEASE-20.\nfunc f() {}\n")}
	tests := File{"a/b/b_test.go", []byte("package b\n\nfunc TestF(t *testing.T) {}\n")}
	doc := func(text string) File {
		return File{invariantsDoc, []byte("| RUN-1 | x |\n| LEASE-20 | x | `a/b` | `a/b/b.go` | `a/b.TestF`: `a-b` |\n" + text)}
	}
	for _, tc := range []struct {
		name  string
		files []File
		want  string // in the only complaint; "" = none
	}{
		{"all exist", []File{code, tests, doc("")}, ""},
		{"unknown number in code", []File{code, tests, doc(""), file("a/c.go", "// RUN-11")}, "a/c.go:4: the invariant RUN-11 has no row in docs/invariants.md"},
		{"unknown number in a test", []File{code, tests, doc(""), file("a/c_test.go", `const c = "RUN-2: x"`)}, "a/c_test.go:4: "},
		{"unknown number in a document", []File{code, tests, doc(""), {"docs/a.md", []byte("See DEV-1.\n")}}, "docs/a.md:1: "},
		{"unknown number on the page", []File{code, tests, doc("API-1 is no row.\n")}, "docs/invariants.md:3: "},
		{"unknown number in testdata", []File{code, tests, doc(""), file("a/testdata/c.go", "// RUN-2")}, ""},
		{"another word", []File{code, tests, doc(""), file("a/c.go", "// RERUN-2, RUN-x, ARUN-3, run-4")}, ""},
		{"row without code", []File{code, tests, doc("| MIRROR-1 | x |\n"), {"docs/a.md", []byte("MIRROR-1\n")}}, "docs/invariants.md has a row for MIRROR-1, which no Go file names"},
		{"two rows", []File{code, tests, doc("| RUN-1 | y |\n")}, "2 rows for RUN-1"},
		{"path that does not exist", []File{code, tests, doc("`a/c`")}, "docs/invariants.md:3: a/c does not exist"},
		{"test that does not exist", []File{code, tests, doc("`a/b.TestG`")}, "docs/invariants.md:3: a/b.TestG does not exist"},
		{"test of another package", []File{code, tests, doc("`a.TestF`")}, "a.TestF does not exist"},
	} {
		t.Run(tc.name, func(t *testing.T) { one(t, CheckInvariants(tc.files), tc.want) })
	}
}
