//go:build synctests

package follower

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/processorstest/crashfs"
)

// fixture is a cluster with a plain topic and a changelog, and a process with a follower of both.
type fixture struct {
	t       *testing.T
	cluster *simkafka.Cluster
	link    *simkafka.Link // of the process
	fs      *crashfs.FS
	log     bytes.Buffer
	logMu   sync.Mutex
	writer  *kgo.Client
	aborter string // transactional id of the transactions that abort

	f         *Follower
	stop      context.CancelFunc
	ended     chan error
	failpoint func(at string) error
	changed   func(Change) error

	view    map[string]string // by place: rows by OnOpen and OnChange
	offsets map[id]int64      // of the last change of each partition, since OnOpen
	changes int
}

const partitions = 3

// settings are those of a topic that keeps tombstones for an hour.
func settings() map[string]string {
	return map[string]string{"cleanup.policy": "compact", "delete.retention.ms": "3600000"}
}

func topics() []Topic { return []Topic{{Name: "plain"}, {Name: "log", Changelog: true}} }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	c, err := simkafka.NewWithBrokers(1, partitions)
	if err != nil {
		t.Fatal(err)
	}
	x := &fixture{t: t, cluster: c, link: c.Link(), fs: crashfs.New(), aborter: "writer", failpoint: func(string) error { return nil }}
	for _, topic := range topics() {
		if err := c.CreateTopic(topic.Name, partitions, settings()); err != nil {
			t.Fatal(err)
		}
	}
	x.writer = x.client()
	return x
}

func (x *fixture) close() {
	x.halt()
	x.writer.Close()
	x.cluster.Close()
}

func (x *fixture) client(opts ...kgo.Opt) *kgo.Client {
	x.t.Helper()
	cl, err := kgo.NewClient(append(append(x.cluster.Link().Options(), kgo.RecordPartitioner(kgo.ManualPartitioner())), opts...)...)
	if err != nil {
		x.t.Fatal(err)
	}
	return cl
}

// Write is the log of the follower.
func (x *fixture) Write(b []byte) (int, error) {
	x.logMu.Lock()
	defer x.logMu.Unlock()
	return x.log.Write(b)
}

func (x *fixture) logged(event string) int {
	x.logMu.Lock()
	defer x.logMu.Unlock()
	return strings.Count(x.log.String(), `"`+event+`"`)
}

func place(topic string, n int32, key []byte) string { return fmt.Sprintf("%s[%d] %x", topic, n, key) }

