//go:build synctests

package processors_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/processors/processorstest"
)

// produceBomb writes a record to in[0] that decompresses to more than the clients accept.
func produceBomb(t *testing.T, h *processorstest.Harness) {
	t.Helper()
	cl := h.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(100<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()))
	if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: "in", Key: []byte("k"), Value: make([]byte, kafka.MaxBatchBytes)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// damaged is the key of a record whose batch Damage can find.
const damaged = "key-of-damage"

// produceDamaged writes a record to in[0] whose batch has a wrong checksum while the harness
// damages it.
func produceDamaged(t *testing.T, h *processorstest.Harness, value string) {
	t.Helper()
	cl := h.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: "in", Key: []byte(damaged), Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// produceUndecodable writes a batch of n records to in[0] whose checksum is right, and which is not
// gzip although its header states so.
func produceUndecodable(t *testing.T, h *processorstest.Harness, n int32) {
	t.Helper()
	b := kmsg.NewRecordBatch()
	b.Magic, b.Attributes, b.PartitionLeaderEpoch, b.ProducerID, b.ProducerEpoch, b.FirstSequence = 2, 1, -1, -1, -1, -1
	b.FirstTimestamp, b.MaxTimestamp = time.Now().UnixMilli(), time.Now().UnixMilli()
	b.LastOffsetDelta, b.NumRecords, b.Records = n-1, n, []byte("this is not gzip")
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	part := kmsg.NewProduceRequestTopicPartition()
	part.Records = raw
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = "in", h.Cluster.TopicInfo("in").TopicID, []kmsg.ProduceRequestTopicPartition{part}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.Topics = -1, 1000, []kmsg.ProduceRequestTopic{topic}
	answer, err := h.Client().Broker(int(h.Cluster.LeaderFor("in", 0))).RetriableRequest(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if err := kerr.ErrorForCode(answer.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode); err != nil {
		t.Fatal(err)
	}
}

// unreadable is a range of in[0], behind the three records of foldThree, that cannot be read.
type unreadable struct {
	make func(t *testing.T, h *processorstest.Harness)
	from int64 // the position at which the process stops
	to   int64 // the offset of the last record, which can be read
	sum  int64 // of the records that can be read
}

func unreadables() map[string]unreadable {
	return map[string]unreadable{
		"too large": {func(t *testing.T, h *processorstest.Harness) {
			h.Produce("in", 0, "k", "4", "5")
			produceBomb(t, h)
			h.Produce("in", 0, "k", "6")
		}, 5, 6, 21},
		"wrong checksum": {func(t *testing.T, h *processorstest.Harness) {
			h.Produce("in", 0, "k", "4", "5")
			produceDamaged(t, h, "100")
			h.Produce("in", 0, "k", "6")
			h.Damage(damaged)
		}, 5, 6, 21},
		"not decodable": {func(t *testing.T, h *processorstest.Harness) {
			h.Produce("in", 0, "k", "4", "5")
			produceUndecodable(t, h, 3)
			h.Produce("in", 0, "k", "6")
		}, 5, 8, 21},
		"deleted": {func(_ *testing.T, h *processorstest.Harness) {
			h.Produce("in", 0, "k", "4", "5", "6", "7")
			h.DeleteRecords("in", 0, 6)
		}, 3, 6, 13},
	}
}

// TestSkip: a partition that cannot be read is stopped at the first record that cannot be read, and
// its reason has the offset behind. An operator skips up to there. The living process continues
// with the next record, and the skipped range stays a part of the state: in a store that is
// rebuilt, and in a handler that reads its inputs again.
func TestSkip(t *testing.T) {
	for name, c := range unreadables() {
		t.Run(name, func(t *testing.T) {
			processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
				foldThree(h)
				c.make(t, h)
				p := h.Start("a")
				h.WaitFor("the partition is stopped", time.Minute, func() bool { return p.Status(0).State == "stopped" })
				s := p.Status(0)
				if u := s.Unreadable; u == nil || u.Topic != "in" || u.Partition != 0 || u.Offset != c.from || u.Resume != c.to || u.Error() != s.Reason {
					t.Errorf("the reason is %q, of %+v", s.Reason, u)
				}
				if s.Next["in"] != c.from {
					t.Errorf("it stopped at offset %d, not %d", s.Next["in"], c.from)
				}
				skip(t, h, c.to)
				h.WaitFor("the record behind is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == c.to+1 })
				check := func(p *processorstest.Process) {
					t.Helper()
					if got := p.Status(0).Skipped; len(got) != 1 || got[0].From != c.from || got[0].To != c.to || got[0].Who != "me" || got[0].Why != "a bomb" {
						t.Errorf("skipped: %+v", got)
					}
					if sum := sumInStore(t, p, 0, "k"); sum != c.sum {
						t.Errorf("the sum is %d, not %d", sum, c.sum)
					}
				}
				check(p)
				p.Kill()
				h.NewDisk("a")
				h.Produce("in", 0, "k", "0")
				p = h.Start("a")
				h.WaitFor("a rebuilt store continues", time.Minute, func() bool { return p.Status(0).Next["in"] == c.to+2 })
				check(p)
			})
		})
	}
}

// TestUnknownFormat: a batch of a format that the client does not know stops its partition, and is
// not passed before that. The client itself goes past such a batch.
func TestUnknownFormat(t *testing.T) {
	processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
		foldThree(h)
		h.Produce("in", 0, "k", "4")
		produceDamaged(t, h, "100")
		h.Produce("in", 0, "k", "5")
		damageFormat(t, h, "in", damaged)
		p := h.Start("a")
		h.WaitFor("the partition is stopped", time.Minute, func() bool { return p.Status(0).State == "stopped" })
		if s := p.Status(0); s.Next["in"] != 4 || s.Unreadable == nil || s.Unreadable.Offset != 4 || sumInStore(t, p, 0, "k") != 10 {
			t.Errorf("the partition is %+v", s)
		}
		if cause := new(kafka.DamagedBatchError); !errors.As(p.Status(0).Unreadable, &cause) || cause.Offset != 4 || cause.Next != 0 {
			t.Errorf("the cause is %+v", cause)
		}
		h.Damage("")
		p.Stop()
		p = h.Start("a")
		h.WaitFor("the rest is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 6 })
		if sum, other := sumInStore(t, p, 0, "k"), sumInStore(t, p, 0, damaged); sum != 15 || other != 100 {
			t.Errorf("the sums are %d and %d, not 15 and 100", sum, other)
		}
	})
}

