//go:build synctests

package processors

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Each test here is a way in which the runtime once went wrong.

// bubble runs f in a world of its own, with topics of n partitions.
func bubble(t *testing.T, n int32, f func(t *testing.T, w *crashRun)) {
	synctest.Test(t, func(t *testing.T) {
		w := &crashRun{t: t, rng: rand.New(rand.NewPCG(1, 7)), hits: map[string]int{}, log: zerolog.Nop()}
		if os.Getenv("BUBBLE_LOG") != "" {
			w.log = zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, NoColor: true}).Level(zerolog.InfoLevel)
		}
		c, err := simkafka.New(n, "in", "in2", "log", "out", app+".dlq")
		if err != nil {
			t.Fatal(err)
		}
		w.c = c
		defer c.Close()
		f(t, w)
	})
}

// begin starts a runtime; end stops it and gives its error.
func (w *crashRun) begin(name string, cfg Config, proc stream.Processor) (rt *Runtime, end func() error) {
	cfg.Kafka, cfg.Dir, cfg.Instance, cfg.Log, cfg.CacheBytes = w.kafka(), "/state", name, &w.log, 1<<20
	if cfg.FS == nil {
		cfg.FS = vfs.NewCrashableMem()
	}
	rt, err := New(cfg, proc)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var ended error
	go func() {
		defer close(done)
		ended = rt.Run(ctx)
	}()
	end = func() error {
		cancel()
		<-done
		return ended
	}
	w.ends = append(w.ends, func() {
		w.t.Logf("%s: %+v, ended %v", name, rt.Status(), end())
	})
	return rt, end
}

// foldThree puts 1, 2 and 3 into in[0], folds them into the store on fs, and stops.
func (w *crashRun) foldThree(fs *vfs.MemFS) {
	w.t.Helper()
	w.put("in", 0, "1", "2", "3")
	rt, end := w.begin("a", Config{Workers: 1, FS: fs}, ledgers("in"))
	w.until("it is folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 3 })
	if err := end(); err != nil {
		w.t.Fatal(err)
	}
}

func ledgers(topics ...string) stream.Processor {
	return stream.Processor{App: app, Inputs: topics, Changelog: "log", Outputs: stream.OutputTopics("out"), New: newLedger}
}

func (w *crashRun) put(topic string, p int32, values ...string) {
	cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(1<<20))
	defer cl.Close()
	for _, v := range values {
		if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Partition: p, Key: []byte("k"), Value: []byte(v)}).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// until waits for a condition, in virtual time.
func (w *crashRun) until(what string, limit time.Duration, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			for _, end := range w.ends { // or the bubble would complain of what still runs
				end()
			}
			w.t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

func (w *crashRun) status(rt *Runtime, p int32) Status {
	for _, s := range rt.Status() {
		if s.Partition == p {
			return s
		}
	}
	return Status{}
}

// With two inputs the client's balancers gave one partition's topics to different members.
func TestInputsStayTogether(t *testing.T) {
	bubble(t, 24, func(t *testing.T, w *crashRun) {
		for p := range int32(24) {
			w.put("in", p, "1", "1")
			w.put("in2", p, "1", "1")
		}
		a, endA := w.begin("a", Config{Workers: 4}, ledgers("in", "in2"))
		b, endB := w.begin("b", Config{Workers: 1}, ledgers("in", "in2"))
		caught := func() bool {
			at := map[int32]int{}
			for _, s := range append(a.Status(), b.Status()...) {
				if s.State == "running" && s.Next["in"] == 2 && s.Next["in2"] == 2 {
					at[s.Partition]++
				}
			}
			for _, n := range at {
				if n != 1 {
					return false
				}
			}
			return len(at) == 24
		}
		w.until("every partition has one task that has read both inputs", time.Minute, caught)
		if n := len(b.Status()); n < 4 || n > 5 {
			t.Errorf("the fifth of five workers has %d of 24 partitions", n)
		}
		if err := errors.Join(endB(), endA()); err != nil {
			t.Error(err)
		}
	})
}

// The client rewinds to offset 0 where nothing was committed yet, and a log that begins later has no offset 0.
func TestFirstTransactionAbortsOnTrimmedLog(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		w.put("in", 0, "1", "2", "3", "4", "5")
		if err := w.c.DeleteRecords("in", 0, 3); err != nil {
			t.Fatal(err)
		}
		aborted := false
		rt, end := w.begin("a", Config{Workers: 1, failpoint: func(wk *worker, at string) error {
			if at == "flushed" && !aborted && len(wk.commits) > 0 && wk.commits[0].task.folded > 0 {
				aborted = true
				w.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.RebalanceInProgress, Count: 1})
			}
			return nil
		}}, ledgers("in"))
		w.until("the rest of the log is folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 5 })
		if err := end(); err != nil || !aborted {
			t.Errorf("aborted %v, error %v", aborted, err)
		}
	})
}

