package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// TestUnreadableInput: a file that does not exist, and a directory in its place, are exit code 74
// for every command that reads a file. A script can distinguish them from an answer that is no.
func TestUnreadableInput(t *testing.T) {
	dir := t.TempDir()
	env := []string{
		"WEIR_LEASES_REGIONS=eu=http://127.0.0.1:1", "AWS_EC2_METADATA_DISABLED=true", "WEIR_DATA_DIR=" + t.TempDir(),
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	for _, line := range []string{
		"ingest FILE --format jsonl", "adjust import FILE --amount-unit major", "pool import FILE", "client import FILE",
		"region import FILE", "resource import FILE --client c --pool p", "balancer backtest eu=FILE", "pacing backtest FILE",
	} {
		for file, why := range map[string]string{dir: "is a directory", filepath.Join(dir, "missing"): "no such file"} {
			expect(t, env, cli.ExitIO, why, strings.Fields(strings.ReplaceAll(line, "FILE", file))...)
		}
	}
}
