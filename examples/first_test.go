package examples

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/examples/exampletest"
	"github.com/weirhq/weir/internal/buildinfo"
	"github.com/weirhq/weir/processors/devbroker"
)

// goMod is the go.mod of the first program in the documents.
const goMod = "module example.com/first\n\ngo 1.26\n\nrequire github.com/weirhq/weir " + buildinfo.Release + "\n"

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
	if version := "\ngo 1.26"; !strings.Contains(read(t, "../go.mod"), version) {
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

// TestFirstProgram builds the program in a module of its own, as the documents describe it, runs
// it on a broker in this process, kills it and compares its counts.
func TestFirstProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts a program")
	}
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": goMod + "\nreplace github.com/weirhq/weir => " + root + "\n", "go.sum": read(t, "../go.sum"), "main.go": read(t, "first/main.go"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-o", "first", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	broker, err := devbroker.Start(devbroker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	exampletest.RunFirst(t, dir, broker.Kafka().Brokers[0])
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