// TestUnknownFormatFirst: such a batch at the start of the log of a group that is new stops its
// partition as well, and an operator can skip it.
func TestUnknownFormatFirst(t *testing.T) {
	processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
		produceDamaged(t, h, "100")
		damageFormat(t, h, "in", damaged)
		p := h.Start("a")
		h.Produce("in", 0, "k", "1")
		h.WaitFor("the partition is stopped", time.Minute, func() bool { return p.Status(0).State == "stopped" })
		if s := p.Status(0); s.Next["in"] != 0 || s.Unreadable == nil || s.Unreadable.Offset != 0 {
			t.Errorf("the partition is %+v", s)
		}
		skip(t, h, 1)
		h.WaitFor("the record behind is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 2 })
		if sum := sumInStore(t, p, 0, "k"); sum != 1 {
			t.Errorf("the sum is %d, not 1", sum)
		}
	})
}

// TestUnknownFormatAbort: such a batch is not passed when a transaction aborts with records of
// another input, while the input with the batch waits to be fetched again.
func TestUnknownFormatAbort(t *testing.T) {
	processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
		foldThree(h)
		produceDamaged(t, h, "100")
		h.Produce("in", 0, "k", "4")
		damageFormat(t, h, "in", damaged)
		aborted, cfg := func() int { return 0 }, processors.Config{Workers: 1}
		cfg.SetFailpoint(func(w *processors.Worker, at string) error {
			if at == "flushed" && w.FoldedRecords() > 0 && aborted() == 0 {
				aborted = h.FailRequests(kmsg.TxnOffsetCommit, kerr.RebalanceInProgress, 1)
			}
			return nil
		})
		p := h.StartWith("a", cfg, ledger.Processor("in", "in2"))
		h.WaitFor("the process runs", time.Minute, func() bool { return p.Status(0).State == "running" })
		<-time.After(300 * time.Millisecond) // the batch was fetched, and is fetched again each second
		h.Produce("in2", 0, "k", "10")
		h.WaitFor("the partition is stopped", time.Minute, func() bool { return p.Status(0).State == "stopped" })
		if s := p.Status(0); s.Next["in"] != 3 || s.Next["in2"] != 1 || s.Unreadable == nil || sumInStore(t, p, 0, "k") != 16 {
			t.Errorf("the partition is %+v", s)
		}
		if aborted() != 1 {
			t.Error("no transaction aborted")
		}
	})
}

