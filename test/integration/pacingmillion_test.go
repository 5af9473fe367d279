package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// TestPacingMillion: processes pace many campaigns, a million with WEIR_TEST_SOAK. Shards move to a
// process that starts, from one that is killed, and from one that stops. Each account is paced
// before and after it. The test logs for how long nothing was written of a shard that moves, and
// how late ticks are.
func TestPacingMillion(t *testing.T) {
	onDemand(t, "takes two minutes, and a quarter of an hour with WEIR_TEST_SOAK")
	c := cleared(t)
	settings := []string{"processor: {standbys: 1}", "topics: {replication_factor: 1, min_insync: 1}", "dc: local"}
	counter := newInstance(c, "counter", settings...)
	counter.roles = "spendcounter"
	if r := weir(t, "topics", "apply", "--for", "spend", "-f", counter.config); r.code != 0 {
		t.Fatal(r.stderr)
	}
	counts := counter.start()
	counts.ready()
	x := &manyPaced{T: t, accounts: soak(2_000, 100_000), shards: map[int32]*pacedShard{}, paced: map[string]bool{}}
	x.setBudgets(c)
	x.follow(c)
	l := startLoadOf(c, loadgen.Config{
		Accounts: x.accounts, CampaignsPerAccount: manyEach, StartMs: time.Now().UnixMilli(), Flat: true,
	}, 500, 1)
	pacer := func(name string) *instance {
		i := newInstance(c, name, append(settings, soak("memory: 512MiB", "memory: 8GiB"))...)
		i.roles = "pacing"
		return i
	}
	a := pacer("a").start()
	a.ready()
	x.pacesAll("the first process")
	if soak(false, true) {
		x.settles()
	}
	b := pacer("b").start()
	b.ready()
	x.moves(b, "to a process that starts", time.Time{})
	x.pacesAll("two processes")
	x.mu.Lock()
	x.late, x.written = nil, nil
	x.mu.Unlock()
	pass(t, soak(10*time.Second, time.Minute))
	x.logLateness()
	if t.Logf("memory of two processes: %d and %d MiB, at most %d and %d", a.memory("VmRSS")>>20, b.memory("VmRSS")>>20, a.memory("VmHWM")>>20,
		b.memory("VmHWM")>>20); t.Failed() {
		return
	}
	killed := time.Now()
	a.kill()
	x.moves(b, "from a process that is killed", killed)
	x.pacesAll("one process")

	a = a.instance.start()
	a.ready()
	x.moves(a, "to a process that starts again", time.Time{})
	x.pacesAll("two processes again")
	stopped := time.Now()
	b.signal(syscall.SIGTERM)
	if code := b.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	x.moves(a, "from a process that stops", stopped)
	x.pacesAll("the last process")
	l.finish()
	a.alive()
	counts.alive()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range x.wrong {
		t.Error(w)
	}
}

// manyEach is the number of campaigns of an account.
const manyEach = 10

// manyPaced is what the log of pacing has.
type manyPaced struct {
	*testing.T
	accounts int

	mu     sync.Mutex
	shards map[int32]*pacedShard
	paced  map[string]bool // accounts with a pack since pacesAll began
	wrong  []string

	// Of packs, ms.
	late    []int64 // their ticks were, behind the second of their bucket
	written []int64 // after their tick
}

// pacedShard is the last owner of a partition.
type pacedShard struct {
	process string // from its first row of a leader on
	epoch   uint64
	atMs    int64 // of its last record
	gapMs   int64 // without a record, when it took over
	movedMs int64 // when it took over
}

// setBudgets writes the budgets of all accounts.
func (x *manyPaced) setBudgets(c *cluster) {
	x.Helper()
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	first := kgo.AbortingFirstErrPromise(cl)
	for i := range x.accounts {
		d := &budget.Document{Account: fmt.Sprintf("acct-%06d", i), Version: 1, Zone: "UTC", Currency: []string{"USD", "EUR", "JPY"}[i%3]}
		for k := range manyEach {
			d.Campaigns = append(d.Campaigns, budget.Campaign{
				ID: loadgen.Campaign(i + k*x.accounts), Limit: budget.Limit{Kind: budget.Daily, Micros: int64(1+i%100) * 1e6},
			})
		}
		value, err := proto.Marshal(d.Record())
		if err != nil {
			x.Fatal(err)
		}
		cl.Produce(x.Context(), &kgo.Record{
			Topic: events.BudgetsTopic, Partition: events.Shard(d.Account, events.DefaultShards), Key: d.RecordKey(), Value: value,
		}, first.Promise())
	}
	if err := errors.Join(cl.Flush(x.Context()), first.Err()); err != nil {
		x.Fatal(err)
	}
}

