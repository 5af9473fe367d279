//go:build synctests

package processors_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// Each test here repeats a bug that the runtime once had.

// TestInputsStayTogether: with two inputs, the client's balancers gave the topics of one partition
// to different members.
func TestInputsStayTogether(t *testing.T) {
	o := ledgerOptions(24)
	o.Processor = ledger.Processor("in", "in2")
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		for p := range int32(24) {
			h.Produce("in", p, "k", "1", "1")
			h.Produce("in2", p, "k", "1", "1")
		}
		a := h.StartWith("a", processors.Config{Workers: 4}, o.Processor)
		b := h.StartWith("b", processors.Config{Workers: 1}, o.Processor)
		h.WaitFor("every partition has one task that has read both inputs", time.Minute, func() bool {
			tasks := map[int32]int{}
			for _, s := range append(a.Runtime().Status(), b.Runtime().Status()...) {
				if s.State == "running" && s.Next["in"] == 2 && s.Next["in2"] == 2 {
					tasks[s.Partition]++
				}
			}
			for _, n := range tasks {
				if n != 1 {
					return false
				}
			}
			return len(tasks) == 24
		})
		if n := len(b.Runtime().Status()); n != 12 {
			t.Errorf("one process of two has %d of 24 partitions, want 12", n)
		}
	})
}

// TestFirstTransactionAbortsOnTrimmedLog: after an abort the client rewinds to offset 0 where
// nothing was committed yet. A log whose beginning retention has deleted has no offset 0.
func TestFirstTransactionAbortsOnTrimmedLog(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		h.Produce("in", 0, "k", "1", "2", "3", "4", "5")
		h.DeleteRecords("in", 0, 3)
		aborted := false
		cfg := processors.Config{Workers: 1}
		cfg.SetFailpoint(func(w *processors.Worker, at string) error {
			if at == "flushed" && !aborted && w.FoldedRecords() > 0 {
				aborted = true
				h.FailRequests(kmsg.TxnOffsetCommit, kerr.RebalanceInProgress, 1)
			}
			return nil
		})
		p := h.StartWith("a", cfg, ledger.Processor("in"))
		h.WaitFor("the rest of the log is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 5 })
		if !aborted {
			t.Error("no transaction was aborted")
		}
	})
}

// longRejecter rejects values of more than 100 bytes.
type longRejecter struct{}

func (longRejecter) Fold(b *stream.Batch) error {
	for i := range b.Records {
		if len(b.Records[i].Value) > 100 {
			b.Reject(i, "long", "too long")
		}
	}
	return nil
}

func (longRejecter) Flush(stream.Commit, *stream.Changes) error { return nil }

func longRejecterOptions() processorstest.Options {
	o := ledgerOptions(4)
	o.Processor.New = func(stream.Task) (stream.Handler, error) { return longRejecter{}, nil }
	o.Config.Workers = 1
	return o
}

// TestDeadLetterOfTheLargestRecord: a dead letter is larger than the record that it contains.
func TestDeadLetterOfTheLargestRecord(t *testing.T) {
	processorstest.Run(t, longRejecterOptions(), func(t *testing.T, h *processorstest.Harness) {
		big := strings.Repeat("x", 1<<20-200)
		h.Produce("in", 0, "k", big)
		h.Produce("in", 0, "k", "1")
		if err := h.Cluster.DeleteTopic(ledger.App + ".dlq"); err != nil {
			t.Fatal(err)
		}
		if err := h.Cluster.CreateTopic(ledger.App+".dlq", 4, map[string]string{"max.message.bytes": fmt.Sprint(2 << 20)}); err != nil {
			t.Fatal(err)
		}
		p := h.Start("a")
		h.WaitFor("the records are folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 2 })
		if got := h.Records(ledger.App + ".dlq"); len(got) != 1 || string(got[0].Value) != big {
			t.Errorf("%d dead letters, want 1 with the whole value", len(got))
		}
	})
}

// TestDeadLetterTooLarge: a dead letter that its topic does not accept stops its partition, with
// the reason. The other partitions continue.
func TestDeadLetterTooLarge(t *testing.T) {
	processorstest.Run(t, longRejecterOptions(), func(t *testing.T, h *processorstest.Harness) {
		big, rng := make([]byte, 1<<20-200), rand.New(rand.NewPCG(1, 7)) // random bytes do not compress
		for i := range big {
			big[i] = byte(rng.Uint32())
		}
		h.Produce("in", 0, "k", string(big))
		h.Produce("in", 0, "k", "1")
		h.Produce("in", 1, "k", "1")
		p := h.Start("a")
		h.WaitFor("partition 0 is stopped", time.Minute, func() bool { return p.Status(0).State == "stopped" })
		if s := p.Status(0); !strings.Contains(s.Reason, "MESSAGE_TOO_LARGE") {
			t.Errorf("the reason is %q", s.Reason)
		}
		h.Produce("in", 1, "k", "1", "1")
		h.WaitFor("partition 1 continues", time.Minute, func() bool { return p.Status(1).Next["in"] == 3 })
	})
}

// flushFailer cannot flush partition 0: it returns an error, or panics.
type flushFailer struct {
	*ledger.Handler
	panics bool
}

func (f flushFailer) Flush(c stream.Commit, ch *stream.Changes) error {
	if f.Task.Partition != 0 {
		return f.Handler.Flush(c, ch)
	}
	if f.panics {
		panic("cannot flush")
	}
	return errors.New("cannot flush")
}

// TestFlushFails: a task that cannot flush is stopped after a few attempts. The others continue.
func TestFlushFails(t *testing.T) {
	for _, panics := range []bool{false, true} {
		t.Run(fmt.Sprint(panics), func(t *testing.T) {
			runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
				for p := range int32(4) {
					h.Produce("in", p, "k", "1", "1")
				}
				proc := ledger.Processor("in")
				proc.New = func(task stream.Task) (stream.Handler, error) {
					l, err := ledger.New(task)
					return flushFailer{l.(*ledger.Handler), panics}, err
				}
				p := h.StartWith("a", processors.Config{Workers: 1}, proc)
				h.WaitFor("partition 0 is stopped and the others continue", time.Minute, func() bool {
					return p.Status(0).State == "stopped" && p.Status(1).Next["in"] == 2 && p.Status(3).Next["in"] == 2
				})
				if s := p.Status(0); !strings.Contains(s.Reason, "cannot flush") {
					t.Errorf("the reason is %q", s.Reason)
				}
			})
		})
	}
}

