package clitest

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/dynamotest"
)

// CommandFunc returns the commands under test, such as lease.Commands.
type CommandFunc func(*cli.App) []*cobra.Command

// Result is the exit code and the output of a command.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Run runs a command line to its end.
func Run(t *testing.T, commands CommandFunc, environ []string, args ...string) Result {
	t.Helper()
	var out, talk bytes.Buffer
	code := Execute(t.Context(), commands,
		cli.Process{Args: args, Environ: environ, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &talk})
	return Result{code, out.String(), talk.String()}
}

// Execute runs a command line with the arguments and streams of p until ctx ends, and returns the
// exit code.
func Execute(ctx context.Context, commands CommandFunc, p cli.Process) int {
	a := cli.NewApp(p)
	root := &cobra.Command{Use: "weir"}
	a.SetUp(root)
	root.AddCommand(commands(a)...)
	return a.Execute(ctx, root)
}

// Buffer collects the output of a running command. It is safe for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the output so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// DynamoDB serves a DynamoDB with the regions eu and us until the test ends. It returns environment
// variables with its address.
func DynamoDB(t *testing.T) []string {
	t.Helper()
	cloud, err := dynamotest.New(dynamotest.Config{Regions: []string{"eu", "us"}})
	if err != nil {
		t.Fatal(err)
	}
	var listeners []net.Listener
	var regions []string
	for _, region := range []string{"eu", "us"} {
		l := Listen(t)
		listeners, regions = append(listeners, l), append(regions, region+"=http://"+l.Addr().String())
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- cloud.Serve(ctx, listeners...) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	return []string{
		"WEIR_LEASES_REGIONS=" + strings.Join(regions, ","), "AWS_EC2_METADATA_DISABLED=true", "WEIR_LEASES_TIMEOUT=30s",
		"WEIR_KAFKA_BROKERS=127.0.0.1:1",
	}
}

// Listen listens on a free port of 127.0.0.1.
func Listen(t *testing.T) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// FreeAddr returns an address of this machine on which no process listens.
func FreeAddr(t *testing.T) string {
	t.Helper()
	l := Listen(t)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
