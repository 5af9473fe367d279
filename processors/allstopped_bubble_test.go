//go:build synctests

package processors_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// failing returns a processor that cannot handle records with the value bad.
func failing() stream.Processor {
	return stream.Processor{App: "failing", Inputs: []string{"in"}, New: stream.EachRecord(func(_ *stream.Context, r *stream.Record) error {
		if string(r.Value) == "bad" {
			return errors.New("no rate for this currency")
		}
		return nil
	})}
}

// stopAll runs f with a process whose two partitions have stopped, each after a record that its
// function cannot handle. since is when the second one stopped.
func stopAll(t *testing.T, cfg processors.Config, f func(h *processorstest.Harness, a *processorstest.Process, since time.Time)) {
	t.Helper()
	o := processorstest.Options{Processor: failing(), Partitions: 2, Brokers: 1, NoChecks: true, CheckInterval: time.Second}
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		a := h.StartWith("a", cfg, failing())
		h.Produce("in", 0, "k", "bad")
		stopped := func(p int32) func() bool {
			return func() bool { return a.Status(p).State == processors.StateStopped }
		}
		h.WaitFor("one partition is stopped", time.Minute, stopped(0))
		<-time.After(2 * time.Minute)
		if a.Ended() || a.Status(1).State != processors.StateRunning {
			t.Fatalf("with one stopped partition of two: %+v", a.Runtime().Status())
		}
		h.Produce("in", 1, "k", "bad")
		h.WaitFor("the other one is stopped", time.Minute, stopped(1))
		f(h, a, time.Now())
	})
}

// TestAllStopped: with EndStopped, Run ends a minute after the last partition of its process has
// stopped. Until then Status has the reason of each. The partitions continue in a process with a
// corrected function.
func TestAllStopped(t *testing.T) {
	stopAll(t, processors.Config{Workers: 2, EndStopped: true}, func(h *processorstest.Harness, a *processorstest.Process, since time.Time) {
		for p := range int32(2) {
			if s := a.Status(p); !strings.Contains(s.Reason, "6 tries in a row failed") || !strings.Contains(s.Reason, "no rate for this currency") {
				t.Errorf("the reason of partition %d is %q", p, s.Reason)
			}
			err := a.Runtime().ReadPartition(t.Context(), p, func(processors.PartitionState) error { return nil })
			if !errors.Is(err, processors.ErrStopped) || !strings.Contains(err.Error(), "no rate for this currency") {
				t.Errorf("a read of partition %d: %v", p, err)
			}
		}
		err := a.Await()
		for _, want := range []string{"failing", "partition 0", "no rate for this currency", "1 more", "restart"} {
			if !errors.Is(err, processors.ErrAllStopped) || !strings.Contains(err.Error(), want) {
				t.Errorf("Run returned %v, without %q", err, want)
			}
		}
		if after := time.Since(since); after < 59*time.Second || after > 63*time.Second {
			t.Errorf("Run ended %s after the last partition had stopped", after)
		}
		proc := failing()
		proc.New = stream.EachRecord(func(*stream.Context, *stream.Record) error { return nil })
		b := h.StartWith("b", processors.Config{Workers: 1}, proc)
		h.WaitFor("a corrected process continues", time.Minute, func() bool { return b.Status(0).Next["in"] == 1 && b.Status(1).Next["in"] == 1 })
	})
}

// TestStoppedStays: without EndStopped, stopped partitions stay in their process, with their
// reasons.
func TestStoppedStays(t *testing.T) {
	stopAll(t, processors.Config{Workers: 1}, func(h *processorstest.Harness, a *processorstest.Process, _ time.Time) {
		<-time.After(3 * time.Minute)
		if a.Ended() {
			t.Fatal("the process has ended")
		}
		for p := range int32(2) {
			if s := a.Status(p); s.State != processors.StateStopped || !strings.Contains(s.Reason, "no rate for this currency") {
				t.Errorf("partition %d is %s: %q", p, s.State, s.Reason)
			}
		}
	})
}

// TestNoneAssigned: a process that has no partition runs on, and so does one whose partitions wait
// for an instruction to skip, which it then carries out.
func TestNoneAssigned(t *testing.T) {
	o := unchecked(1)
	o.Brokers, o.CheckInterval, o.Config.EndStopped = 1, time.Second, true
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		foldThree(h)
		h.Produce("in", 0, "k", "4", "5", "6")
		h.DeleteRecords("in", 0, 5)
		a := h.Start("a")
		h.WaitFor("the partition is stopped", time.Minute, func() bool { return a.Status(0).State == processors.StateStopped })
		b := h.Start("b")
		<-time.After(3 * time.Minute)
		if a.Ended() || b.Ended() {
			t.Fatalf("a process has ended: %t, %t", a.Ended(), b.Ended())
		}
		skip(t, h, 5)
		h.WaitFor("the partition continues", time.Minute, func() bool { return a.Status(0).Next["in"] == 6 })
	})
}

// TestStoppedBehindSkip: a partition that waits for an instruction to skip cannot be taken over
// when its changelog has a new record. Then it waits for a restart, and Run ends.
func TestStoppedBehindSkip(t *testing.T) {
	o := unchecked(1)
	o.Brokers, o.CheckInterval, o.Config.EndStopped = 1, time.Second, true
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		foldThree(h)
		h.Produce("in", 0, "k", "4", "5", "6")
		h.DeleteRecords("in", 0, 5)
		a := h.Start("a")
		reason := func(text string) func() bool {
			return func() bool {
				s := a.Status(0)
				return s.State == processors.StateStopped && strings.Contains(s.Reason, text)
			}
		}
		h.WaitFor("the input cannot be read", time.Minute, reason("in[0]"))
		changelogDamages()["too large"].apply(t, h)
		h.WaitFor("the changelog cannot be read", 2*time.Minute, reason("the changelog log[0] is damaged"))
		h.WaitFor("Run ends", 2*time.Minute, a.Ended)
		if err := a.Await(); !errors.Is(err, processors.ErrAllStopped) {
			t.Errorf("Run returned %v", err)
		}
	})
}
