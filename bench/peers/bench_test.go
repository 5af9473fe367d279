package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/bench/peers/child"
	"github.com/weirhq/weir/bench/peers/totals"
	"github.com/weirhq/weir/events/loadgen"
)

func TestHolds(t *testing.T) {
	const n = 50_000
	cfg := loadgen.BenchConfig{Campaigns: 1000}
	got, err := holds(t.Context(), cfg, n)
	if err != nil {
		t.Fatal(err)
	}
	gen, err := loadgen.NewBench(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		gen.Append(nil)
	}
	// The first events are from before midnight, so a campaign has up to two days.
	if got.Events != n || got.Micros != gen.Stats().Micros || got.Keys < 1000 || got.Keys > 2000 {
		t.Errorf("a log of %d events and %d micros over 1,000 campaigns holds %+v", n, gen.Stats().Micros, got)
	}
	if again, err := holds(t.Context(), cfg, n); err != nil || again != got {
		t.Errorf("second count: %+v, %v, want %+v", again, err, got)
	}
}

// program writes a program into b's scratch directory that prints answer and records its arguments.
func program(t *testing.T, b *bench, name string, answer any) (args func() string) {
	t.Helper()
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(b.scratch, name)
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>%s.args\ncat <<'END'\n%s\nEND\n", file, text)
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return func() string {
		text, err := os.ReadFile(file + ".args")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{
		programs: programs{scratch: t.TempDir(), brokers: "b:1", threads: 3, Runner: child.Runner{Log: &bytes.Buffer{}}},
		events:   4000, campaigns: 10, rounds: 2,
	}
	b.peers = b.all()[1:] // without Kafka Streams
	return b
}

// turns runs the second round of b.
func turns(t *testing.T, b *bench, want totals.Totals) error {
	t.Helper()
	for _, commit := range []time.Duration{often, seldom} {
		if err := b.turn(t.Context(), sample{round: 1, commit: commit}, loadgen.Even, want); err != nil {
			return err
		}
	}
	return nil
}

func TestTurns(t *testing.T) {
	b := newBench(t)
	want := totals.Totals{Keys: 10, Micros: 5, Events: 4000, Digest: 1}
	weirArgs := program(t, b, "weir", []spend{{Log: "the.log", Keys: "10 even", Bare: 300, PerSecond: 200}})
	gokaArgs := program(t, b, "goka", answer{PerSecond: 10, Totals: want})
	if err := turns(t, b, want); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range b.samples {
		if known := s.peak > 0; known != (s.system != bare) && runtime.GOOS == "linux" {
			t.Errorf("%s used %d bytes", s.system, s.peak)
		}
		got = append(got, fmt.Sprintf("%s %s %d %s %v", s.keys, s.commit, s.round, s.system, s.perSecond))
	}
	const samples = "10 even 100ms 1 weir 200, 10 even 100ms 1 bare consumer 300, 10 even 1s 1 weir 200, 10 even 1s 1 bare consumer 300, 10 even 1s 1 goka 10"
	if s := strings.Join(got, ", "); s != samples {
		t.Errorf("samples %s, want %s", s, samples)
	}
	const line = "bench spend --brokers b:1 --rounds 1 --workers 3 --commit-interval %s --commit-interval-max %[1]s -o json --events 4000 --campaigns 10 --zipf -1\n"
	if got, want := weirArgs(), fmt.Sprintf(line, "100ms")+fmt.Sprintf(line, "1s"); got != want {
		t.Errorf("weir ran with\n%swant\n%s", got, want)
	}
	if got, want := gokaArgs(), "-brokers b:1 -topic the.log -commit 1s\n"; got != want {
		t.Errorf("goka ran with\n%swant\n%s", got, want)
	}
}

func TestMiscountingPeerHasNoFigure(t *testing.T) {
	want := totals.Totals{Keys: 10, Micros: 5, Events: 4000, Digest: 1}
	for name, wrong := range map[string]totals.Totals{
		"an event too many":   {Keys: 10, Micros: 5, Events: 4001, Digest: 1},
		"money of other keys": {Keys: 10, Micros: 5, Events: 4000, Digest: 2},
		"nothing":             {},
	} {
		b := newBench(t)
		program(t, b, "weir", []spend{{Log: "the.log", Keys: "10 even", Bare: 300, PerSecond: 200}})
		program(t, b, "goka", answer{PerSecond: 10, Totals: wrong})
		if err := turns(t, b, want); err != nil {
			t.Errorf("%s: error %v: the other systems should run", name, err)
		}
		if len(b.missing) != 1 || b.missing[0].What != "goka, 10 even, 1s, round 2" || !strings.Contains(b.missing[0].Why, "counted") {
			t.Errorf("%s: missing %v, want the run that miscounted", name, b.missing)
		}
		for _, s := range b.samples {
			if s.system == goka {
				t.Errorf("%s: the report has the figure", name)
			}
		}
	}
}

// broken writes a program into b's scratch directory that fails.
func broken(t *testing.T, b *bench, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.scratch, name), []byte("#!/bin/sh\necho error text >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestFailingProgram(t *testing.T) {
	b := newBench(t)
	broken(t, b, "weir")
	if err := turns(t, b, totals.Totals{}); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("weir failed; error %v, want its exit status", err)
	}
	program(t, b, "weir", []spend{{Log: "the.log", Keys: "10 even", Bare: 300, PerSecond: 200}})
	broken(t, b, "goka")
	if err := turns(t, b, totals.Totals{}); err != nil {
		t.Errorf("goka failed; error %v: the other systems should run", err)
	}
	if len(b.missing) != 1 || !strings.Contains(b.missing[0].Why, "exit status 3") {
		t.Errorf("missing %v, want goka's run with its exit status", b.missing)
	}
	if text := b.Log.(*bytes.Buffer).String(); strings.Count(text, "error text") != 2 {
		t.Errorf("the output of the programs is lost: %q", text)
	}
}