// start runs the follower until halt.
func (x *fixture) start() {
	x.t.Helper()
	log := zerolog.New(x)
	f, err := New(Config{
		Kafka: kafka.Cluster{Options: x.link.Options()}, Dir: "/state", Name: "f", Topics: topics(), FS: x.fs, Log: &log, Instance: "i",
		CacheBytes: 1 << 20, MemtableBytes: 1 << 20, OnOpen: x.onOpen, OnChange: x.onChange, failpoint: x.failpoint,
	})
	if err != nil {
		x.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.f, x.stop, x.ended = f, cancel, make(chan error, 1)
	go func() { x.ended <- f.Run(ctx) }()
}

// halt ends the follower.
func (x *fixture) halt() {
	x.t.Helper()
	if x.f == nil {
		return
	}
	x.stop()
	if err := <-x.ended; err != nil && !errors.Is(err, errKilled) {
		x.t.Errorf("Run: %v", err)
	}
	x.f = nil
}

func (x *fixture) onOpen(s *Snapshot) error {
	x.view, x.offsets = map[string]string{}, map[id]int64{}
	for _, topic := range topics() {
		for _, n := range s.Partitions(topic.Name) {
			next, err := s.Next(topic.Name, n)
			x.offsets[id{topic.Name, n}] = next - 1
			err = errors.Join(err, s.Scan(topic.Name, n, nil, func(r Row) error {
				x.view[place(topic.Name, n, r.Key)] = string(r.Value)
				return nil
			}))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// onChange applies a change to the view, which must have its old value.
func (x *fixture) onChange(c Change) error {
	x.changes++
	at := place(c.Topic, c.Partition, c.Key)
	if old, has := x.view[at]; has != (c.Old != nil) || old != string(c.Old) {
		x.t.Errorf("%s at %d: the change is from %q, the view has %q", at, c.Offset, c.Old, old)
	}
	if c.New == nil {
		delete(x.view, at)
	} else {
		x.view[at] = string(c.New)
	}
	p := x.f.parts[id{c.Topic, c.Partition}]
	if p.load == nil && p.slot >= 0 && c.Offset >= 0 { // a change of the log, not of a load
		if last, seen := x.offsets[id{c.Topic, c.Partition}]; seen && c.Offset <= last {
			x.t.Errorf("%s: offset %d after %d", at, c.Offset, last)
		}
		x.offsets[id{c.Topic, c.Partition}] = c.Offset
	}
	if x.changed != nil {
		return x.changed(c)
	}
	return nil
}

// await waits until the follower has read everything that is in the log now.
func (x *fixture) await() {
	x.t.Helper()
	asked := time.Now()
	for range 600 {
		if x.f.AsOf().After(asked) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	x.t.Fatalf("not caught up after a minute: %+v\n%s", x.f.Status(), x.log.String())
}

// check compares the rows and the view with a fold of the log.
func (x *fixture) check() {
	x.t.Helper()
	x.await()
	want, got := map[string]string{}, map[string]string{}
	for _, topic := range topics() {
		records, err := x.cluster.Read(context.Background(), topic.Name)
		if err != nil {
			x.t.Fatal(err)
		}
		for _, r := range records {
			switch at := place(topic.Name, r.Partition, r.Key); {
			case r.Key == nil, topic.Changelog && (len(r.Key) == 0 || r.Key[0] == 0):
			case r.Value == nil:
				delete(want, at)
			default:
				want[at] = string(r.Value)
			}
		}
		s, err := x.f.Snapshot()
		if err != nil {
			x.t.Fatal(err)
		}
		for _, n := range s.Partitions(topic.Name) {
			if err := s.Scan(topic.Name, n, nil, func(r Row) error {
				got[place(topic.Name, n, r.Key)] = string(r.Value)
				return nil
			}); err != nil {
				x.t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			x.t.Error(err)
		}
	}
	if !maps.Equal(got, want) {
		x.t.Errorf("rows %v\nwant %v", got, want)
	}
	if !maps.Equal(x.view, want) {
		x.t.Errorf("view %v\nwant %v", x.view, want)
	}
}

// send writes records to one partition; an empty value is a tombstone.
func (x *fixture) send(cl *kgo.Client, topic string, n int32, pairs ...string) {
	x.t.Helper()
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		r := &kgo.Record{Topic: topic, Partition: n, Key: []byte(key)}
		if value != "" {
			r.Value = []byte(value)
		}
		if err := cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			x.t.Fatal(err)
		}
	}
}

// transact writes records in a transaction.
func (x *fixture) transact(end kgo.TransactionEndTry, topic string, n int32, pairs ...string) {
	x.t.Helper()
	name := "writer"
	if end == kgo.TryAbort {
		name = x.aborter
	}
	cl := x.client(kgo.TransactionalID(name))
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		x.t.Fatal(err)
	}
	x.send(cl, topic, n, pairs...)
	if err := cl.EndTransaction(context.Background(), end); err != nil {
		x.t.Fatal(err)
	}
}

// TestFollow: rows, tombstones, aborted transactions, records of the runtime, and a restart that
// reads nothing again.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t)
		defer x.close()
		x.send(x.writer, "plain", 0, "a=1", "b=2", "a=3", "c=4", "c=")
		x.transact(kgo.TryAbort, "plain", 1, "x=never")
		x.transact(kgo.TryCommit, "log", 2, "\x01k=v", string(changelogpb.SystemKey(changelogpb.MarkerKey))+"=m")
		began := time.Now()
		x.start()
		<-x.f.CaughtUp()
		if took := time.Since(began); took >= askEvery {
			t.Errorf("caught up after %s: with the second answer of the brokers, and not with the last load", took)
		}
		x.check()
		x.send(x.writer, "plain", 0, "b=", "d=5", "d=6", "gone=")
		x.transact(kgo.TryAbort, "log", 2, "\x01k=never")
		if err := x.writer.ProduceSync(context.Background(), &kgo.Record{Topic: "plain", Partition: 0, Value: []byte("no key")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		x.check()
		row, found, err := x.f.Get("plain", 0, []byte("a"))
		if string(row.Value) != "3" || row.Offset != 2 || !found || err != nil {
			t.Errorf("a is %+v, %t, %v", row, found, err)
		}
		if _, found, err := x.f.Get("plain", 0, []byte("c")); found || err != nil {
			t.Errorf("a deleted row: %t, %v", found, err)
		}
		if _, _, err := x.f.Get("plain", 9, nil); !errors.Is(err, ErrLoading) {
			t.Errorf("a partition that does not exist: %v", err)
		}
		if s := x.f.Status()[partitions]; s.Topic != "plain" || s.Skipped != 1 || s.State != StateFollowing || s.Next != s.End {
			t.Errorf("status %+v", s)
		}
		x.halt()
		loads, changes := x.logged("follower_loading"), x.changes
		x.send(x.writer, "plain", 0, "e=7")
		time.Sleep(30 * time.Minute)
		x.start()
		x.check()
		if n := x.logged("follower_loading"); n != loads || x.changes != changes+1 {
			t.Errorf("a restart made %d loads and %d changes", n-loads, x.changes-changes)
		}
	})
}

// TestCaughtUp: neither an empty partition, whose load ends at once, nor a topic that does not
// exist counts for the others.
func TestCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t)
		defer x.close()
		x.send(x.writer, "plain", 2, "a=1")
		if err := x.cluster.DeleteTopic("log"); err != nil {
			t.Fatal(err)
		}
		x.start()
		time.Sleep(time.Minute)
		select {
		case <-x.f.CaughtUp():
			t.Errorf("caught up without a topic: %+v", x.f.Status())
		default:
		}
		if err := x.cluster.CreateTopic("log", partitions, settings()); err != nil {
			t.Fatal(err)
		}
		x.send(x.writer, "log", 2, "\x01k=v")
		<-x.f.CaughtUp()
		if _, found, err := x.f.Get("log", 2, []byte("\x01k")); !found || err != nil {
			t.Errorf("caught up without a row: %t, %v", found, err)
		}
	})
}

