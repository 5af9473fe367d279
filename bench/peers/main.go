package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal has the system's own effect
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run measures what args ask for and writes the table to out, also that of a run that ended early.
func run(ctx context.Context, args []string, out, talk io.Writer) error {
	var b bench
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(talk)
	brokers := f.String("brokers", "127.0.0.1:9092", "brokers to ask first, without encryption or sign-in")
	f.Int64Var(&b.events, "events", 20_000_000, "events in the log")
	f.IntVar(&b.campaigns, "campaigns", 100_000, "campaigns")
	f.IntVar(&b.rounds, "rounds", 3, "rounds of all systems")
	threads := f.Int("threads", 2, "weir's sessions and Kafka Streams' threads")
	format := f.String("o", "text", "text or json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if b.events < 1 || b.rounds < 1 || *format != "text" && *format != "json" {
		return errors.New("-events and -rounds are 1 or more, -o is text or json")
	}
	root, err := repository(ctx)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "weir-peers")
	if err != nil {
		return err
	}
	b.programs = programs{root: root, scratch: scratch, brokers: *brokers, threads: *threads, talk: talk, java: f.Args()}
	r, err := b.run(ctx)
	if len(r.Rows) > 0 {
		write := r.writeText
		if *format == "json" {
			write = r.writeJSON
		}
		err = errors.Join(err, write(out))
	}
	return errors.Join(err, os.RemoveAll(scratch))
}

// repository finds weir's own directory, from which the programs are built.
func repository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/weirhq/weir").Output()
	if err != nil {
		return "", fmt.Errorf("cannot find weir's repository, run this in it: %w", err)
	}
	return filepath.Clean(strings.TrimSpace(string(out))), nil
}