// refuser refuses what is long.
type refuser struct{}

func (refuser) Fold(b *stream.Batch) error {
	for i := range b.Records {
		if len(b.Records[i].Value) > 100 {
			b.Reject(i, "long", "too long")
		}
	}
	return nil
}

func (refuser) Flush(stream.Commit, *stream.Changes) error { return nil }

// A letter is larger than the record that it holds.
func TestLetterOfTheLargestRecord(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		big := strings.Repeat("x", 1<<20-200)
		w.put("in", 0, big, "1")
		proc := ledgers("in")
		proc.New = func(stream.Task) (stream.Handler, error) { return refuser{}, nil }
		if err := w.c.DeleteTopic(app + ".dlq"); err != nil {
			t.Fatal(err)
		}
		if err := w.c.CreateTopic(app+".dlq", 4, map[string]string{"max.message.bytes": fmt.Sprint(2 << 20)}); err != nil {
			t.Fatal(err)
		}
		rt, end := w.begin("a", Config{Workers: 1}, proc)
		w.until("the record is past", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 2 })
		if err := end(); err != nil {
			t.Error(err)
		}
		if got := w.read(app + ".dlq"); len(got) != 1 || string(got[0].Value) != big {
			t.Errorf("%d letters", len(got))
		}
	})
}

