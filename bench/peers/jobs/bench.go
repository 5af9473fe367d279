package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/bench/peers/child"
	"github.com/weirhq/weir/bench/peers/figures"
)

// Names of the systems in the table.
const (
	weir       = "weir"
	river      = "river"
	riverAsync = "river, commits do not wait for the disk"
)

// bench is one comparison.
type bench struct {
	root     string // directory of the repository
	scratch  string // directory of the built programs; removed after the run
	brokers  string
	database string
	duration time.Duration
	rate     int
	rounds   int
	child.Runner

	samples []sample
	missing []figures.Missing
}

// sample is one run of one system.
type sample struct {
	System    string  `json:"-"`
	PerSecond float64 `json:"jobs_per_second"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Peak      int64   `json:"-"` // greatest resident memory of its process in bytes
}

// measure runs the systems in turn. River is left out if it cannot be built, or if its first run
// fails.
func (b *bench) measure(ctx context.Context) error {
	if err := b.Make(ctx, b.root, "go", "build", "-o", filepath.Join(b.scratch, weir), "./cmd/weir"); err != nil {
		return fmt.Errorf("weir's build failed: %w", err)
	}
	b.missing = []figures.Missing{} // JSON gets an empty list, not null
	peers := []string{river, riverAsync}
	if err := b.buildRiver(ctx); err != nil {
		peers = nil
		b.miss(river, err)
	}
	for round := range b.rounds {
		s, err := b.weir(ctx)
		if err != nil {
			return err
		}
		b.note(round, s)
		for _, name := range slices.Clone(peers) {
			s, err := b.river(ctx, name)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				b.miss(fmt.Sprintf("%s, round %d", name, round+1), err)
				peers = slices.DeleteFunc(peers, func(p string) bool { return p == name })
				continue
			}
			b.note(round, s)
		}
	}
	return nil
}

// buildRiver compiles the program of River, a module of its own.
func (b *bench) buildRiver(ctx context.Context) error {
	dir := filepath.Join(b.root, "bench", "peers", "river")
	if err := b.Make(ctx, dir, "go", "build", "-o", filepath.Join(b.scratch, river), "."); err != nil {
		return fmt.Errorf("the module of River could not be fetched, or not be built: %w", err)
	}
	return nil
}

// weir runs `weir bench jobs` for one round.
func (b *bench) weir(ctx context.Context) (sample, error) {
	var rows []struct {
		What   string  `json:"what"`
		Median float64 `json:"median"`
	}
	peak, err := b.ask(ctx, &rows, weir, "bench", "jobs", "--brokers", b.brokers, "--rounds", "1", "--readers", "0", "--parked", "0",
		"--duration", b.duration.String(), "--rate", fmt.Sprint(b.rate), "-o", "json")
	s := sample{System: weir, Peak: peak}
	for _, r := range rows {
		switch {
		case r.What == "life cycles":
			s.PerSecond = r.Median
		case strings.HasSuffix(r.What, "p50"):
			s.P50 = r.Median
		case strings.HasSuffix(r.What, "p99"):
			s.P99 = r.Median
		}
	}
	if err == nil && (s.PerSecond == 0 || s.P50 == 0 || s.P99 == 0) {
		err = fmt.Errorf("weir bench jobs answered without a figure: %v", rows)
	}
	return s, err
}

// river runs the program of River once.
func (b *bench) river(ctx context.Context, name string) (s sample, err error) {
	peak, err := b.ask(ctx, &s, river, "-database", b.database, "-duration", b.duration.String(), "-rate", fmt.Sprint(b.rate),
		fmt.Sprintf("-async=%t", name == riverAsync))
	s.System, s.Peak = name, peak
	return s, err
}

// ask runs a program to its end and decodes its answer, JSON on stdout. It returns the greatest
// resident memory of its process.
func (b *bench) ask(ctx context.Context, into any, name string, args ...string) (peak int64, err error) {
	var out bytes.Buffer
	cmd := b.Command(ctx, filepath.Join(b.scratch, name), args...)
	cmd.Stdout, cmd.Env = &out, os.Environ()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s failed, its output is above: %w", name, err)
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		return 0, fmt.Errorf("%s answered %q: %w", name, out.Bytes(), err)
	}
	return child.Peak(cmd.ProcessState), nil
}

// miss records a system, or a run, without a figure.
func (b *bench) miss(what string, why error) {
	b.missing = append(b.missing, figures.Missing{What: what, Why: why.Error()})
	fmt.Fprintf(b.Log, "%s: %v: not measured\n", what, why)
}

func (b *bench) note(round int, s sample) {
	b.samples = append(b.samples, s)
	fmt.Fprintf(b.Log, "round %d: %s: %.0f jobs/s, p50 %.1f ms, p99 %.1f ms, %s GiB\n", round+1, s.System, s.PerSecond, s.P50, s.P99,
		figures.GiB(s.Peak))
}

// row is a line of the table: one system, medians over its rounds.
type row struct {
	System    string         `json:"system"`
	Rounds    int            `json:"rounds"`
	PerSecond figures.Spread `json:"jobs_per_second"`
	Ratio     float64        `json:"weir_ratio"` // weir's jobs/s divided by this system's, of the medians
	P50       figures.Spread `json:"p50_ms"`
	P99       figures.Spread `json:"p99_ms"`
	Peak      int64          `json:"peak_bytes"` // of a round; 0: unknown
}

// tabulate returns a row for each system, in the order of their first samples. Weir is the first.
func tabulate(samples []sample) (rows []row) {
	var order []string
	for _, s := range samples {
		if !slices.Contains(order, s.System) {
			order = append(order, s.System)
		}
	}
	for _, name := range order {
		var speeds, p50, p99 []float64
		var peak int64
		for _, s := range samples {
			if s.System == name {
				speeds, p50, p99, peak = append(speeds, s.PerSecond), append(p50, s.P50), append(p99, s.P99), max(peak, s.Peak)
			}
		}
		r := row{
			System: name, Rounds: len(speeds), PerSecond: figures.SpreadOf(speeds).Hundredths(),
			P50: figures.SpreadOf(p50).Hundredths(), P99: figures.SpreadOf(p99).Hundredths(), Peak: peak,
		}
		rows = append(rows, r)
		rows[len(rows)-1].Ratio = figures.Hundredths(rows[0].PerSecond.Median / r.PerSecond.Median)
	}
	return rows
}
