package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// TestRejectsFile: rejected rows are in the current directory, under the name of the input without
// its directory, and the help of each import has this place.
func TestRejectsFile(t *testing.T) {
	input := filepath.Join(t.TempDir(), "hosts.txt")
	if err := os.WriteFile(input, []byte("bad name\u202e\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	env := clitest.DynamoDB(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	for _, line := range []string{"table apply", "region create eu", "client create c", "pool create p --client c"} {
		expect(t, env, cli.ExitOK, "", strings.Fields(line)...)
	}
	expect(t, env, cli.ExitData, "hosts.txt.rejects.jsonl", "resource", "import", input, "--client", "c", "--pool", "p")
	if _, err := os.Stat("hosts.txt.rejects.jsonl"); err != nil {
		t.Error(err)
	}
	for _, c := range []string{"ingest", "adjust import", "resource import"} {
		expect(t, nil, cli.ExitOK, "FILE.rejects.jsonl in the current directory", append(strings.Fields(c), "--help")...)
	}
}
