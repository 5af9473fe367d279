//go:build synctests

package processors_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// Each test here injects one kind of fault. The harness adds the checks of package processorstest.

// sum adds up the values of each key in table 1, and emits the origin of each record. The value
// "poison" panics.
type sum struct {
	stream.Task
	sums    map[string]uint64
	origins []string
}

func (h *sum) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		key := string(r.Key)
		if _, known := h.sums[key]; !known {
			v, err := h.Get(1, r.Key)
			if err != nil {
				return err
			}
			if v != nil {
				h.sums[key] = binary.BigEndian.Uint64(v)
			}
		}
		if string(r.Value) == "poison" {
			h.sums[key] += 1 << 40 // a half-done fold, which must not survive
			panic("poison")
		}
		n, err := strconv.ParseUint(string(r.Value), 10, 63)
		if err != nil {
			return err
		}
		h.sums[key] += n
		h.origins = append(h.origins, fmt.Sprintf("%s/%d/%d", b.Topic, b.Partition, r.Offset))
	}
	return nil
}

func (h *sum) Flush(_ stream.Commit, ch *stream.Changes) error {
	for key, n := range h.sums {
		ch.Put(1, []byte(key), binary.BigEndian.AppendUint64(nil, n))
	}
	for _, o := range h.origins {
		ch.EmitTo("out", h.Partition, stream.Message{Key: []byte(o)})
	}
	clear(h.sums)
	h.origins = h.origins[:0]
	return nil
}

func summing() processorstest.Options {
	return processorstest.Options{Processor: stream.Processor{
		App: "sum", Inputs: []string{"in"}, Changelog: "log", Outputs: stream.OutputTopics("out"),
		New: func(t stream.Task) (stream.Handler, error) {
			return &sum{Task: t, sums: map[string]uint64{}}, nil
		},
	}}
}

// feed counts what a test has produced.
type feed struct {
	w *processorstest.Harness
	n [4]uint64 // by partition
}

// give produces n records of value 1 to each partition.
func (f *feed) give(n int) {
	for p := range f.n {
		f.w.Produce("in", int32(p), "k", strings.Split(strings.Repeat("1", n), "")...)
		f.n[p] += uint64(n)
	}
}

// exact compares the sums with what was produced.
func (f *feed) exact(t *testing.T, without ...int32) {
	t.Helper()
	f.w.CaughtUp(without...)
	for p, want := range f.n {
		if len(without) > 0 && int32(p) == without[0] {
			continue
		}
		if got := binary.BigEndian.Uint64(f.w.State(int32(p), 1)["k"]); got != want {
			t.Errorf("partition %d: the sum is %d, want %d", p, got, want)
		}
	}
}

// TestRebalanceStorm: a member joins and leaves every two seconds for a minute, while records flow.
func TestRebalanceStorm(t *testing.T) {
	processorstest.Run(t, summing(), func(t *testing.T, w *processorstest.Harness) {
		f := &feed{w: w}
		w.Start("a")
		owned := 0
		for i := range 15 {
			b := w.Start("b")
			for range 10 {
				f.give(3)
				time.Sleep(200 * time.Millisecond)
			}
			for _, s := range b.Runtime().Status() {
				if s.State == "running" {
					owned++
				}
			}
			if i%3 == 2 {
				b.Kill()
			} else {
				b.Stop()
			}
			f.give(3)
			time.Sleep(2 * time.Second)
		}
		f.exact(t)
		if owned == 0 {
			t.Error("the second member never had a partition")
		}
	})
}

// TestPoisonInEachThousand: one record in a thousand panics. Each of them becomes one dead letter,
// and all others count.
func TestPoisonInEachThousand(t *testing.T) {
	const n = 4000
	o := summing()
	o.Config.PollRecords = 500
	processorstest.Run(t, o, func(t *testing.T, w *processorstest.Harness) {
		f := &feed{w: w}
		for p := range int32(4) {
			var rs []*kgo.Record
			for i := range n {
				value := "1"
				if i%1000 == 17+100*int(p) {
					value = "poison"
				} else {
					f.n[p]++
				}
				rs = append(rs, &kgo.Record{Topic: "in", Partition: p, Key: []byte("k"), Value: []byte(value)})
			}
			w.Send(rs...)
		}
		w.Start("a")
		w.Start("b")
		f.exact(t)
		if letters := len(w.Records("sum.dlq")); letters != 4*n/1000 {
			t.Errorf("%d dead letters, want %d", letters, 4*n/1000)
		}
	})
}

// TestRetentionPassesOffset: retention deletes records that a process has not read because it was
// cut off. The partition is stopped, and its reason states how many records are gone. The others
// continue.
func TestRetentionPassesOffset(t *testing.T) {
	o := summing()
	o.NoRefold = true // the undisturbed handler cannot read the deleted records, either
	processorstest.Run(t, o, func(t *testing.T, w *processorstest.Harness) {
		f := &feed{w: w}
		a := w.Start("a")
		f.give(3)
		f.exact(t)
		a.Cut()
		f.give(5)
		w.DeleteRecords("in", 2, 6)
		a.Heal()
		f.exact(t, 2)
		s := a.Status(2)
		for end := time.Now().Add(time.Minute); s.State != "stopped" && time.Now().Before(end); s = a.Status(2) {
			time.Sleep(100 * time.Millisecond)
		}
		if s.State != "stopped" || !strings.Contains(s.Reason, "offsets 3 to 5 are gone: 3 records") {
			t.Errorf("partition 2 is %s: %q", s.State, s.Reason)
		}
		f.give(2)
		f.exact(t, 2)
		if got := binary.BigEndian.Uint64(w.State(2, 1)["k"]); got != 3 {
			t.Errorf("the sum of partition 2 is %d, want 3", got)
		}
	})
}

