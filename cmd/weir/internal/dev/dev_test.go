package dev

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/lease"
	"github.com/weirhq/weir/internal/config"
)

// The line "join" has the settings that all processes need in common and that are not the defaults,
// and no others.
func TestJoinSettings(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{[]string{"WEIR_MEMORY=1GiB"}, ""},
		{[]string{"WEIR_LEASES_PARTITIONS=6", "WEIR_DC=eu-1"}, "   with WEIR_DC=eu-1 WEIR_LEASES_PARTITIONS=6"},
		{[]string{"WEIR_LEASES_SKEW=1s", "WEIR_LEASES_HOME=us-west-2", "WEIR_SPEND_PARTS=3"}, "   with WEIR_SPEND_PARTS=3 WEIR_LEASES_HOME=us-west-2 WEIR_LEASES_SKEW=1s"},
	} {
		cfg, err := config.Load(config.Options{Environ: c.environ})
		if err != nil {
			t.Fatal(err)
		}
		if got := (&dev{cfg: cfg}).environ(); got != c.want {
			t.Errorf("%q: %q, want %q", c.environ, got, c.want)
		}
	}
}

// startDev runs `weir dev` without load until the test ends, and returns the lines that it prints
// when it is ready.
func startDev(t *testing.T, environ []string, args ...string) []string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	out, in := io.Pipe()
	ended := make(chan struct{})
	args = append([]string{"dev", "--no-load", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}, args...)
	go func() {
		defer close(ended)
		code := clitest.Execute(ctx, Commands, cli.Process{Args: args, Environ: environ, Stdin: strings.NewReader(""), Stdout: in, Stderr: t.Output()})
		_ = in.CloseWithError(fmt.Errorf("weir dev ended with code %d", code))
	}()
	t.Cleanup(func() {
		stop()
		_ = out.Close()
		<-ended
	})
	var lines []string
	text := bufio.NewScanner(out)
	for text.Scan() {
		if lines = append(lines, text.Text()); strings.HasPrefix(text.Text(), "  join ") {
			return lines
		}
	}
	t.Fatalf("no line \"join\" after %q: %v", lines, text.Err())
	return nil
}

// The heap has a limit: the budget, the event ids, and what the dev broker may store.
func TestMemoryLimit(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	startDev(t, []string{"WEIR_MEMORY=1GiB", "WEIR_SPEND_MAX_IDS=1000"})
	if got := debug.SetMemoryLimit(-1); got < 2<<30 || got > 8<<30 {
		t.Errorf("the limit is %d bytes", got)
	}
}

// The regions listen on consecutive ports from --dynamodb-port on. A port in use is refused. The
// configured ports are not: other ports replace them, with a note.
func TestDynamoDBPort(t *testing.T) {
	lines := startDev(t, []string{"WEIR_LEASES_REGIONS=eu,us"}, "--dynamodb-port", strconv.Itoa(consecutive(t)))
	tables := regexp.MustCompile(`eu=(http://127.0.0.1:(\d+)), us=http://127.0.0.1:(\d+)`).FindStringSubmatch(strings.Join(lines, "\n"))
	if tables == nil {
		t.Fatalf("no addresses of two tables in %q", lines)
	}
	first, _ := strconv.Atoi(tables[2])
	if next, _ := strconv.Atoi(tables[3]); next != first+1 {
		t.Errorf("ports %d and %d", first, next)
	}
	r := clitest.Run(t, Commands, []string{"WEIR_LEASES_REGIONS=eu"}, "dev", "--no-load", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--dynamodb-port", tables[2])
	if r.Code == cli.ExitOK || !strings.Contains(r.Stderr, "address already in use") || !strings.Contains(r.Stderr, "give another --dynamodb-port") {
		t.Errorf("a port in use: code %d, %s", r.Code, r.Stderr)
	}
	lines = startDev(t, []string{"WEIR_LEASES_REGIONS=eu=" + tables[1]})
	note := regexp.MustCompile(`  note   port ` + tables[2] + ` is not free, so that eu is at 127.0.0.1:\d+; --dynamodb-port sets the ports`)
	if text := strings.Join(lines, "\n"); !note.MatchString(text) {
		t.Errorf("no note in %s", text)
	}
	for _, port := range []string{"-1", "65536", "65535"} { // 65535 has no next port
		r := clitest.Run(t, Commands, []string{"WEIR_LEASES_REGIONS=eu,us"}, "dev", "--no-load", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--dynamodb-port", port)
		if r.Code == cli.ExitOK || !strings.Contains(r.Stderr, "--dynamodb-port") {
			t.Errorf("port %s: code %d, %s", port, r.Code, r.Stderr)
		}
	}
}

// consecutive returns the first of two free ports.
func consecutive(t *testing.T) int {
	t.Helper()
	for range 100 {
		first := clitest.Listen(t)
		port := first.Addr().(*net.TCPAddr).Port
		second, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1))
		_ = first.Close()
		if err == nil && second.Close() == nil {
			return port
		}
	}
	t.Fatal("no two consecutive free ports")
	return 0
}

