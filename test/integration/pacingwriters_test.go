package integration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

const (
	pacedAccounts = 200 // those of the load
	pacedEach     = 5   // campaigns
	pacedRate     = 200 // events per second before pacing
)

// TestPacingWriters: three processes pace the campaigns of a load that obeys. They are suspended
// again and again, mostly until others have taken over what they led, and continue in the middle of
// their work. Then they are killed for two minutes. No process writes behind its successor, and no
// probability changes by more than one step for each tick.
func TestPacingWriters(t *testing.T) {
	onDemand(t, "takes three minutes, and half an hour with WEIR_TEST_SOAK")
	rng, _ := seeded(t)
	c := cleared(t)
	settings := []string{
		"processor: {session_timeout: 6s, transaction_timeout: 7s}", "topics: {replication_factor: 1, min_insync: 1}", "dc: local",
	}
	counter := newInstance(c, "counter", settings...)
	counter.roles = "spendcounter,spendcache"
	if r := weir(t, "topics", "apply", "--for", "spend", "-f", counter.config); r.code != 0 {
		t.Fatal(r.stderr)
	}
	counts := counter.start()
	x := &pacers{T: t, rng: rng, log: newPaceLog()}
	x.follow(c)
	for _, name := range []string{"a", "b", "c"} {
		i := newInstance(c, name, settings...)
		i.roles = "pacing"
		x.list = append(x.list, i.start())
	}
	addr := ""
	for _, p := range append(x.list, counts) {
		if a, _ := p.ready(); addr == "" {
			addr = a
		}
	}
	x.settled()
	x.setBudgets(addr)
	l := x.load(c)
	x.settled()

	want := soak(24, 1000)
	shards, suspensions, began := 0, 0, time.Now()
	for ; shards < want; suspensions++ {
		if shards += x.suspend(rng.IntN(len(x.list))); suspensions > want {
			t.Fatalf("%d suspensions, and others have taken over %d shards", suspensions, shards)
		}
	}
	t.Logf("%d suspensions in %s: others have taken over %d shards", suspensions, time.Since(began).Round(time.Second), shards)
	x.settled()
	kills := 0
	for until := time.Now().Add(soak(20*time.Second, 2*time.Minute)); time.Now().Before(until); kills++ {
		x.kill(rng.IntN(len(x.list)))
		pass(t, time.Duration(rng.IntN(8000))*time.Millisecond)
	}
	x.settled()
	l.finish()
	x.end()
	for _, p := range append(x.list, counts) {
		p.alive()
	}
	for _, w := range x.log.findings() {
		t.Error(w)
	}
	t.Logf("%d kills, %d takeovers, %d packs; the greatest step of a tick: %.3f, at a takeover: %.3f", kills, x.log.takeovers, x.log.packs,
		x.log.step, x.log.stepAtTakeover)
	if x.log.step < control.MaxStep/4 {
		t.Error("the probabilities hardly move: nothing is tested")
	}
	if missed := paceLogNotices(x.records); len(missed) > 0 {
		t.Errorf("not noticed: %s", strings.Join(missed, ", "))
	}
}

// pacers are processes with the role pacing, and the log that they write.
type pacers struct {
	*testing.T
	rng  *rand.Rand
	list []*process
	log  *paceLog

	stop    func()
	ended   chan struct{}
	records []*kgo.Record // valid when ended is closed
}

// follow reads the log until end.
func (x *pacers) follow(c *cluster) {
	cl := c.client(kgo.ConsumeTopics(events.PacingTopic("local")), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithCancel(context.Background())
	x.stop, x.ended = cancel, make(chan struct{})
	go func() {
		defer close(x.ended)
		for ctx.Err() == nil {
			cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				x.log.read(r)
				x.records = append(x.records, r)
			})
		}
	}()
	x.Cleanup(x.end)
}

// end ends the reading.
func (x *pacers) end() {
	x.stop()
	<-x.ended
}

// setBudgets gives each campaign of the load half of what it would spend in the rest of the day.
func (x *pacers) setBudgets(addr string) {
	x.Helper()
	now := time.Now().UTC()
	left := max(now.Truncate(24*time.Hour).Add(24*time.Hour).Sub(now), time.Hour).Seconds()
	weight, sum := func(rank int) float64 { return math.Pow(float64(rank+1), -1.1) }, 0.0
	for rank := range pacedAccounts * pacedEach {
		sum += weight(rank)
	}
	var lines []string
	for i := range pacedAccounts {
		d := &budget.Document{
			Account: fmt.Sprintf("acct-%06d", i), Zone: "UTC", Currency: []string{"USD", "EUR", "JPY"}[i%3],
		}
		for k := range pacedEach {
			rank := i + k*pacedAccounts
			cents := int64(0.5 * left * pacedRate * 0.0012 * weight(rank) / sum * 100)
			d.Campaigns = append(d.Campaigns, budget.Campaign{
				ID: loadgen.Campaign(rank), Limit: budget.Limit{Kind: budget.Daily, Micros: max(1, cents) * 10_000},
			})
		}
		lines = append(lines, string(d.Encode()))
	}
	file := filepath.Join(x.TempDir(), "budgets.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		x.Fatal(err)
	}
	testlimit.Within(x.T, "the budgets are set", func(context.Context) error { // the shards may still move
		if r := weir(x.T, "budget", "import", file, "--server", addr); r.code != 0 { //nolint:contextcheck // it has its own limit
			return errors.New(r.stderr)
		}
		return nil
	})
}

// load starts a load that obeys the packs that were read.
func (x *pacers) load(c *cluster) *load {
	return startLoadOf(c, loadgen.Config{
		Accounts: pacedAccounts, CampaignsPerAccount: pacedEach, StartMs: time.Now().UnixMilli(), Flat: true,
		TakesPart: func(account, campaign, request string) bool {
			return control.Coin(request, campaign) < x.log.probability(account, campaign)
		},
	}, pacedRate, 1)
}

// settled waits until each shard has a leader that writes.
func (x *pacers) settled() {
	x.Helper()
	since := time.Now()
	testlimit.Within(x.T, "each shard has a leader", func(context.Context) error { return x.log.silent(events.DefaultShards, since) })
}

// suspend suspends a process, and returns how many of the shards that it led others have taken
// over.
func (x *pacers) suspend(n int) (shards int) {
	x.Helper()
	p := x.list[n]
	p.alive()
	led := x.log.led(p.name)
	p.signal(syscall.SIGSTOP)
	until := time.Now().Add(time.Duration(x.rng.IntN(8000)) * time.Millisecond)
	if x.rng.IntN(5) > 0 { // until all is taken over, and a little longer
		until = time.Now().Add(40 * time.Second)
	}
	for time.Now().Before(until) && x.log.leadBesides(p.name, led) < len(led) {
		pass(x.T, 50*time.Millisecond)
	}
	pass(x.T, time.Duration(x.rng.IntN(500))*time.Millisecond)
	shards = x.log.leadBesides(p.name, led)
	p.signal(syscall.SIGCONT)
	pass(x.T, time.Duration(x.rng.IntN(3000))*time.Millisecond)
	return shards
}

// kill kills a process and starts it again.
func (x *pacers) kill(n int) {
	x.Helper()
	x.list[n].kill()
	x.list[n] = x.list[n].instance.start()
}
