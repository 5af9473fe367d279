package program

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/stream"
)

// Main is the main function of a program of processors. It reads the flags of Config.SetFlags, logs
// to standard error and runs until SIGINT or SIGTERM; a second signal ends the process at once. It
// exits with status 1 after an error. A program with flags of its own, or with TLS or SASL to the
// brokers, calls SetFlags and Run in its place.
func Main(list ...stream.Processor) {
	var cfg Config
	cfg.SetFlags(flag.CommandLine)
	flag.Parse()
	log := zerolog.New(os.Stderr).Level(zerolog.InfoLevel).With().Timestamp().Logger()
	cfg.Runtime.Log = &log
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := Run(ctx, cfg, list...); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