// Commands of leases take the settings that are not set from the server that --server or
// WEIR_SERVER names. The defaults may be those of another table. A setting that differs from the
// server's is refused.
func TestServerNamesTheLeaseTable(t *testing.T) {
	lines := startDev(t, []string{"WEIR_LEASES_REGIONS=north,south", "WEIR_LEASES_TABLE=x-leases", "WEIR_LEASES_HOME=south", "WEIR_LEASES_SKEW=700ms"})
	text := strings.Join(lines, "\n")
	api := regexp.MustCompile(`API http://(\S+),`).FindStringSubmatch(lines[0])
	tables := regexp.MustCompile(`(north=\S+), (south=\S+)`).FindStringSubmatch(text)
	try := regexp.MustCompile(`  weir (lease get .*)`).FindStringSubmatch(text)
	status := regexp.MustCompile(`  weir (status.*)`).FindStringSubmatch(text)
	if api == nil || tables == nil || try == nil || status == nil {
		t.Fatalf("no addresses or commands in %q", lines)
	}
	server, down := []string{"WEIR_SERVER=" + api[1]}, []string{"WEIR_SERVER=127.0.0.1:1"}
	regions := "--regions " + tables[1] + "," + tables[2]
	const get = "lease get --client demo --pool demo --key mine"
	for _, c := range []struct {
		name    string
		environ []string
		line    string
		code    int
		want    string
	}{
		{"as printed", nil, try[1], cli.ExitOK, "north-"},
		{"status as printed", nil, status[1], cli.ExitOK, "duplicates: 0 open"},
		{"flag", nil, get + " --server " + api[1], cli.ExitOK, "north-"},
		{"environment", server, get, cli.ExitOK, "north-"},
		{"home", server, "client create other", cli.ExitOK, "other"},
		{"equal settings", append(server, "WEIR_LEASES_SKEW=700ms"), get + " --table x-leases --home south " + regions, cli.ExitOK, "north-"},
		{"other URLs", server, get + " --regions north=http://127.0.0.1:1,south=http://127.0.0.1:1", cli.ExitUnavailable, "127.0.0.1:1"},
		{"other table", server, get + " --table weir-leases", cli.ExitConfig, "leases.table is weir-leases (--table), and x-leases at the server"},
		{"other home", server, get + " --home north", cli.ExitConfig, "leases.home is north (--home), and south at the server"},
		{"other skew", append(server, "WEIR_LEASES_SKEW=1s"), get, cli.ExitConfig, "leases.skew is 1s (WEIR_LEASES_SKEW), and 700ms at the server"},
		{"other regions", server, get + " --regions south", cli.ExitConfig, "leases.regions is south (--regions), and north,south at the server"},
		{"no answer", down, get, cli.ExitUnavailable, "leases.table, leases.regions, leases.home, leases.skew"},
		{"no answer, regions set", down, get + " " + regions, cli.ExitUnavailable, "leases.table, leases.home, leases.skew"},
		{"no answer, all set", append(down, "WEIR_LEASES_SKEW=700ms"), get + " --table x-leases --home south " + regions, cli.ExitOK, "not compared"},
	} {
		r := clitest.Run(t, lease.Commands, append([]string{"AWS_EC2_METADATA_DISABLED=true"}, c.environ...), strings.Fields(c.line)...)
		if r.Code != c.code || !strings.Contains(r.Stdout+r.Stderr, c.want) {
			t.Errorf("%s: code %d\n%s%s", c.name, r.Code, r.Stdout, r.Stderr)
		}
	}
}