// TestTopicChanges: a topic that is created later, partitions that are added, a topic that is
// created again, and a log whose start moves past the position.
func TestTopicChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t)
		defer x.close()
		if err := x.cluster.DeleteTopic("plain"); err != nil {
			t.Fatal(err)
		}
		x.start()
		time.Sleep(time.Minute)
		if s := x.f.Status()[partitions]; s.Partition != -1 || !strings.Contains(s.Reason, "does not exist") {
			t.Errorf("status %+v", s)
		}
		create := func(n int32) {
			if err := x.cluster.CreateTopic("plain", n, settings()); err != nil {
				t.Fatal(err)
			}
		}
		create(1)
		x.send(x.writer, "plain", 0, "a=1", "b=2")
		x.check()
		<-x.f.CaughtUp()

		if _, err := kadm.NewClient(x.writer).CreatePartitions(context.Background(), 1, "plain"); err != nil {
			t.Fatal(err)
		}
		x.writer.ForceMetadataRefresh()
		time.Sleep(10 * time.Second)
		x.send(x.writer, "plain", 1, "c=3")
		x.check()
		if n := len(x.f.Status()); n != partitions+2 {
			t.Errorf("%d partitions", n)
		}

		if err := x.cluster.DeleteTopic("plain"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, found, err := x.f.Get("plain", 0, []byte("a")); !found || err != nil {
			t.Errorf("the rows of a deleted topic: %t, %v", found, err)
		}
		create(1)
		x.writer.Close()
		x.writer = x.client()
		x.send(x.writer, "plain", 0, "z=9")
		x.check()
		if x.logged("follower_topic_recreated") != 1 {
			t.Error(x.log.String())
		}

		x.halt()
		x.send(x.writer, "plain", 0, "y=1", "z=", "x=1")
		if err := x.cluster.DeleteRecords("plain", 0, 3); err != nil { // the tombstone of z is gone
			t.Fatal(err)
		}
		x.start()
		x.check()
		if _, found, _ := x.f.Get("plain", 0, []byte("z")); found {
			t.Error("a row whose tombstone is gone is still there")
		}
	})
}

