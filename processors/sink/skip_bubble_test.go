//go:build synctests

package sink

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

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
		w.damageFormat(1)
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

// damageFormat gives the batch at an offset of partition 0 a format that no client knows.
func (w *sinkRun) damageFormat(offset int64) {
	w.t.Helper()
	topics, err := kadm.NewClient(w.cl).ListTopics(context.Background(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	found, err := kafka.Fetch(context.Background(), w.cl, topics[topic], kafka.FetchRange{Offset: offset, MaxBytes: 1 << 20})
	if err != nil {
		w.t.Fatal(err)
	}
	w.c.Damage(string(found.RecordBatches[16:32])) // the magic byte, and what no other batch has behind it
}

// TestUnknownFormatAtStart: a batch of an unknown format that is the first of the log, of a group
// without commits, is not passed either.
func TestUnknownFormatAtStart(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		w.send(0, "a", damaged)
		if err := w.c.DeleteRecords(topic, 0, 1); err != nil {
			t.Fatal(err)
		}
		w.damageFormat(1)
		w.send(0, "b")
		p := w.start("a", func(c *settings) { c.Do = l.do })
		w.await("the partition is stopped", time.Minute, func() bool { return status(p, 0).Stopped != nil })
		var u *kafka.UnreadableError
		if s := status(p, 0); !errors.As(s.Stopped, &u) || u.Offset != 1 || u.Lost != 0 {
			t.Errorf("%+v, %v", s, s.Stopped)
		}
		p.stop()
		if l.count() != 0 || w.behind() != 2 {
			t.Errorf("%d records are done, %d are not committed", l.count(), w.behind())
		}
		w.c.Damage("")
		p = w.start("a", func(c *settings) { c.Do = l.do })
		defer p.stop()
		w.await("all records are done", time.Minute, func() bool { return l.count() == 2 && w.behind() == 0 })
	})
}

// TestDamageBehindTrimmed: Sink.SkipTrimmed continues at the new start of the log. A damaged batch
// there stops the partition at the batch.
func TestDamageBehindTrimmed(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		w.send(0, "a", "b")
		p := w.start("a", func(c *settings) { c.Do = l.do })
		w.await("the first records are done", time.Minute, func() bool { return l.count() == 2 && w.behind() == 0 })
		p.stop()
		w.send(0, "c", "d")
		if err := w.c.DeleteRecords(topic, 0, 4); err != nil {
			t.Fatal(err)
		}
		w.c.Damage(damaged)
		w.send(0, damaged, "e")
		p = w.start("a", func(c *settings) { c.Do, c.SkipTrimmed = l.do, true })
		defer p.stop()
		w.await("the partition is stopped", time.Minute, func() bool { return status(p, 0).Stopped != nil })
		var u *kafka.UnreadableError
		if s := status(p, 0); !errors.As(s.Stopped, &u) || u.Offset != 4 || u.Resume != 5 {
			t.Errorf("%+v, %v", s, s.Stopped)
		}
		w.await("the position is committed", time.Minute, func() bool { return w.behind() == 2 })
		plan, err := w.planSkip(5)
		if err != nil {
			t.Fatal(err)
		}
		if err := kafkaadmin.ApplySkip(context.Background(), w.kafka(), plan, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		w.await("the record behind is done", time.Minute, func() bool { return l.count() == 3 && w.behind() == 0 })
	})
}

// TestSkipOnce: an instruction that was carried out has no effect when an operator sets the
// position back to its range. A further one has.
func TestSkipOnce(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		w.sendBomb()
		w.send(0, "a")
		p := w.start("a", func(c *settings) { c.Do = l.do })
		skip := func() {
			t.Helper()
			w.await("the partition is stopped", time.Minute, func() bool { return status(p, 0).Stopped != nil && w.behind() == 2 })
			plan, err := w.planSkip(1)
			if err != nil {
				t.Fatal(err)
			}
			if err := kafkaadmin.ApplySkip(context.Background(), w.kafka(), plan, 10*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		skip()
		w.await("the record behind is done", time.Minute, func() bool { return l.count() == 1 && w.behind() == 0 })
		p.stop()
		adm := kadm.NewClient(w.cl)
		committed, err := adm.FetchOffsets(context.Background(), group)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := committed.Lookup(topic, 0)
		at.At = 0
		back := kadm.Offsets{}
		back.Add(at.Offset)
		if err := adm.CommitAllOffsets(context.Background(), group, back); err != nil {
			t.Fatal(err)
		}
		p = w.start("a", func(c *settings) { c.Do = l.do })
		defer func() { p.stop() }()
		<-time.After(time.Minute)
		if s := status(p, 0); s.Stopped == nil || len(s.Skipped) != 1 {
			t.Errorf("the partition is %+v", s)
		}
		skip()
		w.await("the record behind is done again", time.Minute, func() bool { return l.count() == 2 && w.behind() == 0 })
	})
}

// TestNotesOfOnePartition: as long as the brokers do not return the committed offset of a
// partition, the others are committed.
func TestNotesOfOnePartition(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		w.send(0, "a")
		w.send(1, "b")
		var sick atomic.Bool
		w.c.ControlKey(int16(kmsg.OffsetFetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
			w.c.KeepControl()
			if !sick.Load() {
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
			for _, g := range req.(*kmsg.OffsetFetchRequest).Groups {
				rg := kmsg.NewOffsetFetchResponseGroup()
				rt := kmsg.NewOffsetFetchResponseGroupTopic()
				rg.Group, rt.Topic, rt.TopicID = g.Group, topic, w.c.TopicInfo(topic).TopicID
				for n, code := range []int16{kerr.UnknownServerError.Code, 0} {
					rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
					rp.Partition, rp.Offset, rp.ErrorCode = int32(n), -1, code
					rt.Partitions = append(rt.Partitions, rp)
				}
				rg.Topics = append(rg.Topics, rt)
				resp.Groups = append(resp.Groups, rg)
			}
			return resp, nil, true
		})
		p := w.start("a", func(c *settings) { c.Do, c.CommitInterval = l.do, 10*time.Second })
		defer p.stop()
		w.await("the records are done", 10*time.Second, func() bool { return l.count() == 2 })
		sick.Store(true)
		<-time.After(30 * time.Second)
		sick.Store(false)
		if n := w.behind(); n != 1 {
			t.Errorf("%d records are not committed, want that of partition 0", n)
		}
		w.await("the other is committed", time.Minute, func() bool { return w.behind() == 0 })
	})
}

// keys returns the keys of the records that are done, sorted.
func (l *log) keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.done))
}
