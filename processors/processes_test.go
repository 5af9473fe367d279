//go:build synctests

package processors_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
)

// running returns the process that runs each partition.
func running(procs ...*processorstest.Process) map[int32]string {
	out := map[int32]string{}
	for _, p := range procs {
		for _, s := range p.Runtime().Status() {
			if s.State == processors.StateRunning {
				out[s.Partition] = p.Name()
			}
		}
	}
	return out
}

// TestSecondProcess: a process with the default of four workers runs all four partitions. A second
// one with an empty disk catches up with two of them before it gets them, so no partition is away
// for longer than a takeover takes. The first one is killed and comes back.
func TestSecondProcess(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		cfg := processors.Config{Workers: 4, RemainInGroup: true}
		start := func(name string) *processorstest.Process {
			return h.StartWith(name, cfg, ledgerOptions(4).Processor)
		}
		a := start("a")
		for p := range int32(4) {
			for i := range 50 {
				h.Produce("in", p, fmt.Sprint("k", i), "1")
			}
		}
		h.WaitFor("one process runs all partitions", time.Minute, func() bool { return len(running(a)) == 4 && a.Status(0).Next["in"] == 50 })
		b := start("b")
		shared := func() bool {
			owned := map[string]int{}
			for _, name := range running(a, b) {
				owned[name]++
			}
			return owned["a"] == 2 && owned["b"] == 2
		}
		longest, since := time.Duration(0), time.Now()
		h.WaitFor("each process runs two partitions", time.Minute, func() bool {
			if len(running(a, b)) == 4 {
				longest, since = max(longest, time.Since(since)), time.Now()
			}
			return shared()
		})
		if longest > 3*time.Second {
			t.Errorf("a partition was away for %s", longest)
		}
		before := running(a, b)
		a.Kill()
		a = start("a")
		h.WaitFor("each process runs two partitions again", time.Minute, shared)
		if after := running(a, b); !maps.Equal(before, after) {
			t.Errorf("after a restart of a process the partitions run in %v, and before in %v", after, before)
		}
	})
}

// TestSpare: of three processes for two partitions the third has none, and logs why. It takes over
// from a process that stops.
func TestSpare(t *testing.T) {
	lines := &logLines{}
	log := zerolog.New(lines)
	o := ledgerOptions(2)
	o.Config.Log, o.Config.Workers = &log, 4
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		a := h.Start("a")
		h.WaitFor("the first process runs both partitions", time.Minute, func() bool { return len(running(a)) == 2 })
		b := h.Start("b")
		h.WaitFor("two processes run one partition each", time.Minute, func() bool { return len(running(a)) == 1 && len(running(b)) == 1 })
		if found := lines.events(t, "process_spare"); len(found) > 0 {
			t.Errorf("two processes for two partitions, and one is a spare: %v", found)
		}
		c := h.Start("c")
		h.WaitFor("the third process is a spare", time.Minute, func() bool { return len(lines.events(t, "process_spare")) > 0 })
		a.Stop()
		h.WaitFor("the spare has taken over", time.Minute, func() bool { return len(running(b)) == 1 && len(running(c)) == 1 })
		h.Start("a")
		h.WaitFor("the process that comes back is the spare", time.Minute, func() bool { return len(lines.events(t, "process_spare")) > 1 })
	})
	spares := lines.events(t, "process_spare")
	if len(spares) != 2 {
		t.Fatalf("%d events, want 2: %v", len(spares), spares)
	}
	for i, name := range []string{"c", "a"} {
		if e := spares[i]; e["process"] != name || e["partitions"] != 2.0 || e["processes"] != 3.0 {
			t.Errorf("event %d is %v, want process %s", i, e, name)
		}
	}
}