// TestNewFails: an error of Processor.New stops the partition, and is its reason.
func TestNewFails(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		proc := ledger.Processor("in")
		proc.New = func(task stream.Task) (stream.Handler, error) {
			if task.Partition == 2 {
				return nil, errors.New("state is not readable")
			}
			return ledger.New(task)
		}
		p := h.StartWith("a", processors.Config{Workers: 1}, proc)
		h.WaitFor("partition 2 is stopped", time.Minute, func() bool { return p.Status(2).State == "stopped" })
		if s := p.Status(2); !strings.Contains(s.Reason, "state is not readable") {
			t.Errorf("the reason is %q", s.Reason)
		}
	})
}

// TestMemberForgottenInsideTransaction: the client's End waits for the next heartbeat. After a
// failed heartbeat with rebalances blocked, there was none.
func TestMemberForgottenInsideTransaction(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		var flushed time.Time
		var longest time.Duration
		cfg := processors.Config{Workers: 1, CommitInterval: 3 * time.Second, CommitIntervalMax: 3 * time.Second}
		cfg.SetFailpoint(func(_ *processors.Worker, at string) error {
			switch at {
			case "flushed":
				flushed = time.Now()
			case "ended":
				longest = max(longest, time.Since(flushed))
			}
			return nil
		})
		p := h.StartWith("a", cfg, ledger.Processor("in"))
		h.WaitFor("the process runs", time.Minute, func() bool { return p.Status(3).State == "running" })
		stop, stopped := make(chan struct{}), make(chan struct{})
		n := int64(0)
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					h.Produce("in", 1, "k", "1")
					n++
				}
			}
		}()
		time.Sleep(3 * time.Second)
		h.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.UnknownMemberID, Count: 1, TopLevel: true})
		time.Sleep(20 * time.Second)
		close(stop)
		<-stopped
		h.WaitFor("all records are folded", time.Minute, func() bool { return p.Status(1).Next["in"] == n })
		if longest > 5*time.Second {
			t.Errorf("the end of a transaction took %s", longest)
		}
	})
}

// TestTakeoverIsFast: the first record after a takeover waited for the fetch in progress, for five
// seconds by the client's default.
func TestTakeoverIsFast(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		for p := range int32(4) {
			h.Produce("in", p, "k", "1")
		}
		began := time.Now()
		p := h.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
		h.WaitFor("all partitions have folded a record", 2*time.Second, func() bool {
			for n := range int32(4) {
				if p.Status(n).Next["in"] != 1 {
					return false
				}
			}
			return true
		})
		t.Logf("all partitions had folded a record after %s", time.Since(began))
	})
}

// TestInstanceTaken: of two processes with one instance name, the first ends with ErrInstance, and
// the second counts on. With several workers each process took a membership from the other, and
// both ended.
func TestInstanceTaken(t *testing.T) {
	for _, workers := range []int{1, 4} {
		runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
			cfg := processors.Config{Workers: workers, Instance: "a", Endpoint: "host:1"}
			first := h.StartWith("first", cfg, ledger.Processor("in"))
			h.WaitFor("the first runs", time.Minute, func() bool { return first.Status(3).State == "running" })
			cfg.Endpoint = "host:2"
			second := h.StartWith("second", cfg, ledger.Processor("in"))
			for i := range 200 {
				h.Produce("in", int32(i%4), "k", "1")
				time.Sleep(100 * time.Millisecond)
			}
			if !first.Ended() || second.Ended() {
				t.Fatalf("%d workers: the first process has ended: %t; the second: %t", workers, first.Ended(), second.Ended())
			}
			if err := first.Await(); !errors.Is(err, kafka.ErrInstance) {
				t.Errorf("%d workers: the first process ended with %v", workers, err)
			}
		})
	}
}

// TestPoisonLimit: as many poison records in a row as the limit become dead letters. One more stops
// the partition, and nothing is lost.
func TestPoisonLimit(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		h.Produce("in", 0, "k", "1", "poison", "poison", "poison", "2", "3")
		h.Produce("in", 1, "k", "1", "poison", "poison", "poison", "poison", "2")
		p := h.StartWith("a", processors.Config{Workers: 1, PoisonLimit: 3}, ledger.Processor("in"))
		h.WaitFor("partition 0 continues and partition 1 is stopped", time.Minute, func() bool {
			return p.Status(0).Next["in"] == 6 && p.Status(1).State == "stopped"
		})
		if s := p.Status(1); !strings.Contains(s.Reason, "poison") {
			t.Errorf("the reason is %q", s.Reason)
		}
		p.Stop()
		if n := len(h.Records(ledger.App + ".dlq")); n != 3 {
			t.Errorf("%d dead letters, want 3", n)
		}
	})
}
