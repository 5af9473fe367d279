//go:build synctests

package processorstest

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// sums is a sum per key, and an output for each change of one. Its flaws are switched on one at a time.
type sums struct {
	stream.Task
	sum  map[string]int
	flaw string
	out  *int // a variable outside
	said bool
}

func (h *sums) Fold(b *stream.Batch) error {
	for i, r := range b.Records {
		n, err := strconv.Atoi(string(r.Value))
		if err != nil {
			if h.flaw != "swallows what it should refuse" {
				b.Reject(i, "number", err.Error())
			}
			if h.flaw == "a refusal leaves a trace" {
				h.sum["refused"]++
			}
			continue
		}
		if h.flaw == "skips the last of a batch" && i > 0 && i == len(b.Records)-1 {
			continue
		}
		key := string(r.Key)
		if _, known := h.sum[key]; !known && h.flaw != "forgets its state" {
			v, err := h.Get(1, r.Key)
			if err != nil {
				return err
			}
			h.sum[key], _ = strconv.Atoi(string(v))
		}
		h.sum[key] += n
		if h.flaw == "leans on a variable outside" {
			*h.out += n
			h.sum[key] = *h.out
		}
	}
	return nil
}

func (h *sums) Flush(_ stream.Commit, ch *stream.Changes) error {
	for key, n := range h.sum {
		v := strconv.AppendInt(nil, int64(n), 10)
		ch.Put(1, []byte(key), v)
		ch.EmitTo("out", h.Partition, stream.Message{Key: []byte(key), Value: v})
	}
	if h.flaw == "says hello in each life" && !h.said && len(h.sum) > 0 {
		ch.EmitTo("out", h.Partition, stream.Message{Key: []byte("hello")})
		h.said = true
	}
	if h.flaw != "forgets its state" {
		clear(h.sum)
	}
	return nil
}

func options(flaw string) Options {
	out := new(int)
	return Options{Partitions: 2, Processor: stream.Processor{
		App: "sums", Inputs: []string{"in"}, Changelog: "log", Outputs: stream.OutputTopics("out"),
		New: func(t stream.Task) (stream.Handler, error) {
			return &sums{Task: t, sum: map[string]int{}, flaw: flaw, out: out}, nil
		},
	}}
}

