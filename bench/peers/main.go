package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weirhq/weir/bench/peers/child"
)

func main() { child.Main("peers", run) }

// run runs the comparison of args and writes the table to out, even after an error.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	var b bench
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(log)
	brokers := f.String("brokers", "127.0.0.1:9092", "bootstrap brokers, without TLS and authentication")
	f.Int64Var(&b.events, "events", 20_000_000, "events in the log")
	f.IntVar(&b.campaigns, "campaigns", 100_000, "campaigns")
	f.IntVar(&b.rounds, "rounds", 3, "rounds of all systems")
	threads := f.Int("threads", 2, "workers of weir and stream threads of Kafka Streams")
	memory := f.String("memory", "768MiB", "setting memory of weir")
	f.BoolVar(&b.even, "even", false, "only campaigns with equal traffic, without the Zipf distribution")
	systems := f.String("systems", streams+","+goka, "systems beside weir")
	format := f.String("o", "text", "text or json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if b.events < 1 || b.rounds < 1 || *format != "text" && *format != "json" {
		return errors.New("-events and -rounds are 1 or more, -o is text or json")
	}
	b.systems = strings.Split(*systems, ",")
	for _, s := range b.systems {
		if s != streams && s != goka {
			return fmt.Errorf("-systems: %q is unknown: the systems are %q and %q", s, streams, goka)
		}
	}
	root, err := child.Repository(ctx)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "weir-peers")
	if err != nil {
		return err
	}
	b.programs = programs{root: root, scratch: scratch, brokers: *brokers, threads: *threads, memory: *memory, java: f.Args()}
	b.Runner = child.Runner{Log: log}
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
