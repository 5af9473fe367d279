package lint

import (
	"strings"
	"testing"
)

// file is a Go file of package a with a comment.
func file(path, body string) File {
	return File{path, []byte("// Package a is for tests.\npackage a\n\n" + body + "\n")}
}

// complain reports each complaint as an error.
func complain(t *testing.T, complaints []string) {
	t.Helper()
	for _, c := range complaints {
		t.Error(c)
	}
}

// one reports an error unless got is one complaint that contains want, or none where want is empty.
func one(t *testing.T, got []string, want string) {
	t.Helper()
	if want == "" {
		complain(t, got)
		return
	}
	if len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("complaints %q, want one with %q", got, want)
	}
}
