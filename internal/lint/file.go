package lint

import (
	"path"
	"strings"
)

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

// isScript reports whether name is a Makefile, a Dockerfile or a script of continuous integration.
func isScript(name string) bool {
	base := path.Base(name)
	return base == "Makefile" || base == "Dockerfile" || strings.HasPrefix(name, ".ci/")
}