// busy is a run with all that goes wrong: a refused record, an aborted transaction of the producer's, a kill.
func busy(t *testing.T, w *Harness) {
	p := w.Start("a")
	w.CaughtUp()
	feeder, err := w.Kafka().Client(kgo.TransactionalID("feeder"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer feeder.Close()
	if err := feeder.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := feeder.ProduceSync(context.Background(), &kgo.Record{Topic: "in", Partition: 1, Key: []byte("k"), Value: []byte("1000")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := feeder.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	w.Produce("in", 0, "k", "1", "2", "x", "3")
	w.Produce("in", 1, "l", "4", "5")
	w.CaughtUp()
	p.KillAt(Ended)
	w.Produce("in", 0, "k", "6", "7")
	w.Produce("in", 1, "l", "8", "9")
	if err := p.Await(); err != ErrKilled {
		t.Errorf("it was to be killed: %v", err)
	}
	w.Start("a")
	w.Produce("in", 0, "k", "10", "11")
	w.CaughtUp()
}

func TestGoodHandlerPasses(t *testing.T) {
	Run(t, options(""), func(t *testing.T, w *Harness) {
		busy(t, w)
		if got := string(w.State(0, 1)["k"]); got != "40" {
			t.Errorf("the sum of k is %s, want 40", got)
		}
		if got := string(w.State(1, 1)["l"]); got != "26" {
			t.Errorf("the sum of l is %s, want 26", got)
		}
		if n := len(w.Records("sums.dlq")); n != 1 {
			t.Errorf("%d dead letters, want 1", n)
		}
		if w.mu.Lock(); w.seen == 0 {
			t.Error("nobody compared stores with the group")
		}
		w.mu.Unlock()
	})
}

// A judge that lets these pass would prove nothing.
func TestJudgeCatches(t *testing.T) {
	for _, m := range []struct {
		name, says string
		o          func(*Options)
		f          func(t *testing.T, w *Harness)
	}{
		{name: "forgets its state", says: "I2"},
		{name: "leans on a variable outside", says: "I2"},
		{name: "skips the last of a batch", says: "I2"},
		{name: "a refusal leaves a trace", says: "I2"},
		{name: "says hello in each life", says: "I6"},
		{name: "swallows what it should refuse", f: func(t *testing.T, w *Harness) {
			busy(t, w)
			w.options.Processor.New = options("").Processor.New // the one that it is compared with refuses
		}, says: "I1"},
		{name: "reads what was aborted", o: func(o *Options) {
			o.Config.Kafka.Options = []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadUncommitted())}
		}, says: "I2"},
		{name: "a foreign output", f: func(t *testing.T, w *Harness) {
			busy(t, w)
			w.Produce("out", 0, "k", "99")
		}, says: "I6"},
		{name: "a foreign change", f: func(t *testing.T, w *Harness) {
			w.Start("a")
			w.CaughtUp()
			w.Produce("log", 0, "\x01x", "99")
			w.Produce("in", 0, "k", "1")
			w.CaughtUp()
		}, says: "process a: I4"},
		{name: "the group goes back", f: func(t *testing.T, w *Harness) {
			a := w.Start("a")
			w.Produce("in", 0, "k", "1", "2")
			w.CaughtUp()
			a.Freeze()
			b := w.Start("b")
			w.CaughtUp()
			b.Stop() // the group is empty now: its offsets can be set
			var back kadm.Offsets
			back.Add(kadm.Offset{Topic: "in", Partition: 0, At: 1, LeaderEpoch: -1})
			if err := kadm.NewClient(w.client).CommitAllOffsets(context.Background(), "sums", back); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}, says: "process a: I5"},
	} {
		t.Run(m.name, func(t *testing.T) {
			o := options(m.name)
			if m.o != nil {
				m.o(&o)
			}
			if m.f == nil {
				m.f = busy
			}
			err := run(t, o, m.f)
			if err == nil {
				t.Fatal("not caught")
			}
			if !strings.Contains(err.Error(), m.says) {
				t.Errorf("it says %.300s, without %s", err, m.says)
			}
		})
	}
}

// A process that froze with a transaction open, for longer than the brokers and the group wait, writes nothing afterwards.
func TestFreeze(t *testing.T) {
	Run(t, options(""), func(t *testing.T, w *Harness) {
		a := w.Start("a")
		w.CaughtUp()
		a.FreezeAt(Written)
		w.Produce("in", 0, "k", "1", "2")
		w.Produce("in", 1, "k", "3")
		if err := a.Await(); err != ErrFrozen {
			t.Fatalf("it was to freeze: %v", err)
		}
		w.Start("b")
		w.CaughtUp()
		if got := string(w.State(0, 1)["k"]); got != "3" {
			t.Errorf("b has %s, want 3", got)
		}
		a.Thaw()
		w.Produce("in", 0, "k", "4")
		w.CaughtUp()
	})
}

// A disk that is gone is rebuilt from the changelog; what a stop leaves is not.
func TestDisks(t *testing.T) {
	Run(t, options(""), func(t *testing.T, w *Harness) {
		a := w.Start("a")
		w.Produce("in", 0, "k", "1", "2")
		w.CaughtUp()
		a.Stop()
		for _, wipe := range []bool{false, true} {
			if wipe {
				w.NewDisk("a")
			}
			a = w.Start("a")
			if _, err := a.fs.Stat("/state/sums/db"); (err == nil) == wipe {
				t.Errorf("wiped %t, and the store's directory: %v", wipe, err)
			}
			w.Produce("in", 0, "k", "3")
			w.CaughtUp()
			a.Stop()
		}
		w.Start("a")
		w.CaughtUp()
		if got := string(w.State(0, 1)["k"]); got != "9" {
			t.Errorf("the sum is %s, want 9", got)
		}
	})
}

// A processor reads what another writes, on the same brokers: both are judged, and a flaw of either is found.
func TestBeside(t *testing.T) {
	for _, flaw := range []string{"", "forgets its state"} {
		o := options(flaw)
		o.Processor.App, o.Processor.Inputs, o.Processor.Changelog, o.Processor.Outputs = "totals", []string{"out"}, "totals.log", []stream.Output{{Name: "out", Topic: "totals.out"}}
		host := options("")
		host.Brokers = 1
		err := run(t, host, func(t *testing.T, w *Harness) {
			b := w.AddProcessor(o)
			p := b.Start("a")
			busy(t, w)
			b.CaughtUp()
			p.Kill()
			b.Start("a")
			w.Produce("in", 0, "k", "1")
			w.CaughtUp()
			b.CaughtUp()
			if got := string(b.State(0, 1)["k"]); flaw == "" && got == "" {
				t.Error("nothing came to the second")
			}
		})
		if (err != nil) != (flaw != "") || err != nil && !strings.Contains(err.Error(), "totals") {
			t.Errorf("flaw %q: %v", flaw, err)
		}
	}
}