// TestDamagePasses: a partition whose batch cannot be decoded for less than Config.UnreadableAfter,
// and one whose brokers answer with errors for minutes, continue by themselves and lose nothing.
func TestDamagePasses(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(h *processorstest.Harness, p *processorstest.Process) (end func())
		lasts time.Duration
	}{
		"wrong checksum": {func(h *processorstest.Harness, _ *processorstest.Process) func() {
			h.Damage(damaged)
			return func() { h.Damage("") }
		}, 25 * time.Second},
		"leader moves": {func(h *processorstest.Harness, _ *processorstest.Process) func() {
			f := h.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: -1})
			h.MoveLeaders()
			return f.Remove
		}, 3 * time.Minute},
		"brokers are away": {func(_ *processorstest.Harness, p *processorstest.Process) func() {
			p.Cut()
			return p.Heal
		}, 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
				foldThree(h)
				p := h.Start("a")
				h.WaitFor("the process runs", time.Minute, func() bool { return p.Status(0).State == "running" })
				end := c.begin(h, p)
				produceDamaged(t, h, "100")
				h.Produce("in", 0, "k", "4")
				for until := time.Now().Add(c.lasts); time.Now().Before(until); <-time.After(time.Second) {
					if s := p.Status(0); s.State == "stopped" {
						t.Fatalf("the partition is stopped: %s", s.Reason)
					}
				}
				if got := p.Status(0).Next["in"]; got == 5 {
					t.Error("the fault held nothing up")
				}
				end()
				h.WaitFor("the rest is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 5 })
				if sum, other := sumInStore(t, p, 0, "k"), sumInStore(t, p, 0, damaged); sum != 10 || other != 100 {
					t.Errorf("the sums are %d and %d, not 10 and 100", sum, other)
				}
			})
		})
	}
}

