//go:build synctests

package offline

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

const appID = "account"

// cluster is a fake cluster in virtual time, and what runs on it.
type cluster struct {
	t    *testing.T
	c    *simkafka.Cluster
	log  zerolog.Logger
	ends []func() // of runtimes begun
}

// bubble runs f with a cluster of its own, with topics of n partitions.
func inBubble(t *testing.T, n int32, f func(t *testing.T, w *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		w := &cluster{t: t, log: zerolog.Nop()}
		if os.Getenv("BUBBLE_LOG") != "" {
			w.log = zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, NoColor: true}).Level(zerolog.InfoLevel)
		}
		c, err := simkafka.New(n, "in", "in2", "log", "out", appID+".dlq")
		if err != nil {
			t.Fatal(err)
		}
		w.c = c
		defer c.Close()
		f(t, w)
	})
}

func (w *cluster) kafka() kafka.Cluster {
	return kafka.Cluster{Brokers: w.c.ListenAddrs(), Options: w.c.Link().Options()}
}

func (w *cluster) client(opts ...kgo.Opt) *kgo.Client {
	cl, err := w.kafka().Client(opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return cl
}

// begin starts a runtime; end stops it and gives its error.
func (w *cluster) begin(name string, cfg processors.Config, proc stream.Processor) (rt *processors.Runtime, end func() error) {
	cfg.Kafka, cfg.Dir, cfg.Instance, cfg.Log, cfg.CacheBytes = w.kafka(), "/state", name, &w.log, 1<<20
	if cfg.FS == nil {
		cfg.FS = vfs.NewCrashableMem()
	}
	rt, err := processors.New(cfg, proc)
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
func (w *cluster) foldThree(fs *vfs.MemFS) {
	w.t.Helper()
	w.put("in", 0, "1", "2", "3")
	rt, end := w.begin("a", processors.Config{Workers: 1, FS: fs}, accounts("in"))
	w.until("it is folded", time.Minute, func() bool { return w.status(rt, 0).Next["in"] == 3 })
	if err := end(); err != nil {
		w.t.Fatal(err)
	}
}

func accounts(topics ...string) stream.Processor {
	return stream.Processor{App: appID, Inputs: topics, Changelog: "log", Outputs: stream.OutputTopics("out"), New: newAccount}
}

func (w *cluster) put(topic string, p int32, values ...string) {
	cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(1<<20))
	defer cl.Close()
	for _, v := range values {
		if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Partition: p, Key: []byte("k"), Value: []byte(v)}).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// until waits for a condition, in virtual time.
func (w *cluster) until(what string, limit time.Duration, ok func() bool) {
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

func (w *cluster) status(rt *processors.Runtime, p int32) processors.Status {
	for _, s := range rt.Status() {
		if s.Partition == p {
			return s
		}
	}
	return processors.Status{}
}

// account is the core under test: a sum per key, and one output for each input. Value "bad" is refused, "poison" panics.
type account struct {
	get   func(table byte, key []byte) ([]byte, error)
	sums  map[string]int64
	dirty map[string]bool
	outs  []string
	p     int32
	next  map[string]int64
}

func newAccount(t stream.Task) (stream.Handler, error) {
	return &account{get: t.Get, p: t.Partition, sums: map[string]int64{}, dirty: map[string]bool{}, next: t.Next}, nil
}

func (l *account) RebuildFrom() map[string]int64 {
	return map[string]int64{"in": max(0, l.next["in"]-10), "in2": max(0, l.next["in2"]-5)}
}

func (l *account) Rebuild(b *stream.Batch) error {
	for _, r := range b.Records {
		if r.Offset >= l.next[b.Topic] {
			return fmt.Errorf("warmed with %s@%d, state is at %d", b.Topic, r.Offset, l.next[b.Topic])
		}
	}
	return nil
}

func (l *account) Fold(b *stream.Batch) error {
	for i, r := range b.Records {
		if string(r.Value) == "bad" {
			b.Reject(i, "bad", "the value says so")
			continue
		}
		key := string(r.Key)
		if _, ok := l.sums[key]; !ok {
			v, err := l.get(1, r.Key)
			if err != nil {
				return err
			}
			if v != nil {
				l.sums[key] = int64(binary.BigEndian.Uint64(v))
			}
		}
		if string(r.Value) == "poison" {
			l.sums[key] += 1 << 40 // a half-done fold: it must not survive
			panic("poison")
		}
		n, err := strconv.ParseInt(string(r.Value), 10, 64)
		if err != nil {
			return err
		}
		l.sums[key] += n
		l.dirty[key] = true
		l.outs = append(l.outs, fmt.Sprintf("%s/%d/%d", b.Topic, l.p, r.Offset))
	}
	return nil
}

func (l *account) Flush(_ stream.Commit, ch *stream.Changes) error {
	for k := range l.dirty {
		ch.Put(1, []byte(k), binary.BigEndian.AppendUint64(nil, uint64(l.sums[k])))
	}
	for _, o := range l.outs {
		ch.EmitTo("out", l.p, stream.Message{Key: []byte(o), Value: []byte(o)})
	}
	for k := range l.sums { // what the last flush gave is there for Get
		if !l.dirty[k] {
			delete(l.sums, k)
		}
	}
	clear(l.dirty)
	l.outs = l.outs[:0]
	return nil
}

// timedAccount is a account that sets two timers for each record it takes, one of each clock, and says when they fired.
type timedAccount struct {
	*account
	timers stream.Timers
	fires  []string
}

func newTimedAccount(t stream.Task) (stream.Handler, error) {
	h, err := newAccount(t)
	if err != nil {
		return nil, err
	}
	return &timedAccount{account: h.(*account), timers: t.Timers}, nil
}

func (l *timedAccount) Fold(b *stream.Batch) error {
	if err := l.account.Fold(b); err != nil {
		return err
	}
	refused := map[int]bool{}
	for _, r := range b.Rejects {
		refused[r.Index] = true
	}
	for i, r := range b.Records {
		if !refused[i] {
			key := fmt.Appendf(nil, "%s/%d/%d", b.Topic, l.p, r.Offset)
			l.timers.Set(stream.Timer{Clock: stream.EventTime, AtMs: r.TimeMs + 1500, Key: key})
			l.timers.Set(stream.Timer{Clock: stream.WallTime, AtMs: r.TimeMs + 700, Key: key})
		}
	}
	return nil
}

func (l *timedAccount) OnTimer(nowMs int64, due []stream.Timer) error {
	for _, t := range due {
		if t.AtMs > nowMs {
			return fmt.Errorf("timer %s is due at %d, it is %d", t.Key, t.AtMs, nowMs)
		}
		l.fires = append(l.fires, fmt.Sprintf("%d %s", t.Clock, t.Key))
	}
	return nil
}

func (l *timedAccount) Flush(c stream.Commit, ch *stream.Changes) error {
	for _, f := range l.fires {
		ch.EmitTo("fired", l.p, stream.Message{Key: []byte(f), Value: []byte(f)})
	}
	l.fires = l.fires[:0]
	return l.account.Flush(c, ch)
}

func balanceOf(v string) (int64, error) { return int64(binary.BigEndian.Uint64([]byte(v))), nil }
