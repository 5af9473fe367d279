package lease

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// Rejected lines are in a file with their reasons, few of them are printed, and too many are exit
// code 65.
func TestImportRejects(t *testing.T) {
	env := clitest.DynamoDB(t)
	run := func(args ...string) clitest.Result {
		t.Helper()
		return clitest.Run(t, Commands, env, args...)
	}
	for _, line := range []string{
		"table apply", "region create eu", "client create c", "pool create p --client c", "pool create q --client c", "resource create x --client c --pool q --region eu",
	} {
		if got := run(strings.Fields(line)...); got.Code != cli.ExitOK {
			t.Fatalf("weir %s: %s", line, got.Stderr)
		}
	}
	lines := func(prefix string, good, bad int) (text string) {
		for i := range max(good, bad) {
			if i < good {
				text += fmt.Sprintf("%s%d\n", prefix, i)
			}
			if i < bad {
				text += fmt.Sprintf("bad\x01%d\n", i)
			}
		}
		return text
	}
	for _, c := range []struct {
		name, text, limit string
		code              int
		rejected          int // lines in the file
		errout            string
	}{
		{"few", lines("a", 95, 5), "", cli.ExitOK, 5, "has the rejected lines"},
		{"more", lines("b", 80, 20), "", cli.ExitData, 20, "20 of 100, more than --max-rejects 10%"},
		{"more are allowed", lines("c", 80, 20), "20%", cli.ExitOK, 20, "and 10 more rejected lines"},
		{"a number", lines("d", 80, 20), "5", cli.ExitData, 6, "--max-rejects 5"},
		{"noise", lines("e", 0, 3000), "100%", cli.ExitData, 3000, "every line was rejected"},
		{"much", lines("f", 3000, 3000), "", cli.ExitData, 500, "the import is not complete"},
		{"another pool", "x\n", "", cli.ExitData, 1, `resource "x" is in pool "q"`},
		{"another pool, the second time", "x\n", "", cli.ExitData, 1, `resource "x" is in pool "q"`},
		{"another pool among others", "x\n" + lines("g", 20, 0), "", cli.ExitOK, 1, `line 1: already exists: resource "x" is in pool "q"`},
	} {
		in, out := filepath.Join(t.TempDir(), "in.txt"), filepath.Join(t.TempDir(), "out.jsonl")
		if err := os.WriteFile(in, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"resource", "import", in, "--client", "c", "--pool", "p", "--region", "eu", "--rejects", out, "-o", "json"}
		if c.limit != "" {
			args = append(args, "--max-rejects", c.limit)
		}
		got := run(args...)
		kept, err := os.ReadFile(out)
		if n := strings.Count(string(kept), "\n"); err != nil || n != c.rejected {
			t.Errorf("%s: %d lines in the rejects file, %v, want %d", c.name, n, err, c.rejected)
		}
		if shown := strings.Count(got.Stderr, "line "); shown > shownRejects+2 {
			t.Errorf("%s: %d rejected lines are printed", c.name, shown)
		}
		if result := fmt.Sprintf(`"rejected":%d,`, c.rejected); got.Code != c.code || !strings.Contains(got.Stderr, c.errout) || !strings.Contains(got.Stdout, result) {
			t.Errorf("%s: %d, want %d\n%s\nwant %q:\n%s", c.name, got.Code, c.code, got.Stdout, c.errout, got.Stderr)
		}
	}
	if got := run("resource", "import", "none", "--client", "c", "--pool", "p", "--max-rejects", "110%"); got.Code != cli.ExitUsage || !strings.Contains(got.Stderr, "10%") {
		t.Errorf("a limit of 110%%: %d, %s", got.Code, got.Stderr)
	}
}
