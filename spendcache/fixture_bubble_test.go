//go:build synctests

package spendcache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

const shards = 2

// ring has the datacentres; the tests are in eu.
func ring() []string { return []string{"eu", "us", "ap"} }

// fixture is the Kafka of eu with the datasets of eu, us and ap, whose counters are written by the
// test, and a spend cache.
type fixture struct {
	*testing.T
	kafka    *processorstest.Remote
	fs       follower.FS
	counters map[string]*counter
	log      lockedBuffer

	adjust func(*Config) // nil: none
	silent bool          // count failures instead of reporting them
	wrong  int
	link   processorstest.RemoteLink
	cache  *Cache
	stop   func()
}

// lockedBuffer is the log of the cache.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) count(event string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), event)
}

// counter writes the dataset of one datacentre: in each shard a row of a campaign, and the health.
type counter struct {
	x       *fixture
	dc      string
	skew    time.Duration            // of its clock
	late    time.Duration            // its rows arrive so long after they were written
	lag     map[string]time.Duration // by origin: it counts no newer events
	missing float64                  // part of the events that it never gets
	seq     uint64
	epoch   uint64
	begun   uint64 // incarnation
	events  uint64
}

// errFailed ends a silent test.
var errFailed = errors.New("the test has failed")

// Errorf counts a failure of a silent test.
func (x *fixture) Errorf(format string, args ...any) {
	x.Helper()
	if x.silent {
		x.wrong++
		return
	}
	x.T.Errorf(format, args...)
}

// Fatalf ends a silent test.
func (x *fixture) Fatalf(format string, args ...any) {
	x.Helper()
	if x.silent {
		x.wrong++
		panic(errFailed)
	}
	x.T.Fatalf(format, args...)
}

// fails reports whether f fails in a bubble.
func fails(t *testing.T, f func(x *fixture)) (failed bool) {
	t.Helper()
	inCluster(t, func(x *fixture) {
		x.silent = true
		defer func() {
			if r := recover(); r != nil && r != any(errFailed) {
				panic(r)
			}
			failed = x.wrong > 0
		}()
		f(x)
	})
	return failed
}

// inCluster runs f in a bubble, with a cache that is not started.
func inCluster(t *testing.T, f func(x *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x := &fixture{T: t, fs: processorstest.MemFS(), counters: map[string]*counter{}}
		x.kafka = processorstest.NewRemote(t, shards, x.topics()...)
		for _, dc := range ring() {
			x.counters[dc] = &counter{x: x, dc: dc, lag: map[string]time.Duration{}, epoch: 1, begun: 1}
		}
		f(x)
		x.halt()
	})
}

func (x *fixture) config() Config {
	log := zerolog.New(&x.log)
	c := Config{
		Kafka: x.link.Kafka, Dir: "/state", DC: "eu", Ring: ring(), Writers: []string{"us", "ap"}, Layout: events.Layout{Shards: shards},
		Pacing: true, FS: x.fs, Instance: "i", CacheBytes: 1 << 20, MemtableBytes: 1 << 20, Log: &log,
	}
	if x.adjust != nil {
		x.adjust(&c)
	}
	return c
}

func (x *fixture) topics() []string { return x.config().Topics() }

// start runs a cache until halt.
func (x *fixture) start() {
	x.Helper()
	x.link = x.kafka.Link()
	cache, err := New(x.config())
	if err != nil {
		x.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cache.Run(ctx) }()
	x.cache = cache
	x.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			x.Errorf("Run returned %v", err)
		}
	}
}

func (x *fixture) halt() {
	if x.stop != nil {
		x.stop()
		x.stop = nil
	}
}

// ready starts a cache and waits until it has read everything.
func (x *fixture) ready() {
	x.Helper()
	x.start()
	x.await("the cache is ready", func() bool { ready, _ := x.cache.Ready(); return ready })
}