// A letter that the topic does not take stops its own partition, with the reason; the others go on.
func TestLetterRefused(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		big := make([]byte, 1<<20-200) // does not compress: the letter is too large for its topic's default
		for i := range big {
			big[i] = byte(w.rng.Uint32())
		}
		w.put("in", 0, string(big), "1")
		w.put("in", 1, "1")
		proc := ledgers("in")
		proc.New = func(stream.Task) (stream.Handler, error) { return refuser{}, nil }
		rt, end := w.begin("a", Config{Workers: 1}, proc)
		w.until("partition 0 stops", time.Minute, func() bool { return w.status(rt, 0).State == "stopped" })
		if s := w.status(rt, 0); !strings.Contains(s.Reason, "MESSAGE_TOO_LARGE") {
			t.Errorf("reason %q", s.Reason)
		}
		w.put("in", 1, "1", "1")
		w.until("partition 1 goes on", time.Minute, func() bool { return w.status(rt, 1).Next["in"] == 3 })
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// sick cannot flush partition 0: by error, or by panic.
type sick struct {
	*ledger
	panics bool
}

func (s sick) Flush(c stream.Commit, ch *stream.Changes) error {
	if s.p != 0 {
		return s.ledger.Flush(c, ch)
	}
	if s.panics {
		panic("sick")
	}
	return errors.New("sick")
}

// A task that cannot flush stops alone, after a few tries.
func TestFlushFails(t *testing.T) {
	for _, panics := range []bool{false, true} {
		t.Run(fmt.Sprint(panics), func(t *testing.T) {
			bubble(t, 4, func(t *testing.T, w *crashRun) {
				for p := range int32(4) {
					w.put("in", p, "1", "1")
				}
				proc := ledgers("in")
				proc.New = func(task stream.Task) (stream.Handler, error) {
					h, err := newLedger(task)
					return sick{h.(*ledger), panics}, err
				}
				rt, end := w.begin("a", Config{Workers: 1}, proc)
				w.until("partition 0 stops and the others go on", time.Minute, func() bool {
					return w.status(rt, 0).State == "stopped" && w.status(rt, 1).Next["in"] == 2 && w.status(rt, 3).Next["in"] == 2
				})
				if s := w.status(rt, 0); !strings.Contains(s.Reason, "sick") {
					t.Errorf("reason %q", s.Reason)
				}
				if err := end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A handler that cannot be made stops its partition; the error says why.
func TestNewFails(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		proc := ledgers("in")
		proc.New = func(task stream.Task) (stream.Handler, error) {
			if task.Partition == 2 {
				return nil, errors.New("state is not readable")
			}
			return newLedger(task)
		}
		rt, end := w.begin("a", Config{Workers: 1}, proc)
		w.until("partition 2 stops", time.Minute, func() bool { return w.status(rt, 2).State == "stopped" })
		if s := w.status(rt, 2); !strings.Contains(s.Reason, "state is not readable") {
			t.Errorf("reason %q", s.Reason)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// The client's End waits for a heartbeat that a failed one, with rebalances blocked, never lets come.
func TestMemberForgottenInsideTransaction(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		var flushed time.Time
		var longest time.Duration
		rt, end := w.begin("a", Config{Workers: 1, CommitInterval: 3 * time.Second, CommitIntervalMax: 3 * time.Second, failpoint: func(_ *worker, at string) error {
			switch at {
			case "flushed":
				flushed = time.Now()
			case "ended":
				longest = max(longest, time.Since(flushed))
			}
			return nil
		}}, ledgers("in"))
		w.until("it runs", time.Minute, func() bool { return w.status(rt, 3).State == "running" })
		stop, stopped := make(chan struct{}), make(chan struct{})
		n := int64(0)
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					w.put("in", 1, "1")
					n++
				}
			}
		}()
		time.Sleep(3 * time.Second)
		w.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.UnknownMemberID, Count: 1, TopLevel: true})
		time.Sleep(20 * time.Second)
		close(stop)
		<-stopped
		w.until("all is folded", time.Minute, func() bool { return w.status(rt, 1).Next["in"] == n })
		if longest > 5*time.Second {
			t.Errorf("one End took %s", longest)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// The first record after a takeover waited for the fetch under way, five seconds by the client's default.
func TestTakeoverIsQuick(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		for p := range int32(4) {
			w.put("in", p, "1")
		}
		began := time.Now()
		rt, end := w.begin("a", Config{Workers: 1}, ledgers("in"))
		w.until("all partitions have folded", 2*time.Second, func() bool {
			for p := range int32(4) {
				if w.status(rt, p).Next["in"] != 1 {
					return false
				}
			}
			return true
		})
		t.Logf("first records of all partitions after %s", time.Since(began))
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// Two processes under one name: one of them says so and ends.
func TestInstanceTaken(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		first, endFirst := w.begin("a", Config{Workers: 1}, ledgers("in"))
		w.until("the first runs", time.Minute, func() bool { return w.status(first, 3).State == "running" })
		second, endSecond := w.begin("a", Config{Workers: 1}, ledgers("in"))
		w.until("the second runs", time.Minute, func() bool { return w.status(second, 3).State == "running" })
		time.Sleep(20 * time.Second)
		if err := endFirst(); !errors.Is(err, kafka.ErrInstance) {
			t.Errorf("the first ended with %v", err)
		}
		if err := endSecond(); err != nil {
			t.Error(err)
		}
	})
}

// Poison in a row up to the limit passes; one more stops the partition, and nothing is lost.
func TestPoisonLimit(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		w.put("in", 0, "1", "poison", "poison", "poison", "2", "3")
		w.put("in", 1, "1", "poison", "poison", "poison", "poison", "2")
		rt, end := w.begin("a", Config{Workers: 1, PoisonLimit: 3}, ledgers("in"))
		w.until("partition 0 passes and 1 stops", time.Minute, func() bool {
			return w.status(rt, 0).Next["in"] == 6 && w.status(rt, 1).State == "stopped"
		})
		if s := w.status(rt, 1); !strings.Contains(s.Reason, "poison") {
			t.Errorf("reason %q", s.Reason)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		if n := len(w.read(app + ".dlq")); n != 3 {
			t.Errorf("%d letters, want 3", n)
		}
	})
}

// A group whose offsets the brokers forgot goes on from the state's own.
func TestOffsetsForgotten(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		fs := vfs.NewCrashableMem()
		w.foldThree(fs)
		cl := w.client()
		defer cl.Close()
		if _, err := kadm.NewClient(cl).DeleteGroup(context.Background(), app); err != nil {
			t.Fatal(err)
		}
		w.put("in", 0, "4")
		rt, end := w.begin("a", Config{Workers: 1, FS: fs}, ledgers("in"))
		w.until("the rest is folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 4 })
		if err := end(); err != nil {
			t.Error(err)
		}
		if n := len(w.read("out")); n != 4 {
			t.Errorf("%d outputs of 4 inputs", n)
		}
	})
}

// Offsets that somebody changed, a log that was cut past us: stop, and say how large the gap is.
func TestStopsRatherThanGuess(t *testing.T) {
	t.Run("group offset moved", func(t *testing.T) {
		bubble(t, 4, func(t *testing.T, w *crashRun) {
			fs := vfs.NewCrashableMem()
			w.foldThree(fs)
			cl := w.client()
			defer cl.Close()
			var moved kadm.Offsets
			moved.Add(kadm.Offset{Topic: "in", Partition: 0, At: 1, LeaderEpoch: -1})
			if err := kadm.NewClient(cl).CommitAllOffsets(context.Background(), app, moved); err != nil {
				t.Fatal(err)
			}
			rt, end := w.begin("a", Config{Workers: 1, FS: fs}, ledgers("in"))
			w.until("it stops", time.Minute, func() bool { return w.status(rt, 0).State == "stopped" })
			if s := w.status(rt, 0); !strings.Contains(s.Reason, "offset 1") || !strings.Contains(s.Reason, "the state is at 3") {
				t.Errorf("reason %q", s.Reason)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("retention passed us", func(t *testing.T) {
		bubble(t, 4, func(t *testing.T, w *crashRun) {
			fs := vfs.NewCrashableMem()
			w.foldThree(fs)
			w.put("in", 0, "4", "5", "6")
			if err := w.c.DeleteRecords("in", 0, 5); err != nil {
				t.Fatal(err)
			}
			rt, end := w.begin("a", Config{Workers: 1, FS: fs}, ledgers("in"))
			w.until("it stops", time.Minute, func() bool { return w.status(rt, 0).State == "stopped" })
			if s := w.status(rt, 0); !strings.Contains(s.Reason, "offsets 3 to 4 are gone: 2 records") {
				t.Errorf("reason %q", s.Reason)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("log cut", func(t *testing.T) {
		bubble(t, 4, func(t *testing.T, w *crashRun) {
			fs := vfs.NewCrashableMem()
			w.foldThree(fs)
			tear{store: 3, shift: 100}.spoil(t, w, fs)
			rt, end := w.begin("a", Config{Workers: 1, FS: fs}, ledgers("in"))
			w.until("it stops", time.Minute, func() bool { return w.status(rt, 0).State == "stopped" })
			if s := w.status(rt, 0); !strings.Contains(s.Reason, "the log was cut or replaced") {
				t.Errorf("reason %q", s.Reason)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("topic made anew", func(t *testing.T) {
		bubble(t, 4, func(t *testing.T, w *crashRun) {
			fs := vfs.NewCrashableMem()
			w.foldThree(fs)
			if err := errors.Join(w.c.DeleteTopic("in"), w.c.CreateTopic("in", 4, nil)); err != nil {
				t.Fatal(err)
			}
			w.put("in", 0, "7", "8", "9", "10")
			rt, end := w.begin("a", Config{Workers: 1, FS: fs}, ledgers("in"))
			w.until("it stops", time.Minute, func() bool { return w.status(rt, 0).State == "stopped" })
			if s := w.status(rt, 0); !strings.Contains(s.Reason, "created again") {
				t.Errorf("reason %q", s.Reason)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// A state directory in use, or of a newer version, or of another application, is refused.
func TestStateDirectoryRefused(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		fs := vfs.NewCrashableMem()
		rt, end := w.begin("a", Config{Workers: 1, FS: fs}, ledgers("in"))
		w.until("it runs", time.Minute, func() bool { return w.status(rt, 0).State == "running" })
		_, second := w.begin("b", Config{Workers: 1, FS: fs}, ledgers("in"))
		time.Sleep(time.Second)
		if err := second(); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "instance a") {
			t.Errorf("second process: %v", err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// Topics that are missing, or that somebody gave more partitions, are refused before anything is touched.
func TestTopicsRefused(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		proc := ledgers("in")
		proc.Partitions = 3
		_, end := w.begin("a", Config{Workers: 1}, proc)
		time.Sleep(time.Second)
		if err := end(); !errors.Is(err, ErrTopics) || !strings.Contains(err.Error(), "needs 3") {
			t.Errorf("topics with 4 partitions of 3: %v", err)
		}
		_, end = w.begin("a", Config{Workers: 1}, ledgers("nowhere"))
		time.Sleep(topicsWait + time.Second)
		if err := end(); !errors.Is(err, ErrTopics) || !strings.Contains(err.Error(), "weir topics apply") {
			t.Errorf("missing topic: %v", err)
		}
		rt, end := w.begin("a", Config{Workers: 1}, ledgers("late"))
		time.Sleep(2 * time.Second)
		if err := w.c.CreateTopic("late", 4, nil); err != nil {
			t.Fatal(err)
		}
		w.until("it runs once the topic is there", time.Minute, func() bool { return w.status(rt, 3).State == "running" })
		if err := end(); err != nil {
			t.Error(err)
		}
		if err := w.c.CreateTopic("wide", 8, nil); err != nil {
			t.Fatal(err)
		}
		_, end = w.begin("a", Config{Workers: 1}, ledgers("in", "wide"))
		time.Sleep(time.Second)
		if err := end(); !errors.Is(err, ErrTopics) {
			t.Errorf("inputs of 4 and 8 partitions: %v", err)
		}
	})
}

// TestTorn is about brokers that lose a part of a transaction they acknowledged, as one without replicas does when it
// restarts: store, changelog and group then know different things. The changelog wins.
func TestTorn(t *testing.T) {
	const ours = changelog.CommitMetadataPrefix + "7/7/7"
	for name, k := range map[string]tear{
		"log and group lost it":             {store: 5, shift: 1},
		"log lost it, group forgot":         {store: 5, shift: 1, forget: true},
		"log lost it":                       {store: 5, shift: 1, group: 5, by: ours},
		"log lost it, another is there":     {store: 5, group: 5, by: ours},
		"log lost it before the store had":  {group: 5, by: ours},
		"group lost it":                     {group: 2, by: ours},
		"group lost it, store did not have": {group: 2, by: ours, wipe: true},
	} {
		t.Run(name, func(t *testing.T) { k.run(t) })
	}
}

// tear is what is left of three folded records.
type tear struct {
	store  int64 // the store claims to have folded up to here; 0: the truth
	shift  int64 // and to have that from so far behind the log's last marker
	wipe   bool  // the store is gone
	group  int64 // the group's offset; 0: the truth
	by     string
	forget bool // the group is gone
}

func (k tear) run(t *testing.T) {
	bubble(t, 4, func(t *testing.T, w *crashRun) {
		fs := vfs.NewCrashableMem()
		w.foldThree(fs)
		if k.store > 0 {
			k.spoil(t, w, fs)
		}
		if k.wipe {
			fs = vfs.NewCrashableMem()
		}
		cl := w.client()
		defer cl.Close()
		adm := kadm.NewClient(cl)
		if k.group > 0 {
			var at kadm.Offsets
			at.Add(kadm.Offset{Topic: "in", At: k.group, LeaderEpoch: -1, Metadata: k.by})
			if err := adm.CommitAllOffsets(context.Background(), app, at); err != nil {
				t.Fatal(err)
			}
		}
		if k.forget {
			if _, err := adm.DeleteGroup(context.Background(), app); err != nil {
				t.Fatal(err)
			}
		}
		w.put("in", 0, "4", "5", "6")
		rt, end := w.begin("a", Config{Workers: 1, FS: fs}, ledgers("in"))
		w.until("the rest is folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 6 })
		snap, err := rt.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		sum, err := snap.Get(0, 1, []byte("k"))
		if err != nil || len(sum) != 8 || sum[7] != 21 {
			t.Errorf("the sum of 1 to 6 is %x, %v", sum, err)
		}
		if err := errors.Join(snap.Close(), end()); err != nil {
			t.Error(err)
		}
		if n := len(w.read("out")); n != 6 {
			t.Errorf("%d outputs of 6 inputs", n)
		}
		got, err := adm.FetchOffsets(context.Background(), app)
		if o, _ := got.Lookup("in", 0); err != nil || o.At != 6 {
			t.Errorf("the group is at %d, %v", o.At, err)
		}
	})
}

// spoil gives the store a transaction that the log does not have.
func (k tear) spoil(t *testing.T, w *crashRun, fs *vfs.MemFS) {
	cfg := Config{Kafka: w.kafka(), Dir: "/state", FS: fs, Log: &w.log}
	cfg.Complete()
	s, err := store.Open(cfg.database(), app)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := s.Meta(s.DB, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := s.DB.NewBatch()
	meta.Marker.Inputs[0].Next, meta.Marker.Sequence = k.store, meta.Marker.Sequence+1
	meta.ChangelogNext += k.shift
	err = errors.Join(b.Set(store.Key(0, 1, []byte("k")), []byte("12345678"), nil), store.PutMeta(b, 0, meta), b.Commit(nil), s.Close())
	if err != nil {
		t.Fatal(err)
	}
}
