package streamtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Scenarios runs each scenario file that matches glob as a test. In a file, a line that begins with
// "> " is a command; the lines below it are the expected answer. begin makes the function that
// executes the commands of one file, each without its "> ", and returns the answers. Lines that
// begin with "#" and empty lines are comments.
//
// With WEIR_TEST_REWRITE=1 in the environment the files are rewritten with the actual answers: read
// the difference before you commit it.
func Scenarios(t *testing.T, glob string, begin func(t *testing.T) (execute func(command string) string)) {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario file matches %s: %v", glob, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := executeScenario(string(text), begin(t))
			if os.Getenv("WEIR_TEST_REWRITE") != "" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := strings.Split(string(text), "\n")
			for i, line := range strings.Split(got, "\n") {
				if i >= len(want) || line != want[i] {
					expected := strings.Join(want[min(i, len(want)):min(i+3, len(want))], "\n")
					t.Fatalf("%s:%d: the answer is\n%s\nand should be\n%s", file, i+1, line, expected)
				}
			}
		})
	}
}

// executeScenario returns text with the answers of execute. Comments and empty lines stay.
func executeScenario(text string, execute func(string) string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "> "):
			out.WriteString(line)
			if answer := execute(strings.TrimSpace(line[2:])); answer != "" {
				out.WriteString(strings.TrimSuffix(answer, "\n") + "\n")
			}
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
			out.WriteString(line)
		}
	}
	return out.String()
}
