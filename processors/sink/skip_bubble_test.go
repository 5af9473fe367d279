//go:build synctests

package sink

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// damaged is the key of a record whose batch has a wrong checksum while the cluster damages it.
const damaged = "key-of-damage"

// sendBomb writes a record to partition 0 that decompresses to more than the clients accept.
func (w *sinkRun) sendBomb() {
	w.t.Helper()
	cl, err := kgo.NewClient(append(w.c.Link().Options(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(100<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()))...)
	if err != nil {
		w.t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: make([]byte, kafka.MaxBatchBytes)}).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *sinkRun) kafka() kafka.Cluster { return kafka.Cluster{Options: w.c.Link().Options()} }

// planSkip plans a skip of partition 0.
func (w *sinkRun) planSkip(to int64) (*kafkaadmin.SkipPlan, error) {
	return kafkaadmin.PlanSinkSkip(context.Background(), w.kafka(), &stream.Sink{Group: group, Topic: topic}, kafkaadmin.Skip{Topic: topic, To: to, Who: "me", Why: "a bomb"})
}

// await waits in virtual time.
func (w *sinkRun) await(what string, limit time.Duration, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// unreadables are ranges of partition 0 that cannot be read: offset 2, or offsets 2 and 3.
func unreadables() map[string]struct {
	make func(w *sinkRun)
	to   int64
} {
	return map[string]struct {
		make func(w *sinkRun)
		to   int64
	}{
		"too large": {(*sinkRun).sendBomb, 3},
		"wrong checksum": {func(w *sinkRun) {
			w.c.Damage(damaged)
			w.send(0, damaged)
		}, 3},
		"deleted": {func(w *sinkRun) {
			w.send(0, "c", "d")
			if err := w.c.DeleteRecords(topic, 0, 4); err != nil {
				w.t.Fatal(err)
			}
		}, 4},
	}
}

// TestSkipUnreadable: a batch that cannot be read stops its partition behind the records that can
// be read, and no other partition. An operator skips it. The living process continues with the next
// record, each record is done once, and the skipped range stays with the position: in the next
// owner of the partition, too.
func TestSkipUnreadable(t *testing.T) {
	for name, c := range unreadables() {
		t.Run(name, func(t *testing.T) {
			scenario(t, func(t *testing.T, w *sinkRun, l *log) {
				w.send(0, "a", "b")
				p := w.start("a", func(c *settings) { c.Do = l.do })
				w.await("the first records are done", time.Minute, func() bool { return l.count() == 2 && w.behind() == 0 })
				p.stop()
				c.make(w)
				w.send(0, "e")
				p = w.start("a", func(c *settings) { c.Do = l.do })
				w.send(1, "f")
				began := time.Now()
				w.await("the partition is stopped", time.Minute, func() bool { return status(p, 0).Stopped != nil })
				if took := time.Since(began); took > 45*time.Second {
					t.Errorf("it took %s to find out", took)
				}
				var u *kafka.UnreadableError
				if s := status(p, 0); !errors.As(s.Stopped, &u) || u.Offset != 2 || u.Resume != c.to || !kafka.Skippable(u) {
					t.Errorf("%+v, %v", s, s.Stopped)
				}
				w.await("another partition continues", time.Minute, func() bool { return slices.Contains(l.keys(), "f") })
				plan, err := w.planSkip(c.to)
				if err != nil {
					t.Fatal(err)
				}
				if plan.From != 2 || plan.To != c.to || plan.Lost != c.to-2 || plan.Cause == "" {
					t.Errorf("the plan is %+v", plan)
				}
				<-time.After(time.Minute)
				if status(p, 0).Stopped == nil {
					t.Fatal("a dry run has continued the partition")
				}
				if err := kafkaadmin.ApplySkip(context.Background(), w.kafka(), plan, 10*time.Second); err != nil {
					t.Fatal(err)
				}
				w.c.Damage("")
				w.await("the record behind is done and committed", time.Minute, func() bool { return l.count() == 4 && w.behind() == 0 })
				check := func(p *process) {
					t.Helper()
					s := status(p, 0)
					if got := s.Skipped; s.Stopped != nil || len(got) != 1 || got[0].From != 2 || got[0].To != c.to || got[0].Who != "me" || got[0].Why != "a bomb" || got[0].At.IsZero() {
						t.Errorf("the partition is %+v", s)
					}
				}
				check(p)
				p.kill()
				p = w.start("b", func(c *settings) { c.Do = l.do })
				w.send(0, "g")
				w.await("the next owner continues", time.Minute, func() bool { return l.count() == 5 && w.behind() == 0 })
				check(p)
				p.stop()
				p = w.start("c", func(c *settings) { c.Do = l.do })
				defer p.stop()
				w.await("the partition is assigned", time.Minute, func() bool { return len(status(p, 0).Skipped) > 0 })
				check(p)
				if keys := l.keys(); !slices.Equal(keys, []string{"a", "b", "e", "f", "g"}) {
					t.Errorf("done: %v", keys)
				}
			})
		})
	}
}

// TestSkipWithoutProcess: a skip that is given while no process runs is carried out by the next.
func TestSkipWithoutProcess(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		w.send(0, "a")
		p := w.start("a", func(c *settings) { c.Do = l.do })
		w.await("the first record is done", time.Minute, func() bool { return l.count() == 1 && w.behind() == 0 })
		p.stop()
		w.sendBomb()
		w.send(0, "b")
		plan, err := w.planSkip(2)
		if err != nil {
			t.Fatal(err)
		}
		if err := kafkaadmin.ApplySkip(context.Background(), w.kafka(), plan, 0); !errors.Is(err, kafkaadmin.ErrNotTaken) {
			t.Errorf("without a process: %v", err)
		}
		p = w.start("a", func(c *settings) { c.Do = l.do })
		defer p.stop()
		w.await("the record behind is done", time.Minute, func() bool { return l.count() == 2 && w.behind() == 0 })

		// The instruction is for one position alone.
		w.sendBomb()
		w.await("the partition is stopped again", time.Minute, func() bool { return status(p, 0).Stopped != nil })
		<-time.After(time.Minute)
		if s := status(p, 0); s.Stopped == nil || len(s.Skipped) != 1 {
			t.Errorf("the partition is %+v", s)
		}
	})
}