// TestLongOutage: while the brokers are away, reads return what the store has, and the rows say as
// of when. A follower that was away for longer than tombstones are kept loads the partitions again:
// a row whose tombstone compaction has removed disappears. After a shorter time it continues.
func TestLongOutage(t *testing.T) {
	for _, away := range []time.Duration{10 * time.Minute, 90 * time.Minute} {
		for _, restart := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { outage(t, away, restart) })
		}
	}
}

func outage(t *testing.T, away time.Duration, restart bool) {
	x := newFixture(t)
	defer x.close()
	x.send(x.writer, "plain", 0, "a=1", "b=2")
	x.start()
	x.check()
	loads := x.logged("follower_loading")
	x.link.Cut()
	if restart {
		x.halt()
		x.start()
	}
	x.send(x.writer, "plain", 0, "a=", "c=3")
	time.Sleep(away - time.Second)
	x.send(x.writer, "plain", 0, "d=4")
	x.cluster.Compact()
	time.Sleep(time.Second)
	records, err := x.cluster.Read(context.Background(), "plain")
	if gone := !slices.ContainsFunc(records, func(r *kgo.Record) bool { return string(r.Key) == "a" }); err != nil || gone != (away > time.Hour) {
		t.Errorf("after %s the tombstone is gone: %t, %v", away, gone, err)
	}
	if row, _, err := x.f.Get("plain", 0, []byte("a")); string(row.Value) != "1" || err != nil {
		t.Errorf("while the brokers are away: %+v, %v", row, err)
	}
	if age := time.Since(x.f.AsOf()); age < away || age > away+time.Minute {
		t.Errorf("after %s the age is %s", away, age)
	}
	if x.logged("follower_failed") != 1 {
		t.Error(x.log.String())
	}
	x.link.Heal()
	x.check()
	if n := x.logged("follower_loading") - loads; n != 0 && away < time.Hour || n != 2*partitions && away > time.Hour {
		t.Errorf("%d loads after %s", n, away)
	}
	if x.logged("follower_recovered") != 1 {
		t.Error(x.log.String())
	}
}

// TestLocked: a second process with the same directory gets an error that names the first.
func TestLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t)
		defer x.close()
		x.start()
		<-x.f.CaughtUp()
		f, err := New(x.f.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Run(context.Background()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "instance i") {
			t.Errorf("a second follower: %v", err)
		}
		if _, err := f.Snapshot(); !errors.Is(err, ErrNotRunning) {
			t.Errorf("a snapshot of a follower that does not run: %v", err)
		}
	})
}

// TestDamage: a damaged store is replaced, and the rows are read again.
func TestDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t)
		defer x.close()
		x.send(x.writer, "plain", 0, "a=1")
		x.start()
		x.check()
		x.f.store.ReportDamage(errors.New("injected"))
		time.Sleep(10 * time.Second)
		x.send(x.writer, "plain", 0, "b=1")
		x.check()
		if x.logged("store_damaged") != 1 {
			t.Error(x.log.String())
		}
	})
}

// crashRuns is the number of seeds of TestCrashes. WEIR_TEST_CRASH_RUNS sets another number.
const crashRuns = 12

// failpoints are the places at which the process is killed.
func failpoints() []string {
	return []string{"change", "loaded", "reported", "switched", "applied", "committed"}
}