// await waits until holds returns true, for a minute.
func (x *fixture) await(what string, holds func() bool) {
	x.Helper()
	for range 600 {
		if holds() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	x.Fatalf("a minute has passed, and not: %s; %s", what, x.describe())
}

func (x *fixture) describe() (text string) {
	for _, s := range x.cache.Datasets() {
		text += fmt.Sprintf("%s; ", s.Choice.Text())
	}
	return text
}

// pass lets seconds pass, in each of which the counters of datacentres write.
func (x *fixture) pass(seconds int, dcs ...string) {
	x.Helper()
	for range seconds {
		for _, dc := range dcs {
			x.counters[dc].write()
		}
		time.Sleep(time.Second)
	}
}

// write writes one transaction for each shard: a row and the health behind it.
func (c *counter) write() {
	c.x.Helper()
	c.seq++
	c.events++
	for shard := range int32(shards) {
		c.commit(shard, c.row(shard), c.health(shard))
	}
}

func (c *counter) topic() string {
	cfg := c.x.config()
	return cfg.topic(c.dc)
}

func (c *counter) commit(shard int32, list ...stream.Message) {
	c.x.Helper()
	c.x.kafka.Commit("counter-"+c.dc, c.topic(), shard, list...)
}

// accountOf returns an account of a shard.
func accountOf(shard int32) string {
	for n := 0; ; n++ {
		if name := fmt.Sprintf("account-%d", n); events.Shard(name, shards) == shard {
			return name
		}
	}
}

// row is the row of the campaign of a shard: a cent for each event, so that the charges are the
// sequence number.
func (c *counter) row(shard int32) stream.Message {
	return c.message(&eventspb.Spend{
		Account: accountOf(shard), Campaign: "spring", BudgetDay: today, Currency: "USD", Incarnation: c.begun, OwnerEpoch: c.epoch,
		Sequence: c.seq, ByDc: []*eventspb.SpendByDC{{ServingDc: "eu", ChargedMicros: int64(c.seq) * 10_000}},
	})
}

func (c *counter) message(s *eventspb.Spend) stream.Message {
	currency, err := events.ParseCurrency(s.GetCurrency())
	if err != nil {
		c.x.Fatal(err)
	}
	key := spendcounter.AppendKey([]byte{spendcounter.TableSpend}, []byte(s.GetAccount()), []byte(s.GetCampaign()), events.Day(s.GetBudgetDay()),
		currency)
	return stream.Message{Key: key, Value: c.marshal(s)}
}

func (c *counter) marshal(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		c.x.Fatal(err)
	}
	return b
}

// health is the health row of a shard now.
func (c *counter) health(shard int32) stream.Message {
	now := time.Now()
	h := &eventspb.SpendHistogram{
		WriterDc: c.dc, Shard: shard, Incarnation: c.begun, OwnerEpoch: c.epoch, Sequence: c.seq, WrittenAtMs: now.Add(c.skew - c.late).UnixMilli(),
	}
	for _, origin := range ring() {
		h.Origins = append(h.Origins, &eventspb.OriginHealth{
			Dc: origin, WatermarkMs: now.Add(-c.lag[origin]).UnixMilli(), Count_60S: uint64(1000 * (1 - c.missing)), CumulativeCount: uint64(90_000 - 1000*c.missing),
		})
	}
	return stream.Message{Key: append([]byte{spendcounter.TableHealth}, spendcounter.HealthKey(c.dc, shard)...), Value: c.marshal(h)}
}

// account reads the account of a shard, and returns the charges of its campaign in cents.
func (x *fixture) account(shard int32) (c *Choice, cents int64) {
	x.Helper()
	rows := 0
	c, err := x.cache.Account(x.Context(), AccountQuery{Account: accountOf(shard)}, func(r Row) error {
		rows++
		for _, by := range r.Spend.GetByDc() {
			cents += by.GetChargedMicros() / 10_000
		}
		return nil
	})
	if err != nil || rows > 1 {
		x.Fatalf("account of shard %d: %d rows, %v", shard, rows, err)
	}
	return c, cents
}

// expect checks the choice of every shard, and that its rows are those of the dataset that is
// chosen.
func (x *fixture) expect(mode selection.Mode, dc string) {
	x.Helper()
	for shard := range int32(shards) {
		c, cents := x.account(shard)
		if c.Mode != mode || c.DC != dc || c.Shard != shard {
			x.Errorf("%s; want %s %s", c.Text(), mode, dc)
		}
		if mode == selection.Normal && uint64(cents) != x.counters[dc].events {
			x.Errorf("%s: %d cents, the dataset has %d", c.Text(), cents, x.counters[dc].events)
		}
	}
}

// choice returns the choice of a shard.
func (x *fixture) choice(shard int32) *Choice {
	c, _ := x.account(shard)
	return c
}
