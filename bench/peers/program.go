package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weirhq/weir/bench/peers/child"
	"github.com/weirhq/weir/bench/peers/totals"
)

// Names of the systems in the table.
const (
	weir    = "weir"
	bare    = "bare consumer"
	streams = "kafka streams"
	goka    = "goka"
)

// programs builds and runs the programs that are compared.
type programs struct {
	root         string // directory of the repository
	scratch      string // directory of the built programs; removed after the run
	brokers      string
	threads      int
	memory       string   // of weir, as the setting memory
	java         []string // additional arguments of the Kafka Streams program
	child.Runner          // its log has the output of the programs other than their answer
}

// answer is the output of a peer: its speed and its totals.
type answer struct {
	PerSecond float64 `json:"events_per_second"`
	Peak      int64   `json:"-"` // greatest resident memory of its process in bytes
	totals.Totals
}

// spend is a row of `weir bench spend -o json`.
type spend struct {
	Log       string  `json:"log"`
	Keys      string  `json:"keys"`
	Bare      float64 `json:"bare_per_second"`
	PerSecond float64 `json:"exactly_once_per_second"`
	Peak      int64   `json:"-"` // greatest resident memory of the process in bytes
}

// buildWeir compiles weir.
func (p *programs) buildWeir(ctx context.Context) error {
	return p.Make(ctx, p.root, "go", "build", "-o", filepath.Join(p.scratch, "weir"), "./cmd/weir")
}

// buildStreams compiles and tests the Kafka Streams program.
func (p *programs) buildStreams(ctx context.Context) error {
	return p.Maven(ctx, p.streamsDir(), "Kafka Streams")
}

// buildGoka compiles the goka program. The program is a module of its own. The build works on a
// copy of its go.mod and go.sum, which the go command may complete, because weir's requirements
// change independently.
func (p *programs) buildGoka(ctx context.Context) error {
	dir, mod := filepath.Join(p.root, "bench", "peers", "goka"), filepath.Join(p.scratch, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.scratch, name), text, 0o600); err != nil {
			return err
		}
	}
	if err := p.Make(ctx, dir, "go", "mod", "download", "-modfile="+mod, "github.com/lovoo/goka"); err != nil {
		return fmt.Errorf("the module of goka could not be fetched: %w", err)
	}
	if err := p.Make(ctx, dir, "go", "build", "-mod=mod", "-modfile="+mod, "-o", filepath.Join(p.scratch, "goka"), "."); err != nil {
		return fmt.Errorf("the build of goka failed: %w", err)
	}
	return nil
}

func (p *programs) streamsDir() string {
	return filepath.Join(p.root, "bench", "peers", "kafkastreams")
}

// weir runs `weir bench spend` for one round.
func (p *programs) weir(ctx context.Context, commit time.Duration, args ...string) (spend, error) {
	var rows []spend
	args = append([]string{
		"bench", "spend", "--brokers", p.brokers, "--rounds", "1", "--workers", fmt.Sprint(p.threads),
		"--commit-interval", commit.String(), "--commit-interval-max", commit.String(), "-o", "json",
	}, args...)
	peak, err := p.ask(ctx, &rows, filepath.Join(p.scratch, "weir"), args...)
	if err != nil {
		return spend{}, err
	}
	if len(rows) != 1 {
		return spend{}, fmt.Errorf("weir bench spend answered %d rows, want one", len(rows))
	}
	rows[0].Peak = peak
	return rows[0], nil
}

// streams runs the Kafka Streams program once.
func (p *programs) streams(ctx context.Context, j job) (a answer, err error) {
	target := filepath.Join(p.streamsDir(), "target")
	args := append([]string{
		"-cp", filepath.Join(target, "peer.jar") + string(os.PathListSeparator) + filepath.Join(target, "lib", "*"), "weir.peers.Main",
		"--brokers", p.brokers, "--topic", j.log, "--commit-ms", fmt.Sprint(j.commit.Milliseconds()), "--threads", fmt.Sprint(p.threads),
	}, p.java...)
	a.Peak, err = p.ask(ctx, &a, "java", args...)
	return a, err
}

// goka runs the goka program once.
func (p *programs) goka(ctx context.Context, j job) (a answer, err error) {
	a.Peak, err = p.ask(ctx, &a, filepath.Join(p.scratch, "goka"), "-brokers", p.brokers, "-topic", j.log, "-commit", j.commit.String())
	return a, err
}

// ask runs a program to its end and decodes its answer, JSON on stdout. It returns the greatest
// resident memory of its process.
func (p *programs) ask(ctx context.Context, into any, name string, args ...string) (peak int64, err error) {
	var out bytes.Buffer
	cmd := p.Command(ctx, name, args...)
	cmd.Stdout, cmd.Env = &out, append(os.Environ(), "WEIR_MEMORY="+p.memory)
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s failed, its output is above: %w", filepath.Base(name), err)
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		return 0, fmt.Errorf("%s answered %q: %w", filepath.Base(name), out.Bytes(), err)
	}
	return child.Peak(cmd.ProcessState), nil
}