// TestSkipWaits: a skip is refused while a record before the batch is not done, because it would be
// given up with the batch. Once it is done the partition continues, without a second call of Do.
func TestSkipWaits(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		l.forbid("a", errors.New("the region is down"))
		w.send(0, "a", "b")
		w.sendBomb()
		w.send(0, "c")
		p := w.start("a", func(c *settings) { c.Do = l.do })
		defer p.stop()
		w.await("the partition is stopped", time.Minute, func() bool { return status(p, 0).Stopped != nil })
		for to, want := range map[int64]string{3: "offset 0 of commands[0] can be read, and hands has not finished it", 9: "ends at offset 4"} {
			if _, err := w.planSkip(to); !errors.Is(err, kafkaadmin.ErrSkip) || !strings.Contains(err.Error(), want) {
				t.Errorf("skip to %d: %v", to, err)
			}
		}
		l.allow()
		w.await("the records before the batch are committed", time.Minute, func() bool { return w.behind() == 2 })
		plan, err := w.planSkip(3)
		if err != nil {
			t.Fatal(err)
		}
		if err := kafkaadmin.ApplySkip(context.Background(), w.kafka(), plan, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		w.await("the record behind is done", time.Minute, func() bool { return w.behind() == 0 })
		if keys := l.keys(); !slices.Equal(keys, []string{"a", "b", "c"}) {
			t.Errorf("done: %v", keys)
		}
	})
}

// TestDamageOfSinkPasses: a batch that cannot be decoded for 20 s is done after that, and nothing
// is skipped.
func TestDamageOfSinkPasses(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		p := w.start("a", func(c *settings) { c.Do = l.do })
		defer p.stop()
		w.send(0, "a")
		w.c.Damage(damaged)
		w.send(0, damaged, "b")
		<-time.After(20 * time.Second)
		if s := status(p, 0); l.count() != 1 || s.Stopped != nil {
			t.Errorf("%d records are done: %+v", l.count(), s)
		}
		w.c.Damage("")
		w.await("all records are done", time.Minute, func() bool { return l.count() == 3 && w.behind() == 0 })
	})
}

// TestUnknownFormatOfSink: a batch of a format that the client does not know is not passed. The
// client itself goes past such a batch.
func TestUnknownFormatOfSink(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		w.send(0, "a")
		p := w.start("a", func(c *settings) { c.Do = l.do })
		w.await("the first record is done", time.Minute, func() bool { return l.count() == 1 && w.behind() == 0 })
		p.stop()
		w.send(0, damaged)
		topics, err := kadm.NewClient(w.cl).ListTopics(context.Background(), topic)
		if err != nil {
			t.Fatal(err)
		}
		found, err := kafka.Fetch(context.Background(), w.cl, topics[topic], kafka.FetchRange{Offset: 1, MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		w.c.Damage(string(found.RecordBatches[16:32])) // the magic byte, and what no other batch has behind it
		w.send(0, "b")
		p = w.start("a", func(c *settings) { c.Do = l.do })
		w.await("the partition is stopped", time.Minute, func() bool { return status(p, 0).Stopped != nil })
		if l.count() != 1 || w.behind() != 2 {
			t.Errorf("%d records are done, %d are not committed", l.count(), w.behind())
		}
		p.stop()
		w.c.Damage("")
		p = w.start("a", func(c *settings) { c.Do = l.do })
		defer p.stop()
		w.await("all records are done", time.Minute, func() bool { return l.count() == 3 && w.behind() == 0 })
	})
}

// keys returns the keys of the records that are done, sorted.
func (l *log) keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.done))
}