// follow reads the log of pacing until the test ends.
func (x *manyPaced) follow(c *cluster) {
	cl := c.client(kgo.ConsumeTopics(events.PacingTopic("local")), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	reading.Go(func() {
		for ctx.Err() == nil {
			cl.PollFetches(ctx).EachRecord(x.read)
		}
	})
	x.Cleanup(func() {
		cancel()
		reading.Wait()
	})
}

// read takes a committed record.
func (x *manyPaced) read(r *kgo.Record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	fail := func(err error) {
		x.wrong = append(x.wrong, fmt.Sprintf("partition %d, offset %d: %v", r.Partition, r.Offset, err))
	}
	switch {
	case len(r.Key) == 0 || r.Value == nil:
	case r.Key[0] == pacing.TableLeaders:
		m := &eventspb.ShardLeader{}
		if err := proto.Unmarshal(r.Value, m); err != nil {
			fail(err)
			return
		}
		x.shard(r, m.GetOwnerEpoch()).process = m.GetProcess()
	case r.Key[0] == pacing.TablePacks:
		account, _, err := pacing.ParsePackKey(r.Key[1:])
		if err != nil {
			fail(err)
			return
		}
		x.paced[account] = true
		if r.Offset%16 > 0 { // to decode all of them would take as long as to make them
			return
		}
		m := &eventspb.AccountPack{}
		if err := proto.Unmarshal(r.Value, m); err != nil {
			fail(err)
			return
		}
		x.shard(r, m.GetOwnerEpoch())
		offset := int64(r.Partition) * 1000 / events.DefaultShards
		dueMs := pacing.Bucket(m.GetAccount())*1000 + offset // modulo a tick
		x.late = append(x.late, (m.GetAtMs()-dueMs)%control.Tick.Milliseconds())
		x.written = append(x.written, r.Timestamp.UnixMilli()-m.GetAtMs())
	}
}

// shard returns the shard of a record, whose owner has an epoch.
func (x *manyPaced) shard(r *kgo.Record, epoch uint64) *pacedShard {
	s := x.shards[r.Partition]
	if s == nil {
		s = &pacedShard{epoch: epoch}
		x.shards[r.Partition] = s
	}
	switch atMs := r.Timestamp.UnixMilli(); {
	case epoch < s.epoch:
		x.wrong = append(x.wrong, fmt.Sprintf("partition %d, offset %d: owner %d writes behind %d", r.Partition, r.Offset, epoch, s.epoch))
	case epoch > s.epoch:
		*s = pacedShard{epoch: epoch, atMs: atMs, gapMs: atMs - s.atMs, movedMs: atMs}
	default:
		s.atMs = max(s.atMs, atMs)
	}
	return s
}

// pacesAll waits until each account has a pack from now on.
func (x *manyPaced) pacesAll(who string) {
	x.Helper()
	x.mu.Lock()
	clear(x.paced)
	x.mu.Unlock()
	took := testlimit.Within(x.T, who+" paces all accounts", func(context.Context) error {
		x.mu.Lock()
		defer x.mu.Unlock()
		if n := len(x.paced); n < x.accounts {
			return fmt.Errorf("%d of %d accounts have a pack", n, x.accounts)
		}
		return nil
	})
	x.Logf("%s: each of %d campaigns has a new pack after %s", who, x.accounts*manyEach, took.Round(100*time.Millisecond))
}

// settles waits until most packs do not move any more: campaigns begin with a probability of 0.1,
// and are far behind their plans.
func (x *manyPaced) settles() {
	x.Helper()
	began := time.Now()
	for range 60 {
		x.mu.Lock()
		clear(x.paced)
		x.mu.Unlock()
		pass(x.T, control.Tick)
		x.mu.Lock()
		n := len(x.paced)
		x.mu.Unlock()
		if n < x.accounts/3 {
			x.Logf("%d of %d accounts write packs in a tick, after %s", n, x.accounts, time.Since(began).Round(time.Second))
			return
		}
	}
	x.Fatal("the parameters still move after ten minutes")
}

// moves waits until the process leads what it runs, half of the shards at least, and logs for how
// long nothing was written of the shards that it took over: from since on, or from the last record
// of the owner before.
func (x *manyPaced) moves(p *process, how string, since time.Time) {
	x.Helper()
	shards := events.DefaultShards / 2
	if !since.IsZero() {
		shards = events.DefaultShards
	}
	testlimit.Within(x.T, p.name+" leads its shards", func(context.Context) error {
		x.mu.Lock()
		defer x.mu.Unlock()
		n := 0
		for _, s := range x.shards {
			if s.process == p.name {
				n++
			}
		}
		if n < shards {
			return fmt.Errorf("it leads %d of %d", n, shards)
		}
		return nil
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	var gaps []int64
	for _, s := range x.shards {
		if s.process != p.name || s.movedMs < since.UnixMilli() {
			continue
		}
		gap := s.gapMs
		if !since.IsZero() {
			gap = s.movedMs - since.UnixMilli()
		}
		gaps = append(gaps, gap)
		s.movedMs = 0
	}
	slices.Sort(gaps)
	x.Logf("%d shards move %s: without a record for %v ms", len(gaps), how, gaps)
}

// logLateness logs how late ticks were, and when their packs were written, since it was called
// last.
func (x *manyPaced) logLateness() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for what, list := range map[string][]int64{"late by": x.late, "written after": x.written} {
		slices.Sort(list)
		if n := len(list); n > 0 {
			x.Logf("%d packs: %s %d ms (p50), %d ms (p99), %d ms (max)", n, what, list[n/2], list[n*99/100], list[n-1])
		}
	}
	x.late, x.written = nil, nil
}
