//go:build synctests

package offline

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// TestReplaySkips: a replay leaves out the range that the live processor has skipped, whether it
// begins before the range or at a savepoint behind it, and a promotion keeps the range.
func TestReplaySkips(t *testing.T) {
	runLedger(t, 1, func(t *testing.T, w *fixture) {
		fs, ctx, proc := w.Disk("a"), context.Background(), ledger.Processor("in")
		w.foldThree()
		large := w.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(100<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()))
		if err := large.ProduceSync(ctx, &kgo.Record{Topic: "in", Value: make([]byte, kafka.MaxBatchBytes)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		w.Produce("in", 0, "k", "4")
		p := w.Start("a")
		w.WaitFor("the partition is stopped", time.Minute, func() bool { return p.Status(0).State == processors.StateStopped })
		plan, err := kafkaadmin.PlanSkip(ctx, w.Kafka(), &proc, kafkaadmin.Skip{Topic: "in", To: 4, Who: "me", Why: "a bomb"})
		if err == nil {
			err = kafkaadmin.ApplySkip(ctx, w.Kafka(), plan, 10*time.Second)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.WaitFor("the record behind is folded", time.Minute, folded(p, 5))
		behind, err := TakeSavepoint(ctx, p.Runtime(), "behind")
		if err != nil {
			t.Fatal(err)
		}
		w.Produce("in", 0, "k", "5")
		w.WaitFor("another record is folded", time.Minute, folded(p, 6))
		last, err := TakeSavepoint(ctx, p.Runtime(), "last")
		if err != nil {
			t.Fatal(err)
		}
		p.Stop()
		before := w.replay(fs, proc, "before")
		if err := before.Prepare(ctx, ReplayStart{}); err != nil {
			t.Fatal(err)
		}
		for _, sp := range []*Savepoint{behind, last} { // the second Run reads the inputs again
			if err := before.RunTo(ctx, sp, nil); err != nil {
				t.Fatal(err)
			}
			if diff := w.unequal(before, sp); diff != nil {
				t.Errorf("up to %s: differs in %v", sp.Name, diff)
			}
		}
		if _, err := before.Promote(ctx, Promotion{Commit: true}); err != nil {
			t.Fatal(err)
		}
		after := w.replay(fs, proc, "after")
		if err := after.Prepare(ctx, ReplayStart{Savepoint: "behind"}); err != nil {
			t.Fatal(err)
		}
		if err := after.RunTo(ctx, last, nil); err != nil {
			t.Fatal(err)
		}
		p = w.Start("a")
		w.Produce("in", 0, "k", "6")
		w.WaitFor("the live processor continues", time.Minute, folded(p, 7))
		if s := p.Status(0).Skipped; len(s) != 1 || w.sum(p, 0, "k") != 21 {
			t.Errorf("the sum is %d, not 21; skipped: %+v", w.sum(p, 0, "k"), s)
		}
	})
}