// TestCrashes kills the process at random failpoints, and loses unsynced writes of the disk. After
// each start the rows equal the fold of the log, and a view that is started by OnOpen and kept by
// OnChange equals them.
func TestCrashes(t *testing.T) {
	runs, mu, seen := uint64(crashRuns), sync.Mutex{}, map[string]int{}
	if testing.Short() {
		runs = 4
	}
	if n, err := strconv.ParseUint(os.Getenv("WEIR_TEST_CRASH_RUNS"), 10, 64); err == nil {
		runs = n / 4
	}
	t.Run("seeds", func(t *testing.T) {
		for seed := range runs {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					at := crash(t, seed)
					mu.Lock()
					defer mu.Unlock()
					for k, n := range at {
						seen[k] += n
					}
				})
			})
		}
	})
	for _, at := range failpoints() {
		if seen[at] == 0 && runs >= crashRuns {
			t.Errorf("no crash at %s: %v", at, seen)
		}
	}
}

func crash(t *testing.T, seed uint64) map[string]int {
	rng := rand.New(rand.NewPCG(seed, 11))
	x := newFixture(t)
	defer x.close()
	compacts := seed%2 == 0
	if compacts {
		// The compaction of kfake removes the marker of an abort, but not the entry of its index. A
		// client then takes later records of the same producer for aborted.
		x.aborter = "aborter"
	}
	// The follower runs on a goroutine of its own: it has its own random numbers.
	ofCrash := rand.New(rand.NewPCG(seed, 12))
	seen, target := map[string]int{}, ""
	var left atomic.Int32
	x.failpoint = func(at string) error {
		if at != target || left.Add(-1) != 0 {
			return nil
		}
		seen[at]++
		x.fs = x.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[ofCrash.IntN(3)], RNG: ofCrash})
		return errKilled
	}
	x.changed = func(Change) error { return x.failpoint("change") }
	for range 8 {
		target = failpoints()[rng.IntN(len(failpoints()))]
		left.Store(1 + rng.Int32N(4))
		x.start()
		for range 6 {
			x.write(rng)
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		}
		if compacts && rng.IntN(4) == 0 {
			x.cluster.Compact()
		}
		if rng.IntN(4) == 0 {
			left.Store(0)
		}
		select {
		case err := <-x.ended:
			if !errors.Is(err, errKilled) {
				t.Fatalf("Run: %v", err)
			}
			x.ended <- err
		case <-time.After(5 * time.Second):
			left.Store(0)
		}
		x.halt()
	}
	left.Store(0)
	x.start()
	x.check()
	return seen
}

// write writes some records of few keys, in a transaction that may abort.
func (x *fixture) write(rng *rand.Rand) {
	topic, n := topics()[rng.IntN(2)].Name, int32(rng.IntN(partitions))
	var pairs []string
	for range 1 + rng.IntN(5) {
		value := ""
		if rng.IntN(3) > 0 {
			value = fmt.Sprint(rng.IntN(1000))
		}
		pairs = append(pairs, fmt.Sprintf("%c%d=%s", rng.IntN(3), rng.IntN(6), value))
	}
	switch rng.IntN(6) {
	case 0:
		x.transact(kgo.TryAbort, topic, n, pairs...)
	case 1, 2:
		x.send(x.writer, topic, n, pairs...)
	default:
		x.transact(kgo.TryCommit, topic, n, pairs...)
	}
}

// TestConfig: New refuses what cannot work.
func TestConfig(t *testing.T) {
	good := Config{Kafka: kafka.Cluster{Brokers: []string{"b:1"}}, Dir: "/d", Name: "f", Topics: []Topic{{Name: "a"}}}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Kafka.Brokers = nil },
		func(c *Config) { c.Dir = "" },
		func(c *Config) { c.Name = "a/b" },
		func(c *Config) { c.Topics = nil },
		func(c *Config) { c.Topics = []Topic{{Name: "a b"}} },
		func(c *Config) { c.Topics = slices.Repeat(c.Topics, 2) },
	} {
		c := good
		if change(&c); true {
			if _, err := New(c); !errors.Is(err, ErrConfig) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	if store.IsDamage(ErrConfig) {
		t.Error("a wrong configuration counts as damage")
	}
}