// skip skips up to an offset of in[0].
func skip(t *testing.T, h *processorstest.Harness, to int64) {
	t.Helper()
	proc := ledger.Processor("in")
	plan, err := kafkaadmin.PlanSkip(context.Background(), h.Kafka(), &proc, kafkaadmin.Skip{Topic: "in", To: to, Who: "me", Why: "a bomb"})
	if err == nil {
		err = kafkaadmin.ApplySkip(context.Background(), h.Kafka(), plan, 10*time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSkipRefused: a skip never loses a record that can be read.
func TestSkipRefused(t *testing.T) {
	processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
		foldThree(h)
		h.Produce("in", 0, "k", "4")
		produceBomb(t, h)
		produceBomb(t, h)
		h.Produce("in", 0, "k", "5")
		plan := func(topic string, partition int32, to int64) error {
			proc := ledger.Processor("in")
			_, err := kafkaadmin.PlanSkip(context.Background(), h.Kafka(), &proc, kafkaadmin.Skip{Topic: topic, Partition: partition, To: to})
			return err
		}
		if err := plan("in", 0, 5); !errors.Is(err, kafkaadmin.ErrSkip) || !strings.Contains(err.Error(), "offset 3 of in[0] can be read") {
			t.Errorf("before the record that can be read: %v", err)
		}
		p := h.Start("a")
		h.WaitFor("the partition is stopped", time.Minute, func() bool { return p.Status(0).State == "stopped" })
		for _, c := range []struct {
			topic     string
			partition int32
			to        int64
			want      string
		}{
			{"in2", 0, 5, "in2 is not an input of ledger"},
			{"in", 9, 5, "no partition 9"},
			{"in", 0, 4, "offset 4 is behind it"},
			{"in", 0, 2, "offset 2 is behind it"},
			{"in", 0, 8, "ends at offset 7"},
			{"in", 0, 7, "offset 6 of in[0] can be read"},
		} {
			if err := plan(c.topic, c.partition, c.to); !errors.Is(err, kafkaadmin.ErrSkip) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s[%d] to %d: %v", c.topic, c.partition, c.to, err)
			}
		}
		// Two at once, and one after the other.
		if err := plan("in", 0, 6); err != nil {
			t.Error(err)
		}
		skip(t, h, 5)
		h.WaitFor("the partition is stopped again", time.Minute, func() bool { s := p.Status(0); return s.State == "stopped" && s.Next["in"] == 5 })
		skip(t, h, 6)
		h.WaitFor("the rest is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 7 })
		if sum := sumInStore(t, p, 0, "k"); sum != 15 {
			t.Errorf("the sum is %d, not 15", sum)
		}
	})
}

// TestSkipVoid: an instruction that was given after another transaction, or for another position,
// changes nothing.
func TestSkipVoid(t *testing.T) {
	processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
		foldThree(h)
		after := ""
		for _, r := range h.Records("log") {
			if m, err := changelogpb.DecodeMarker(r.Key, r.Value); err == nil && m != nil && r.Partition == 0 {
				after = changelog.AfterOf(m)
			}
		}
		for _, s := range []*changelogpb.Skip{
			{Topic: "in", From: 3, To: 5},
			{Topic: "in", From: 3, To: 5, After: after + "0"},
			{Topic: "in", From: 2, To: 5, After: after},
			{Topic: "in", From: 3, To: 3, After: after},
			{Topic: "in2", From: 3, To: 5, After: after},
		} {
			value, err := proto.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			h.Send(&kgo.Record{Topic: "log", Partition: 0, Key: changelogpb.SkipKey(s), Value: value})
		}
		h.Produce("in", 0, "k", "4", "5")
		p := h.Start("a")
		h.WaitFor("every record is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 5 })
		if sum := sumInStore(t, p, 0, "k"); sum != 15 || len(p.Status(0).Skipped) > 0 {
			t.Errorf("the sum is %d, not 15: %+v", sum, p.Status(0).Skipped)
		}
	})
}

// TestSkipKilled: a process that is killed at any point of the transaction that carries a skip out
// leaves a state from which the next process continues behind the range.
func TestSkipKilled(t *testing.T) {
	for _, at := range processorstest.Failpoints() {
		t.Run(string(at), func(t *testing.T) {
			processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
				foldThree(h)
				unreadables()["deleted"].make(t, h)
				var a atomic.Pointer[processorstest.Process]
				cfg := processors.Config{Workers: 1}
				cfg.SetFailpoint(func(w *processors.Worker, now string) error {
					if p := a.Load(); p != nil && now == string(at) && w.CommittingTasks() > 0 {
						p.KillAt(at)
					}
					return nil
				})
				p := h.StartWith("a", cfg, ledger.Processor("in"))
				h.WaitFor("the partition is stopped", time.Minute, func() bool { return p.Status(0).State == "stopped" })
				a.Store(p)
				proc := ledger.Processor("in")
				plan, err := kafkaadmin.PlanSkip(context.Background(), h.Kafka(), &proc, kafkaadmin.Skip{Topic: "in", To: 6})
				if err != nil {
					t.Fatal(err)
				}
				if err := kafkaadmin.ApplySkip(context.Background(), h.Kafka(), plan, 0); err != nil && !errors.Is(err, kafkaadmin.ErrNotTaken) {
					t.Fatal(err)
				}
				if err := p.Await(); err != processorstest.ErrKilled {
					t.Fatal(err)
				}
				b := h.Start("b")
				h.WaitFor("the record behind is folded", time.Minute, func() bool { return b.Status(0).Next["in"] == 7 })
				if sum := sumInStore(t, b, 0, "k"); sum != 13 || len(b.Status(0).Skipped) != 1 {
					t.Errorf("the sum is %d, not 13: %+v", sum, b.Status(0).Skipped)
				}
			})
		})
	}
}