// TestEndTxnAnswersLost: the brokers commit, and the answers are lost. The process asks the brokers
// for the outcome, and counts no record twice.
func TestEndTxnAnswersLost(t *testing.T) {
	processorstest.Run(t, summing(), func(t *testing.T, w *processorstest.Harness) {
		f := &feed{w: w}
		w.Start("a")
		w.Start("b")
		f.give(1)
		f.exact(t)
		for range 10 {
			before := w.LostAnswers()
			w.LoseAnswers(kmsg.EndTxn, 2)
			f.give(7)
			f.exact(t)
			if w.LostAnswers() == before {
				t.Error("no answer was lost")
			}
		}
	})
}

// TestTransactionTimeout: the only process freezes with its transaction open until the brokers
// abort it. After the thaw it continues, and folds the records of that transaction again.
func TestTransactionTimeout(t *testing.T) {
	o := summing()
	o.Config.Workers = 1
	processorstest.Run(t, o, func(t *testing.T, w *processorstest.Harness) {
		f := &feed{w: w}
		a := w.Start("a")
		w.CaughtUp()
		a.FreezeAt(processorstest.Written)
		f.give(3)
		if err := a.Await(); err != processorstest.ErrFrozen {
			t.Fatal(err)
		}
		if n := open(t, w); n != 1 {
			t.Fatalf("%d transactions are open, want 1", n)
		}
		time.Sleep(15 * time.Second) // the timeout is 10
		if n := open(t, w); n != 0 {
			t.Fatalf("%d transactions are open, 15 s after they began", n)
		}
		a.Thaw()
		f.give(2)
		f.exact(t)
	})
}

// open returns the number of open transactions.
func open(t *testing.T, w *processorstest.Harness) int {
	t.Helper()
	cl, err := w.Kafka().Client()
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	list, err := kadm.NewClient(cl).ListTransactions(context.Background(), nil, []string{"Ongoing"})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestDiesWithTransactionOpen: a process is killed with its transaction open and does not come
// back. Another one takes over.
func TestDiesWithTransactionOpen(t *testing.T) {
	processorstest.Run(t, summing(), func(t *testing.T, w *processorstest.Harness) {
		f := &feed{w: w}
		a := w.Start("a")
		w.CaughtUp()
		a.KillAt(processorstest.Written)
		f.give(3)
		if err := a.Await(); err != processorstest.ErrKilled {
			t.Fatal(err)
		}
		died := time.Now()
		w.Start("b")
		f.exact(t)
		if took := time.Since(died); took > 20*time.Second {
			t.Errorf("the partitions were back after %s", took)
		}
	})
}

// TestFrozenPastTransactionTimeout: a process freezes at a failpoint, and another one takes over.
// After the thaw it has no transaction, no membership and no partitions left.
func TestFrozenPastTransactionTimeout(t *testing.T) {
	for _, at := range processorstest.Failpoints() {
		t.Run(string(at), func(t *testing.T) {
			processorstest.Run(t, summing(), func(t *testing.T, w *processorstest.Harness) {
				f := &feed{w: w}
				a := w.Start("a")
				w.CaughtUp()
				a.FreezeAt(at)
				f.give(3)
				if err := a.Await(); err != processorstest.ErrFrozen {
					t.Fatal(err)
				}
				w.Start("b")
				f.exact(t)
				f.give(2)
				f.exact(t)
				a.Thaw()
				f.give(4)
				f.exact(t)
			})
		})
	}
}

// TestBrokersAway: no broker answers for ten minutes. The process continues, reports no running
// partition, needs no more memory, and catches up afterwards.
func TestBrokersAway(t *testing.T) {
	processorstest.Run(t, summing(), func(t *testing.T, w *processorstest.Harness) {
		f := &feed{w: w}
		a := w.Start("a")
		f.give(100)
		f.exact(t)
		goroutines, heap := resources()
		a.Cut()
		worst, most := 0, uint64(0)
		for range 10 {
			f.give(100)
			time.Sleep(time.Minute)
			n, bytes := resources()
			worst, most = max(worst, n), max(most, bytes)
			if d, cut := a.Runtime().BrokerIdle(); !cut || d < 50*time.Second {
				t.Errorf("without brokers, BrokerIdle returns %s, %t", d, cut)
			}
			for _, s := range a.Runtime().Status() {
				if s.State == "running" {
					t.Errorf("without brokers, partition %d is running", s.Partition)
				}
			}
		}
		if worst > goroutines+40 {
			t.Errorf("%d goroutines, before %d", worst, goroutines)
		}
		if most > heap+64<<20 {
			t.Errorf("%d MiB of heap, before %d", most>>20, heap>>20)
		}
		a.Heal()
		healed := time.Now()
		f.exact(t)
		if took := time.Since(healed); took > 30*time.Second {
			t.Errorf("caught up %s after the brokers came back", took)
		}
		time.Sleep(time.Minute)
		if d, cut := a.Runtime().BrokerIdle(); cut {
			t.Errorf("with idle inputs, BrokerIdle returns %s, and cut off", d)
		}
	})
}

// TestStopWhileStarting: a process can be stopped at any moment of its start.
func TestStopWhileStarting(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		processorstest.Run(t, summing(), func(t *testing.T, w *processorstest.Harness) {
			a := w.Start("a")
			time.Sleep(after)
			began := time.Now()
			a.Stop()
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("a stop %s after the start took %s", after, took)
			}
		})
	}
}

// resources returns the number of goroutines and the bytes on the heap.
func resources() (goroutines int, heap uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), m.HeapAlloc
}
