//go:build synctests

package processors_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/processorstest"
)

// damagedRow is what the changelog has of the row of damaged, and the input topic does not have.
const damagedRow = "\x01" + damaged

// changelogDamage is a way to damage a batch of log[0].
type changelogDamage struct {
	now   bool // the damage is a batch of its own, and not one that the ledger writes before or later
	apply func(t *testing.T, h *processorstest.Harness)
}

func changelogDamages() map[string]changelogDamage {
	return map[string]changelogDamage{
		"wrong checksum": {false, func(_ *testing.T, h *processorstest.Harness) { h.Damage(damagedRow) }},
		"too large": {true, func(t *testing.T, h *processorstest.Harness) {
			cl := h.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(100<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()))
			bomb := &kgo.Record{Topic: "log", Key: append([]byte{ledger.Table}, "bomb"...), Value: make([]byte, kafka.MaxBatchBytes)}
			if err := cl.ProduceSync(context.Background(), bomb).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

// damageFormat changes the format of the batch in partition 0 of a topic that has a text: its magic
// byte and what follows are not to be found anywhere else. A client goes past such a batch.
func damageFormat(t *testing.T, h *processorstest.Harness, topic, text string) {
	t.Helper()
	cl := h.Client()
	topics, err := kadm.NewClient(cl).ListTopics(context.Background(), topic)
	if err != nil {
		t.Fatal(err)
	}
	found, err := kafka.Fetch(context.Background(), cl, topics[topic], kafka.FetchRange{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for batches := found.RecordBatches; len(batches) > 0; {
		n := 12 + binary.BigEndian.Uint32(batches[8:])
		if bytes.Contains(batches[:n], []byte(text)) {
			h.Damage(string(batches[16:32]))
			return
		}
		batches = batches[n:]
	}
	t.Fatalf("%s[0] lacks %q", topic, text)
}

// TestDamagedChangelog: a partition whose changelog has a damaged batch is stopped where its state
// would be restored over the batch. Nothing of the batch is left out. A process whose store has the
// batch takes the partition over and continues exactly.
func TestDamagedChangelog(t *testing.T) {
	cases := changelogDamages()
	cases["unknown format"] = changelogDamage{false, func(t *testing.T, h *processorstest.Harness) { damageFormat(t, h, "log", damagedRow) }}
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
				p := h.Start("a")
				h.Produce("in", 0, "k", "1", "2")
				h.Produce("in", 0, damaged, "3")
				h.WaitFor("the first records are folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 3 })
				if damage.now {
					damage.apply(t, h)
				}
				h.Produce("in", 0, "k", "4")
				h.WaitFor("a process goes on", time.Minute, func() bool { return p.Status(0).Next["in"] == 4 })
				p.Stop()
				if !damage.now {
					damage.apply(t, h)
				}

				began := time.Now()
				b := h.Start("b")
				h.WaitFor("the partition is stopped", 2*time.Minute, func() bool { return b.Status(0).State == "stopped" })
				for _, want := range []string{"the changelog log[0] is damaged", "the batch of log[0] at offset", "Nothing was skipped", "replica", "savepoint"} {
					if s := b.Status(0); !strings.Contains(s.Reason, want) || s.Unreadable != nil {
						t.Errorf("the reason lacks %q: %s, %+v", want, s.Reason, s.Unreadable)
					}
				}
				if took := time.Since(began); took > 50*time.Second {
					t.Errorf("it took %s to find the damage", took)
				}
				h.WaitFor("the other partitions run", time.Minute, func() bool { return b.Status(1).State == "running" })
				b.Stop()

				p = h.Start("a")
				h.Produce("in", 0, "k", "5")
				h.WaitFor("the process with the batch in its store continues", time.Minute, func() bool { return p.Status(0).Next["in"] == 5 })
				if sum, other := sumInStore(t, p, 0, "k"), sumInStore(t, p, 0, damaged); sum != 12 || other != 3 {
					t.Errorf("the sums are %d and %d, not 12 and 3", sum, other)
				}
			})
		})
	}
}

// TestDamagedChangelogPasses: damage of the changelog that ends before the partition is stopped,
// and damage that ends before its process is restarted, leave nothing behind.
func TestDamagedChangelogPasses(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"before it is stopped": 20 * time.Second, "after it is stopped": time.Minute} {
		t.Run(name, func(t *testing.T) {
			runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
				p := h.Start("a")
				h.Produce("in", 0, "k", "1", "2")
				h.Produce("in", 0, damaged, "3")
				h.WaitFor("the records are folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 3 })
				p.Stop()
				h.Damage(damagedRow)
				b := h.Start("b")
				<-time.After(lasts)
				if s := b.Status(0).State; s == "running" || (s == "stopped") != (lasts > 30*time.Second) {
					t.Errorf("after %s the partition is %s", lasts, s)
				}
				h.Damage("")
				if lasts > 30*time.Second {
					b.Stop()
					b = h.Start("b")
				}
				h.WaitFor("the partition runs", time.Minute, func() bool { return b.Status(0).State == "running" })
				if sum := sumInStore(t, b, 0, damaged); sum != 3 {
					t.Errorf("the sum is %d, not 3", sum)
				}
			})
		})
	}
}

// TestDamagedChangelogOfStandby: a standby that meets a damaged batch keeps its store, reports the
// batch, and goes on once it is whole.
func TestDamagedChangelogOfStandby(t *testing.T) {
	for name, damage := range changelogDamages() {
		t.Run(name, func(t *testing.T) {
			o := unchecked(1)
			processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
				cfg := processors.Config{Workers: 1, Standbys: 1}
				a := h.StartWith("a", cfg, ledger.Processor("in"))
				h.Produce("in", 0, "k", "1", "2")
				h.WaitFor("the records are folded", time.Minute, func() bool { return a.Status(0).Next["in"] == 2 })
				b := h.StartWith("b", cfg, ledger.Processor("in"))
				standby := func() processors.Status {
					for _, s := range b.Runtime().Status() {
						if s.State == processors.StateStandby {
							return s
						}
					}
					return processors.Status{}
				}
				h.WaitFor("the standby has caught up", time.Minute, func() bool { return standby().Next["in"] == 2 })
				damage.apply(t, h)
				h.Produce("in", 0, damaged, "3")
				h.WaitFor("the owner goes on", time.Minute, func() bool { return a.Status(0).Next["in"] == 3 })
				h.WaitFor("the standby has the reason", 2*time.Minute, func() bool { return standby().Damage != "" })
				s := standby()
				if !strings.Contains(s.Damage, "the changelog log[0] is damaged") || s.Next["in"] != 2 || s.Reason != "" {
					t.Errorf("the standby is %+v", s)
				}
				<-time.After(time.Minute)
				if sum := sumInStore(t, b, 0, "k"); sum != 3 || standby().Damage == "" {
					t.Errorf("the standby has lost its store, or its reason: the sum is %d; %+v", sum, standby())
				}
				if damage.now {
					return
				}
				h.Damage("")
				h.WaitFor("the standby follows again", time.Minute, func() bool { s := standby(); return s.Next["in"] == 3 && s.Damage == "" })
			})
		})
	}
}
