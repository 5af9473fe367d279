package lint

import "strings"

// File is a file of the repository: its path from the root, with slashes, and its content.
type File struct {
	Path string
	Text []byte
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// isGo reports whether name is a Go file that the go command would build.
func isGo(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.Contains(name, "testdata/")
}
