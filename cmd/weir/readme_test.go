package main

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// TestReadme runs the commands of README.md and docs/spend.md that are marked as tested, and the
// program of docs/leases.md, as they are written, against `go run ./cmd/weir dev`.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts the binary")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\ngo run ./cmd/weir dev ") || !strings.Contains(string(text), "\nmake test ") {
		t.Error("the README does not give the two commands")
	}
	_, block, ok := strings.Cut(string(text), "<!-- tested -->\n```sh\n")
	block, _, closed := strings.Cut(block, "```")
	if !ok || !closed {
		t.Fatal("the README has no block that is marked <!-- tested -->")
	}
	api, ops, db, kafka := clitest.FreeAddr(t), clitest.FreeAddr(t), clitest.FreeAddr(t), clitest.FreeAddr(t)
	env := append(os.Environ(), "WEIR_API_LISTEN="+api, "WEIR_API_OPS_LISTEN="+ops, "WEIR_SERVER="+api, "WEIR_KAFKA_BROKERS="+kafka,
		"WEIR_LEASES_REGIONS=eu-west-1=http://"+db+",us-east-1=http://"+clitest.FreeAddr(t)+",us-west-2=http://"+clitest.FreeAddr(t),
		"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any")
	_, port, _ := net.SplitHostPort(kafka)
	startDev(t, root, env, "--kafka-port", port)
	out := runScript(t, root, env, "set -ex\n"+block)
	for _, want := range []string{
		`"charged_micros":1234`, `"duplicates":1`, `"impressions":1`, `"day":"2013-11-09"`, "produced", "0.001234 USD", "2013-11-09  USD       0.001234", "1  spring    acme     USD       0.001234",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the README's commands do not print %s; they print:\n%s", want, out)
		}
	}
	_, first, _ := strings.Cut(out, "resource:   ")
	first, second, _ := strings.Cut(first, "\n")
	if first == "" || strings.Count(second, "resource:   "+first+"\n") != 1 {
		t.Errorf("the second lease is not %q, the first:\n%s", first, out)
	}
	spend, err := os.ReadFile(filepath.Join(root, "docs", "spend.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(string(spend), "<!-- tested -->\n```sh\n")
	commands, rest, _ := strings.Cut(commands, "```\n\nprint\n\n```\n")
	want, _, closed := strings.Cut(rest, "```")
	if got := runScript(t, root, env, "set -e\n"+strings.ReplaceAll(commands, "127.0.0.1:8080", api)); !closed || got != want {
		t.Errorf("the commands of docs/spend.md print\n%s\nthe page has\n%s", got, want)
	}
	leases, err := os.ReadFile(filepath.Join(root, "docs", "leases.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(leases), "```go\n")
	program, _, _ = strings.Cut(program, "```")
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(program, "127.0.0.1:8000", db)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := runScript(t, root, env, "go run "+file); !strings.HasPrefix(out, first+" until ") {
		t.Errorf("the program of docs/leases.md prints %q, the README's commands got %s", out, first)
	}
}

// startDev starts the first of the two commands and waits for its line "ready".
func startDev(t *testing.T, root string, env []string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	dev := exec.CommandContext(ctx, "go", append([]string{"run", "./cmd/weir", "dev"}, args...)...)
	dev.Dir, dev.Env, dev.Stderr = root, env, os.Stderr
	dev.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run and what it runs, as a terminal has them
	dev.Cancel = func() error { return syscall.Kill(-dev.Process.Pid, syscall.SIGINT) }
	dev.WaitDelay = 10 * time.Second
	stdout, err := dev.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = dev.Wait()
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "ready") {
			go func() { // what follows must not fill the pipe
				for lines.Scan() {
				}
			}()
			return
		}
	}
	t.Fatalf("dev ended without a line that begins with ready: %v", lines.Err())
}

func runScript(t *testing.T, root string, env []string, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	sh := exec.CommandContext(ctx, "sh", "-c", script)
	sh.Dir, sh.Env = root, env
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return string(out)
}
