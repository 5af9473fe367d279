package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop; from then on a second one has the system's own effect, which is at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, process{
		args: os.Args[1:], environ: os.Environ(),
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
	}))
}

// process is what the operating system gives a program. A test gives its own.
type process struct {
	args    []string // without the program's name
	environ []string // "NAME=value"
	stdin   io.Reader
	stdout  io.Writer // data only
	stderr  io.Writer // everything else
}

// run runs one command to its end and returns the exit code.
func run(ctx context.Context, p process) int {
	a := newApp(p)
	return a.execute(ctx, newRoot(a)) //nolint:contextcheck // execute gives ctx to cobra, the commands take it from there
}
