package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/examples/exampletest"
	"github.com/weirhq/weir/internal/testlimit"
)

// TestExamples runs the stream processors of examples/ on a real broker and kills each once.
func TestExamples(t *testing.T) {
	broker := empty(t).brokers[0]
	exampletest.RunStreams(t, exampletest.Build(t), broker.addr)
}

// TestWriteAProcessor runs the commands of docs/write-a-processor.md, on the broker of these tests.
func TestWriteAProcessor(t *testing.T) {
	broker := empty(t).brokers[0]
	text, err := os.ReadFile("../../docs/write-a-processor.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(text), "<!-- tested -->\n```sh\n")
	block, _, closed := strings.Cut(block, "```")
	if !ok || !closed {
		t.Fatal("the page has no block that is marked <!-- tested -->")
	}
	dir := t.TempDir()
	block = strings.NewReplacer(
		"docker exec -i kafka", "docker exec -i "+broker.id, "localhost:9092", "localhost:19092", "127.0.0.1:9092", broker.addr,
		"-o wordcount", "-o "+filepath.Join(dir, "wordcount"), "./wordcount ", filepath.Join(dir, "wordcount")+" ",
		"wordcount-data", filepath.Join(dir, "data"),
	).Replace(block)
	sh := exec.CommandContext(testlimit.Context(t), "sh", "-ec", block+"wait $pid\n")
	sh.Dir = "../.."
	var out, errs strings.Builder
	sh.Stdout, sh.Stderr = &out, &errs
	if err := sh.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &out, &errs)
	}
	lines := slices.DeleteFunc(strings.Split(out.String(), "\n"), func(s string) bool { return !strings.Contains(s, "\t") })
	if len(lines) != 6+11 {
		t.Fatalf("%d counts\n%s\n%s", len(lines), &out, &errs)
	}
	got := lines[6:] // the second time, from the beginning again
	slices.Sort(got)
	want := []string{"be\t1", "be\t2", "be\t3", "do\t1", "is\t1", "not\t1", "or\t1", "to\t1", "to\t2", "to\t3", "to\t4"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestVisits kills one of two processes of examples/visits five times at random moments under load.
func TestVisits(t *testing.T) {
	broker := empty(t).brokers[0]
	rng, _ := seeded(t)
	exampletest.RunVisits(t, exampletest.Build(t, "visits"), broker.addr, rng)
}
