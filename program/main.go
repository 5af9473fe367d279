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

// Main is the main function of a program of processors: Config.Main with an empty Config.
func Main(list ...stream.Processor) {
	var cfg Config
	cfg.Main(list...)
}

// Main is the main function of a program of processors. It reads the flags of SetFlags and those
// that the program has added to flag.CommandLine, logs to standard error unless Runtime has a log,
// and runs until SIGINT or SIGTERM; a second signal ends the process at once. It exits with status
// 1 after an error.
func (c *Config) Main(list ...stream.Processor) {
	c.SetFlags(flag.CommandLine)
	flag.Parse()
	if c.Runtime.Log == nil && c.Runtime.Slog == nil {
		log := zerolog.New(os.Stderr).Level(zerolog.InfoLevel).With().Timestamp().Logger()
		c.Runtime.Log = &log
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := Run(ctx, *c, list...); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
