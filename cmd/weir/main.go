package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal stops the command. A second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, cli.Process{
		Args: os.Args[1:], Environ: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}

// run runs a command to its end and returns the exit code.
func run(ctx context.Context, p cli.Process) int {
	a := cli.NewApp(p)
	return a.Execute(ctx, newRoot(a)) //nolint:contextcheck // Execute gives ctx to cobra, and the commands get it from cobra
}
