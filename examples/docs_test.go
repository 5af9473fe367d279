package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const page = "../docs/write-a-processor.md"

// TestPage holds the code of docs/write-a-processor.md to the programs: each block of Go stands in
// the file that the comment above it names.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "```go\n")
	if len(parts) < 7 {
		t.Fatalf("%s has %d blocks of Go", page, len(parts)-1)
	}
	for i, part := range parts[1:] {
		block, _, closed := strings.Cut(part, "```")
		before := strings.TrimSpace(parts[i])
		name := strings.TrimSuffix(strings.TrimPrefix(before[strings.LastIndexByte(before, '\n')+1:], "<!-- "), " -->")
		source, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		switch {
		case err != nil || !closed:
			t.Errorf("block %d: the line above it must be a comment that names its file: %v", i+1, err)
		case !strings.Contains(string(source), block):
			t.Errorf("block %d is not in %s as it is written:\n%s", i+1, name, block)
		}
	}
}
