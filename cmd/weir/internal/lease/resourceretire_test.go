package lease

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// The resources of a file or of a pool are retired, except those in use. Other pools are not
// changed, and a whole pool needs --yes.
func TestRetireMany(t *testing.T) {
	env := clitest.DynamoDB(t)
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "names.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	two, odd := file("\ufeffr1\n\n r2 \r\n"), file("r1\nq1\n"+strings.Repeat("x", 100_000)+"\nnone\n")
	for _, step := range []struct {
		line   string
		code   int
		out    string
		errout string
	}{
		{"table apply", cli.ExitOK, "", ""},
		{"region create eu", cli.ExitOK, "", ""},
		{"client create c", cli.ExitOK, "", ""},
		{"pool create p --client c", cli.ExitOK, "", ""},
		{"pool create q --client c", cli.ExitOK, "", ""},
		{"resource create r0 --client c --pool p --region eu", cli.ExitOK, "", ""},
		{"lease get --client c --pool p --key k --region eu", cli.ExitOK, "r0", ""},
		{"resource create r1 r2 r3 r4 --client c --pool p --region eu", cli.ExitOK, "", ""},
		{"resource create q1 q2 --client c --pool q --region eu", cli.ExitOK, "", ""},
		{"resource delete --client c", cli.ExitUsage, "", "--file or --pool"},
		{"resource delete r1 --pool p --client c", cli.ExitUsage, "", "either names"},
		{"resource delete --file missing --client c", cli.ExitIO, "", "missing"},
		{"resource delete --file " + two + " --client c --dry-run -o json", cli.ExitOK, `"retired": 2`, "nothing is changed"},
		{"resource delete --file " + two + " --client c -o json", cli.ExitOK, `"retired": 2`, ""},
		{"resource delete --file " + odd + " --client c --pool p -o json", cli.ExitFailed, `"failed": 3`, `it is in pool "q"`},
		{"resource list --client c --state retired -o json", cli.ExitOK, `"r2"`, ""},
		{"resource delete --pool none --client c", cli.ExitFailed, "", "not found"},
		{"resource delete --pool p --client c -o json", cli.ExitOK, `"retired": 2`, "repeat the command with --yes"},
		{"resource delete --pool p --client c --yes -o json", cli.ExitFailed, `"retired": 2`, `key "k" of pool "p" has it`},
		{"resource delete --pool p --client c --yes -o json", cli.ExitFailed, `"there": 4`, "1 are in use"},
		{"resource delete --pool q --client c --yes -o json", cli.ExitOK, `"retired": 2`, ""},
		{"pool delete q --client c", cli.ExitOK, "", "deleted"},
	} {
		got := clitest.Run(t, Commands, env, strings.Fields(step.line)...)
		if got.Code != step.code || !strings.Contains(got.Stdout, step.out) || !strings.Contains(got.Stderr, step.errout) {
			t.Errorf("weir %s: %d, want %d\nstdout, want %q:\n%s\nstderr, want %q:\n%s", step.line, got.Code, step.code, step.out, got.Stdout, step.errout, got.Stderr)
		}
	}
}
