package examples

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/buildinfo"
	"github.com/weirhq/weir/internal/testlimit"
)

// goMod is the go.mod of the first program in the documents.
const goMod = "module example.com/first\n\ngo 1.26.0\n\nrequire github.com/weirhq/weir " + buildinfo.Release + "\n"

// TestFirstProgramIsDocumented: the package documentation of stream and the guide begin with the
// program as it is in examples/first, and with its go.mod.
func TestFirstProgramIsDocumented(t *testing.T) {
	source := read(t, "first/main.go")
	for name, form := range map[string]func(string) string{
		"../stream/doc.go": asComment, page: func(s string) string { return s },
	} {
		text := read(t, name)
		for _, part := range []string{goMod, source, "go get github.com/weirhq/weir@" + buildinfo.Release + "\n"} {
			if !strings.Contains(text, form(part)) {
				t.Errorf("%s lacks\n%s", name, form(part))
			}
		}
	}
	if version := "\ngo 1.26.0\n"; !strings.Contains(read(t, "../go.mod"), version) {
		t.Errorf("go.mod of the repository has no line %q: change the documents too", version)
	}
}

// asComment returns text as a block of code in a comment of Go.
func asComment(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line == "\n" {
			b.WriteString("//\n")
		} else {
			b.WriteString("//\t" + line)
		}
	}
	return b.String()
}

// TestFirstModule loads the packages of the program in a module of its own, with the go.mod of the
// documents: the go command adds the indirect requirements and changes nothing else. TestExamples
// runs the program.
func TestFirstModule(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	replace := "\nreplace github.com/weirhq/weir => " + root + "\n"
	for name, text := range map[string]string{"go.mod": goMod + replace, "go.sum": read(t, "../go.sum"), "main.go": read(t, "first/main.go")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.Limit)
	defer cancel()
	list := exec.CommandContext(ctx, "go", "list", "-mod=mod", "-deps", ".")
	list.Dir = dir
	if out, err := list.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := read(t, filepath.Join(dir, "go.mod")); !strings.HasPrefix(got, goMod+"\n") || !strings.Contains(got, "// indirect") {
		t.Errorf("the go command wrote:\n%s", got)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
