package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/bench/peers/child"
)

func main() { child.Main("mirrors", run) }

// run runs the comparison of args and writes the tables to out, even after an error.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	b := bench{Runner: child.Runner{Log: log}}
	source, target, format, err := b.parse(args)
	if err != nil {
		return err
	}
	if b.root, err = child.Repository(ctx); err != nil {
		return err
	}
	if b.scratch, err = os.MkdirTemp("", "weir-mirrors"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.scratch) }()
	for into, addr := range map[**cluster]string{&b.source: source, &b.target: target} {
		c, err := connect(ctx, addr)
		if err != nil {
			return fmt.Errorf("broker %s: %w", addr, err)
		}
		defer c.close()
		*into = c
	}
	r, err := b.run(ctx)
	if !r.empty() {
		write := r.writeText
		if format == "json" {
			write = r.writeJSON
		}
		err = errors.Join(err, write(out))
	}
	return err
}

// parse reads the flags and the properties of MirrorMaker.
func (b *bench) parse(args []string) (source, target, format string, err error) {
	f := flag.NewFlagSet("mirrors", flag.ContinueOnError)
	f.SetOutput(b.Log)
	f.StringVar(&source, "source", "127.0.0.1:9092", "broker that has the log, without TLS and authentication")
	f.StringVar(&target, "target", "127.0.0.1:9192", "broker of another Kafka that gets the copies")
	f.Int64Var(&b.events, "events", 10_000_000, "events in the log")
	f.IntVar(&b.rounds, "rounds", 3, "rounds of all systems")
	f.IntVar(&b.kills, "kills", 3, "number of times that a copier is killed during a copy")
	f.Int64Var(&b.rate, "rate", 0, "events per second for the latency; 0: half of what the slowest system copies")
	f.DurationVar(&b.warmup, "warmup", 20*time.Second, "time at that rate before the latency is measured")
	f.DurationVar(&b.duration, "duration", 30*time.Second, "time for which the latency is measured")
	f.IntVar(&b.tasks, "tasks", 2, "tasks.max of MirrorMaker")
	f.StringVar(&b.memory, "memory", "768MiB", "setting memory of weir")
	settings := f.String("settings", "", "settings of weir, such as WEIR_PROCESSOR_COMMIT_INTERVAL_MAX=100ms, separated by spaces")
	f.StringVar(&b.jvm, "jvm", defaultJVM, "options of the Java virtual machine of MirrorMaker")
	parts := f.String("measure", strings.Join(allParts(), ","), "what is measured")
	systems := f.String("systems", strings.Join(allSystems(), ","), "systems that are measured")
	f.StringVar(&format, "o", "text", "text or json")
	if err := f.Parse(args); err != nil {
		return "", "", "", err
	}
	b.parts, b.systems, b.properties = strings.Split(*parts, ","), strings.Split(*systems, ","), f.Args()
	b.settings = strings.Fields(*settings)
	switch {
	case b.events < 1000 || b.rounds < 1 || b.kills < 1 || b.tasks < 1 || b.rate < 0:
		err = errors.New("-events is 1000 or more, -rounds, -kills and -tasks are 1 or more, and -rate is not negative")
	case b.warmup <= 0 || b.duration <= 0:
		err = errors.New("-warmup and -duration are greater than 0")
	case format != "text" && format != "json":
		err = errors.New("-o is text or json")
	case source == target:
		err = errors.New("-source and -target are different Kafkas: weir's mirror refuses to copy a Kafka into itself")
	}
	for _, list := range []struct {
		flag         string
		given, known []string
	}{{"-measure", b.parts, allParts()}, {"-systems", b.systems, allSystems()}} {
		for _, name := range list.given {
			if !slices.Contains(list.known, name) {
				err = errors.Join(err, fmt.Errorf("%s: %q is unknown: use %q", list.flag, name, list.known))
			}
		}
	}
	for _, p := range b.properties {
		if !strings.Contains(p, "=") {
			err = errors.Join(err, fmt.Errorf("%q is not a property of MirrorMaker: write name=value", p))
		}
	}
	return source, target, format, err
}
