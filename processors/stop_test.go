//go:build synctests

package processors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
)

// unchecked are options for tests that change offsets or topics behind the processor's back.
func unchecked(partitions int32) processorstest.Options {
	o := ledgerOptions(partitions)
	o.NoChecks, o.Config.Workers = true, 1
	return o
}

// TestOffsetsExpired: a group whose offsets the brokers have deleted continues from the offsets of
// the state.
func TestOffsetsExpired(t *testing.T) {
	processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
		foldThree(h)
		if _, err := kadm.NewClient(h.Client()).DeleteGroup(context.Background(), ledger.App); err != nil {
			t.Fatal(err)
		}
		h.Produce("in", 0, "k", "4")
		p := h.Start("a")
		h.WaitFor("the rest is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 4 })
		p.Stop()
		if n := len(h.Records("out")); n != 4 {
			t.Errorf("%d outputs of 4 inputs", n)
		}
	})
}

// TestStopsPartition: offsets that were changed from outside, and a log that does not fit the
// state, stop the partition. The reason states the difference.
func TestStopsPartition(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, h *processorstest.Harness) // after foldThree
		want   []string                                      // in the reason
	}{
		"group offset changed": {func(t *testing.T, h *processorstest.Harness) {
			var offsets kadm.Offsets
			offsets.Add(kadm.Offset{Topic: "in", Partition: 0, At: 1, LeaderEpoch: -1})
			if err := kadm.NewClient(h.Client()).CommitAllOffsets(context.Background(), ledger.App, offsets); err != nil {
				t.Fatal(err)
			}
		}, []string{"offset 1", "the state is at 3"}},
		"retention deleted unread records": {func(_ *testing.T, h *processorstest.Harness) {
			h.Produce("in", 0, "k", "4", "5", "6")
			h.DeleteRecords("in", 0, 5)
		}, []string{"offsets 3 to 4 are gone: 2 records"}},
		"changelog truncated": {func(t *testing.T, h *processorstest.Harness) {
			partialCommit{store: 3, shift: 100}.changeStore(t, h)
		}, []string{"the log was cut or replaced"}},
		"topic created again": {func(t *testing.T, h *processorstest.Harness) {
			if err := errors.Join(h.Cluster.DeleteTopic("in"), h.Cluster.CreateTopic("in", 4, nil)); err != nil {
				t.Fatal(err)
			}
			cl := h.Client(kgo.RecordPartitioner(kgo.ManualPartitioner())) // the harness's own client knows the former topic
			for i := range 4 {
				if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: "in", Key: []byte("k"), Value: fmt.Append(nil, 7+i)}).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
		}, []string{"created again"}},
	} {
		t.Run(name, func(t *testing.T) {
			processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
				foldThree(h)
				c.damage(t, h)
				p := h.Start("a")
				h.WaitFor("the partition is stopped", time.Minute, func() bool { return p.Status(0).State == "stopped" })
				for _, want := range c.want {
					if s := p.Status(0); !strings.Contains(s.Reason, want) {
						t.Errorf("the reason is %q, without %q", s.Reason, want)
					}
				}
			})
		})
	}
}

// TestOtherChangelog: a configuration that names another changelog stops the partition, with a
// store and without. The reason names the former changelog, and gives no advice to delete anything.
func TestOtherChangelog(t *testing.T) {
	for _, disk := range []string{"a", "empty"} {
		t.Run(disk, func(t *testing.T) {
			processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
				foldThree(h)
				if err := h.Cluster.CreateTopic("other", 4, nil); err != nil {
					t.Fatal(err)
				}
				proc := ledger.Processor("in")
				proc.Changelog = "other"
				p := h.StartWith(disk, processors.Config{Workers: 1}, proc)
				h.WaitFor("the partition is stopped", time.Minute, func() bool { return p.Status(0).State == "stopped" })
				if s := p.Status(0); !strings.Contains(s.Reason, "belongs to changelog log, and the configuration names other") || strings.Contains(s.Reason, "created again") {
					t.Errorf("the reason is %q", s.Reason)
				}
				if got := h.Records("other"); len(got) > 8 { // barriers alone
					t.Errorf("%d records in the wrong changelog", len(got))
				}
			})
		})
	}
}

// TestStateDirectoryLocked: a second process cannot use the state directory of a running one.
func TestStateDirectoryLocked(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		p := h.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
		h.WaitFor("the process runs", time.Minute, func() bool { return p.Status(0).State == "running" })
		second := h.StartWith("b", processors.Config{Workers: 1, FS: h.Disk("a")}, ledger.Processor("in"))
		if err := second.Await(); !errors.Is(err, processors.ErrLocked) || !strings.Contains(err.Error(), "instance a") {
			t.Errorf("the second process ended with %v", err)
		}
	})
}

// TestTopicsChecked: missing topics and wrong numbers of partitions are reported before anything is
// written. A topic that appears within TopicsWait is not an error.
func TestTopicsChecked(t *testing.T) {
	processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
		cfg := processors.Config{Workers: 1}
		proc := ledger.Processor("in")
		proc.Partitions = 5
		if err := h.StartWith("a", cfg, proc).Await(); !errors.Is(err, processors.ErrTopics) || !strings.Contains(err.Error(), "needs 5") {
			t.Errorf("topics with 4 partitions instead of 5: %v", err)
		}
		proc.Partitions = 3 // the state has 4 partitions
		if err := h.StartWith("a", cfg, proc).Await(); !errors.Is(err, processors.ErrTopics) || !strings.Contains(err.Error(), "log has 4 partitions, ledger needs 3") {
			t.Errorf("a changelog with 4 partitions instead of 3: %v", err)
		}
		began := time.Now()
		err := h.StartWith("a", cfg, ledger.Processor("missing")).Await()
		if !errors.Is(err, processors.ErrTopics) || !strings.Contains(err.Error(), "do not exist: missing. ") {
			t.Errorf("a missing topic: %v", err)
		}
		if took := time.Since(began); took < processors.TopicsWait || took > processors.TopicsWait+time.Second {
			t.Errorf("it waited for %s, not %s", took, processors.TopicsWait)
		}
		p := h.StartWith("a", cfg, ledger.Processor("late"))
		time.Sleep(2 * time.Second)
		if err := h.Cluster.CreateTopic("late", 4, nil); err != nil {
			t.Fatal(err)
		}
		h.WaitFor("the process runs once the topic exists", time.Second, func() bool { return p.Status(3).State == "running" })
		p.Stop()
		if err := h.Cluster.CreateTopic("wide", 8, nil); err != nil {
			t.Fatal(err)
		}
		if err := h.StartWith("a", cfg, ledger.Processor("in", "wide")).Await(); !errors.Is(err, processors.ErrTopics) {
			t.Errorf("inputs with 4 and 8 partitions: %v", err)
		}
	})
}
