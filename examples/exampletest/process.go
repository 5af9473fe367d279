package exampletest

import (
	"bytes"
	"context"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testlimit"
)

// Build compiles programs of examples/, or all, and returns the directory of the binaries.
func Build(t testing.TB, programs ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if len(programs) == 0 {
		programs = []string{"first", "wordcount", "sessions", "visits", "join", "leaseworker"}
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", dir) //nolint:gosec // the names are constants
	for _, name := range programs {
		build.Args = append(build.Args, "github.com/weirhq/weir/examples/"+name)
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the examples: %v\n%s", err, out)
	}
	return dir
}

// Process is a running example.
type Process struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdout output
	stderr output
	ended  chan struct{}
	err    error // of Wait, once ended is closed
}

// Start starts a program. The test kills it at its end, if it still runs. A nil env is that of the
// test.
func Start(t testing.TB, program string, env []string, args ...string) *Process {
	t.Helper()
	p := &Process{
		t: t, ended: make(chan struct{}),
		cmd: exec.Command(program, args...), //nolint:gosec,noctx // a binary of Build, killed below
	}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = &p.stdout, &p.stderr, env
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.Kill)
	return p
}

// waitFor waits until done returns true. what describes it in the failure of the test.
func (p *Process) waitFor(ctx context.Context, what string, done func() bool) {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			p.t.Fatalf("%s: not in time\n%s%s", what, &p.stdout, &p.stderr)
		case <-p.ended:
			if !done() {
				p.t.Fatalf("%s: the program ended: %v\n%s%s", what, p.err, &p.stdout, &p.stderr)
			}
			return
		case <-tick.C:
		}
	}
}

// Kill sends SIGKILL and waits for the end of the process.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// Stop sends SIGTERM. The process has to end with status 0.
func (p *Process) Stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatalf("stop: %v\n%s", err, &p.stderr)
	}
	select {
	case <-p.ended:
	case <-time.After(testlimit.Limit):
		p.t.Fatalf("it does not stop\n%s", &p.stderr)
	}
	if p.err != nil {
		p.t.Fatalf("it stopped with %v\n%s", p.err, &p.stderr)
	}
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
