package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// settings are those of `weir bench jobs` with the same names.
type settings struct {
	submitters, batch, payload, rate int
	duration                         time.Duration
	database                         string
	async                            bool // commits do not wait for the disk
}

// answer is the output for the calling program.
type answer struct {
	PerSecond float64 `json:"jobs_per_second"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var s settings
	flag.StringVar(&s.database, "database", "postgres://postgres@127.0.0.1:5432/weir_bench", "URL of the database, whose jobs are deleted")
	flag.BoolVar(&s.async, "async", false, "commits do not wait for the disk: synchronous_commit=off")
	flag.IntVar(&s.submitters, "submitters", 4, "submitters")
	flag.IntVar(&s.batch, "batch", 500, "jobs of an insert")
	flag.IntVar(&s.payload, "payload", 100, "bytes of a job")
	flag.IntVar(&s.rate, "rate", 1000, "jobs per second of the measurement of the latency")
	flag.DurationVar(&s.duration, "duration", 30*time.Second, "duration of each measurement; a third more passes before, untimed")
	flag.Parse()
	a, err := s.run(ctx)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(a)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		stop()
		os.Exit(1)
	}
}

// run measures the latency, and then life cycles, each in an empty table.
func (s *settings) run(ctx context.Context) (a answer, err error) {
	if a.P50, a.P99, err = s.latency(ctx); err == nil {
		a.PerSecond, err = s.lifeCycles(ctx)
	}
	return a, err
}
