package streamtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Transcripts runs each file that matches glob as a test: say is called with each line that begins with "> ", less that, and
// what it returns must be what the file has below the line. Other files' state is not seen: begin makes the say of a file.
// With WEIR_REWRITE=1 in the environment the files are written anew; commit them only when understood.
func Transcripts(t *testing.T, glob string, begin func(t *testing.T) (say func(line string) string)) {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcript matches %s: %v", glob, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := rewriteAnswers(string(text), begin(t))
			if os.Getenv("WEIR_REWRITE") != "" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := strings.Split(string(text), "\n")
			for i, line := range strings.Split(got, "\n") {
				if i >= len(want) || line != want[i] {
					t.Fatalf("%s:%d: it is\n%s\nand should be\n%s", file, i+1, line, strings.Join(want[min(i, len(want)):min(i+3, len(want))], "\n"))
				}
			}
		})
	}
}

// rewriteAnswers is text with the answers that say gives. Comments and empty lines stay.
func rewriteAnswers(text string, say func(string) string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "> "):
			out.WriteString(line)
			if answer := say(strings.TrimSpace(line[2:])); answer != "" {
				out.WriteString(strings.TrimSuffix(answer, "\n") + "\n")
			}
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
			out.WriteString(line)
		}
	}
	return out.String()
}
