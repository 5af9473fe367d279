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

// sums keeps a sum per key, and emits each sum that changed. flaw selects a bug.
type sums struct {
	stream.Task
	sum  map[string]int
	flaw string
	out  *int // a variable outside of the handler
	said bool // the hello of this life was emitted
}

func (h *sums) Fold(b *stream.Batch) error {
	for i, r := range b.Records {
		n, err := strconv.Atoi(string(r.Value))
		if err != nil {
			if h.flaw != "drops what it should reject" {
				b.Reject(i, "number", err.Error())
			}
			if h.flaw == "a rejected record changes the state" {
				h.sum["rejected"]++
			}
			continue
		}
		if h.flaw == "skips the last record of a batch" && i > 0 && i == len(b.Records)-1 {
			continue
		}
		key := string(r.Key)
		if _, known := h.sum[key]; !known && h.flaw != "does not read its state" {
			v, err := h.Get(1, r.Key)
			if err != nil {
				return err
			}
			h.sum[key], _ = strconv.Atoi(string(v))
		}
		h.sum[key] += n
		if h.flaw == "uses a variable outside of the handler" {
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
	if h.flaw == "emits a hello in each life" && !h.said && len(h.sum) > 0 {
		ch.EmitTo("out", h.Partition, stream.Message{Key: []byte("hello")})
		h.said = true
	}
	if h.flaw != "does not read its state" {
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

// runWithFaults has a rejected record, an aborted transaction of a producer, and a kill.
func runWithFaults(t *testing.T, h *Harness) {
	p := h.Start("a")
	h.CaughtUp()
	feeder := h.Client(kgo.TransactionalID("feeder"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := feeder.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := feeder.ProduceSync(context.Background(), &kgo.Record{Topic: "in", Partition: 1, Key: []byte("k"), Value: []byte("1000")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := feeder.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	h.Produce("in", 0, "k", "1", "2", "x", "3")
	h.Produce("in", 1, "l", "4", "5")
	h.CaughtUp()
	p.KillAt(Ended)
	h.Produce("in", 0, "k", "6", "7")
	h.Produce("in", 1, "l", "8", "9")
	if err := p.Await(); err != ErrKilled {
		t.Errorf("the process should have been killed: %v", err)
	}
	h.Start("a")
	h.Produce("in", 0, "k", "10", "11")
	h.CaughtUp()
}

func TestCorrectHandlerPasses(t *testing.T) {
	Run(t, options(""), func(t *testing.T, h *Harness) {
		runWithFaults(t, h)
		if got := string(h.State(0, 1)["k"]); got != "40" {
			t.Errorf("the sum of k is %s, want 40", got)
		}
		if got := string(h.State(1, 1)["l"]); got != "26" {
			t.Errorf("the sum of l is %s, want 26", got)
		}
		if n := len(h.Records("sums.dlq")); n != 1 {
			t.Errorf("%d dead letters, want 1", n)
		}
		if h.mu.Lock(); h.comparisons == 0 {
			t.Error("no store was compared with the committed offsets")
		}
		h.mu.Unlock()
	})
}

// TestCatchesBugs injects bugs that the checks must report.
func TestCatchesBugs(t *testing.T) {
	for _, m := range []struct {
		name, want string
		o          func(*Options)
		f          func(t *testing.T, h *Harness)
	}{
		{name: "does not read its state", want: "RUN-2"},
		{name: "uses a variable outside of the handler", want: "RUN-2"},
		{name: "skips the last record of a batch", want: "RUN-2"},
		{name: "a rejected record changes the state", want: "RUN-2"},
		{name: "emits a hello in each life", want: "RUN-6"},
		{name: "drops what it should reject", f: func(t *testing.T, h *Harness) {
			runWithFaults(t, h)
			h.options.Processor.New = options("").Processor.New // the handler of the comparison rejects
		}, want: "RUN-1"},
		{name: "reads aborted records", o: func(o *Options) {
			o.Config.Kafka.Options = []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadUncommitted())}
		}, want: "RUN-2"},
		{name: "an output of another producer", f: func(t *testing.T, h *Harness) {
			runWithFaults(t, h)
			h.Produce("out", 0, "k", "99")
		}, want: "RUN-6"},
		{name: "a change of another producer", f: func(t *testing.T, h *Harness) {
			h.Start("a")
			h.CaughtUp()
			h.Produce("log", 0, "\x01x", "99")
			h.Produce("in", 0, "k", "1")
			h.CaughtUp()
		}, want: "process a: RUN-4"},
		{name: "the offsets of the group go back", f: func(t *testing.T, h *Harness) {
			a := h.Start("a")
			h.Produce("in", 0, "k", "1", "2")
			h.CaughtUp()
			a.Freeze()
			b := h.Start("b")
			h.CaughtUp()
			b.Stop() // the group is empty now, so its offsets can be set
			var back kadm.Offsets
			back.Add(kadm.Offset{Topic: "in", Partition: 0, At: 1, LeaderEpoch: -1})
			if err := kadm.NewClient(h.client).CommitAllOffsets(context.Background(), "sums", back); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}, want: "process a: RUN-5"},
	} {
		t.Run(m.name, func(t *testing.T) {
			o := options(m.name)
			if m.o != nil {
				m.o(&o)
			}
			if m.f == nil {
				m.f = runWithFaults
			}
			err := CheckRun(t, o, m.f)
			if err == nil {
				t.Fatal("the checks reported nothing")
			}
			if !strings.Contains(err.Error(), m.want) {
				t.Errorf("the checks reported %.300s, without %s", err, m.want)
			}
		})
	}
}

// TestFreeze: a process freezes with a transaction open, for longer than the transaction timeout
// and the session timeout. It writes nothing after the thaw.
func TestFreeze(t *testing.T) {
	Run(t, options(""), func(t *testing.T, h *Harness) {
		a := h.Start("a")
		h.CaughtUp()
		a.FreezeAt(Written)
		h.Produce("in", 0, "k", "1", "2")
		h.Produce("in", 1, "k", "3")
		if err := a.Await(); err != ErrFrozen {
			t.Fatalf("the process should have frozen: %v", err)
		}
		h.Start("b")
		h.CaughtUp()
		if got := string(h.State(0, 1)["k"]); got != "3" {
			t.Errorf("the sum in process b is %s, want 3", got)
		}
		a.Thaw()
		h.Produce("in", 0, "k", "4")
		h.CaughtUp()
	})
}

// TestDisks: a process gets the disk of its last life back, and rebuilds a lost disk from the
// changelog.
func TestDisks(t *testing.T) {
	Run(t, options(""), func(t *testing.T, h *Harness) {
		a := h.Start("a")
		h.Produce("in", 0, "k", "1", "2")
		h.CaughtUp()
		a.Stop()
		for _, wipe := range []bool{false, true} {
			if wipe {
				h.NewDisk("a")
			}
			a = h.Start("a")
			if _, err := a.fs.Stat("/state/sums/db"); (err == nil) == wipe {
				t.Errorf("disk removed: %t; the directory of the store: %v", wipe, err)
			}
			h.Produce("in", 0, "k", "3")
			h.CaughtUp()
			a.Stop()
		}
		h.Start("a")
		h.CaughtUp()
		if got := string(h.State(0, 1)["k"]); got != "9" {
			t.Errorf("the sum is %s, want 9", got)
		}
	})
}

// TestAddProcessor: a processor reads the output of another one on the same brokers. The checks
// cover both.
func TestAddProcessor(t *testing.T) {
	for _, flaw := range []string{"", "does not read its state"} {
		o := options(flaw)
		o.Processor.App, o.Processor.Inputs, o.Processor.Changelog, o.Processor.Outputs = "totals", []string{"out"}, "totals.log", []stream.Output{{Name: "out", Topic: "totals.out"}}
		host := options("")
		host.Brokers = 1
		err := CheckRun(t, host, func(t *testing.T, h *Harness) {
			b := h.AddProcessor(o)
			p := b.Start("a")
			runWithFaults(t, h)
			b.CaughtUp()
			p.Kill()
			b.Start("a")
			h.Produce("in", 0, "k", "1")
			h.CaughtUp()
			b.CaughtUp()
			if got := string(b.State(0, 1)["k"]); flaw == "" && got == "" {
				t.Error("the second processor got nothing")
			}
		})
		if (err != nil) != (flaw != "") || err != nil && !strings.Contains(err.Error(), "totals") {
			t.Errorf("flaw %q: the checks reported %v", flaw, err)
		}
	}
}
