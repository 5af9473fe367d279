package pacing

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// Buckets is the number of buckets of accounts. Each second has the tick of one bucket, so that an
// account has a tick each control.Tick, and the work is spread over the time between.
const Buckets = int64(control.Tick / time.Second)

// LeadEvery is the time after which the leader of a shard writes its row again. A shard that has
// had no other row for several times as long has no leader.
const LeadEvery = 3 * time.Second

// Counts of the process, see stream.Changes.Count.
const (
	countTicks  = "account_ticks" // ticks of accounts
	countUnread = "unread_ticks"  // of those, the ones whose spend could not be read
	countLate   = "late_buckets"  // ticks of buckets that were left out: those before had not ended
	countPacks  = "packs"         // that were written
	countAlerts = "alerts"        // of budgets
	countPeers  = "peer_packs"    // packs of other datacentres that were read
	countShown  = "insertions"    // records of ads that were shown
	countBilled = "billed_days"   // budget days of accounts
	countGone   = "gone_days"     // days that were not billed, because their spend was no longer known
)

// SpendQuery is the spend that a SpendReader reads: rows of an account from a budget day on.
type SpendQuery struct {
	Account   string
	Campaigns []string   // none: all
	From      events.Day // 0: all days
	Lifetime  bool       // the lifetime rows, too
	Parts     bool       // by arm
}

// Reading is what the rows of a SpendQuery are.
type Reading struct {
	Dataset string        // datacentre that has counted them; empty: a merge of datasets
	Exact   bool          // they are of one dataset, and none is missing
	Age     time.Duration // of the spend
	// CompleteMs is the ingest time up to which they have the events of all datacentres, Unix ms;
	// 0: it is not known of one of them.
	CompleteMs int64
	// Closed is the last day that is no longer kept by campaign; 0: none.
	Closed events.Day
}

// SpendReader calls fn for each row of a query. Its error is that of ctx, or means that the spend
// cannot be read now.
type SpendReader func(ctx context.Context, q SpendQuery, fn func(*pack.Row)) (Reading, error)

// task paces the accounts of one partition. It is the Source and the Handler of budgets.
//
// Read prepares the accounts of a bucket, reads their spend, and pushes it to the next Flush, which
// steps them. So the spend is read beside the fold of budgets, and the accounts change on one
// goroutine at a time, with mu.
type task struct {
	stream.Handler // folds budgets
	stream.Task
	cfg   *ProcessorConfig
	packs *state.Table[[]byte, *eventspb.AccountPack]
	pacer *control.Pacer

	leaders *state.Table[[]byte, *eventspb.ShardLeader]
	days    *state.Table[[]byte, *eventspb.DayBudgets]

	mu         sync.Mutex
	accounts   map[string]*account
	buckets    [Buckets][]*account
	busy       [Buckets]bool  // a tick of the bucket waits for its Flush
	counts     map[string]int // not handed over yet
	signals    signalLog
	reported   knownReports
	reportedMs int64 // when ads were read last
}

// tick is the tick of one account.
type tick struct {
	*pack.Account
	pack.Signals
}

func newTask(p *ProcessorConfig, t stream.Task) *task {
	return &task{
		Task: t, cfg: p, packs: packTable(), leaders: leaderTable(), days: dayTable(),
		pacer:    control.NewPacer(control.Config{Controller: p.Controller}),
		accounts: map[string]*account{}, counts: map[string]int{},
	}
}

// open makes the task of a partition.
func (p *ProcessorConfig) open(t stream.Task) (stream.Source, error) {
	x := newTask(p, t)
	h := handler{shards: p.Layout.Partitions(), budgets: budgetTable(), changed: x.setVersions}
	fold, err := stream.EachRecord(h.fold)(t)
	if err != nil {
		return nil, err
	}
	x.Handler = fold
	if p.Spend == nil {
		return x, nil
	}
	return x, x.load()
}

// problem reports a problem of an account.
func (x *task) problem(account string, err error) {
	if x.cfg.Problem != nil {
		x.cfg.Problem(account, err)
	}
}

// setVersions takes the versions of the budgets of an account.
func (x *task) setVersions(account string, v budget.Versions) {
	if x.cfg.Spend == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.accounts[account]
	if a == nil {
		a = x.add(account)
	}
	if a.stored != nil {
		a.stored.budgets = nil // v has them
	}
	a.SetVersions(v)
}

// observe takes a pack of another datacentre.
func (x *task) observe(m *eventspb.AccountPack) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts[countPeers]++
	if a := x.accounts[m.GetAccount()]; a != nil {
		a.Observe(m)
	}
}

// shown takes ads that an ad server has shown.
func (x *task) shown(m *eventspb.InsertionSums) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	x.reportedMs = now.UnixMilli()
	a := x.accounts[m.GetAccount()]
	if a == nil || !x.reported.first(m, now) {
		return
	}
	x.counts[countShown]++
	a.Shown(m)
}

// Bucket returns the bucket of an account: the second, modulo Buckets, of its ticks.
func Bucket(account string) int64 { return int64(xxhash.Sum64String(account) % uint64(Buckets)) }

// Read implements stream.Source.
func (x *task) Read(ctx context.Context, q *stream.SourceQueue) error {
	if x.cfg.Spend == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var leading sync.WaitGroup
	leading.Go(func() { x.lead(ctx, q) })
	if x.cfg.BillAfter > 0 {
		leading.Go(func() { x.billDays(ctx, q) })
	}
	if x.cfg.OtherPacks != nil {
		leading.Go(func() { x.cfg.OtherPacks(ctx, x.Partition, x.observe) })
	}
	if x.cfg.Insertions != nil {
		leading.Go(func() { x.cfg.Insertions(ctx, x.Partition, x.shown) })
	}
	err := x.tickAll(ctx, q)
	cancel()
	leading.Wait()
	return err
}

// tickAll has the tick of one bucket in each second. If ticks take longer, it has those of the
// seconds that have passed, in their order, so that no bucket waits for ever.
func (x *task) tickAll(ctx context.Context, q *stream.SourceQueue) error {
	// Partitions have their ticks at different times of a second.
	offset := time.Duration(x.Partition) * time.Second / time.Duration(x.cfg.Layout.Partitions())
	last := time.Now().Add(-offset).Unix() // second of the last tick
	for {
		now := time.Now()
		switch second := now.Add(-offset).Unix(); {
		case second < last: // the clock was set back
			last = second
			continue
		case second == last:
			if !pause.For(ctx, time.Unix(last+1, 0).Add(offset).Sub(now)) {
				return ctx.Err()
			}
			continue
		case second-last > Buckets:
			x.leaveOut(int(second - last - Buckets))
			last = second - Buckets
		}
		last++
		if err := x.tick(ctx, q, last%Buckets); err != nil {
			return err
		}
	}
}

// leaveOut counts ticks of buckets that are left out.
func (x *task) leaveOut(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts[countLate] += n
}

// tick reads the spend of the accounts of a bucket and pushes it. It returns the error of ctx.
func (x *task) tick(ctx context.Context, q *stream.SourceQueue, bucket int64) error {
	now := time.Now()
	ticks := x.prepare(bucket, now.UnixMilli())
	if len(ticks) == 0 {
		return nil
	}
	for i := range ticks {
		if x.readSpend(ctx, &ticks[i]); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	b := &stream.SourceBatch{}
	b.OnFlush(func(c stream.Commit, ch *stream.Changes) { x.step(c, ch, bucket, ticks) })
	return x.push(ctx, q, b)
}

func (x *task) push(ctx context.Context, q *stream.SourceQueue, b *stream.SourceBatch) error {
	if err := q.Push(ctx, b); err != nil {
		return err
	}
	x.Wake()
	return nil
}

// lead writes the row of the leader again and again until ctx ends, also while the spend is read.
func (x *task) lead(ctx context.Context, q *stream.SourceQueue) {
	for {
		b, written := &stream.SourceBatch{}, make(chan struct{})
		b.OnFlush(func(c stream.Commit, ch *stream.Changes) {
			x.mu.Lock()
			x.signals.write(x, c, ch)
			x.mu.Unlock()
			x.leaders.Put(ch, AppendLeaderKey(nil, x.Partition), &eventspb.ShardLeader{
				Process: x.cfg.Instance, AtMs: c.NowMs, Incarnation: c.Incarnation, OwnerEpoch: c.OwnerEpoch, Sequence: c.Sequence,
			})
			close(written)
		})
		if x.push(ctx, q, b) != nil {
			return
		}
		select {
		case <-written:
		case <-ctx.Done():
		}
		if !pause.For(ctx, LeadEvery) {
			return
		}
	}
}

// readSpend reads the spend of a tick. A merge of datasets may lack rows, so that the spend of the
// days before is not read from one.
func (x *task) readSpend(ctx context.Context, t *tick) {
	q, sums := &t.Query, t.Query.Sums
	today, err := x.cfg.Spend(ctx, SpendQuery{Account: t.Name(), From: q.Day, Parts: q.Parts}, sums.AddToday)
	if t.Unread = err != nil; t.Unread {
		return
	}
	t.Dataset, t.AgeMs = today.Dataset, today.Age.Milliseconds()
	if len(q.Before) == 0 || !today.Exact {
		return
	}
	before, err := x.cfg.Spend(ctx, SpendQuery{Account: t.Name(), Campaigns: q.Before, From: q.From, Lifetime: q.Lifetime}, sums.AddBefore)
	t.Complete = err == nil && before.Exact
}

// prepare returns the ticks of the accounts of a bucket that have budgets, none if the tick before
// waits: while no transaction commits, ticks are left out.
func (x *task) prepare(bucket, atMs int64) (ticks []tick) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy[bucket] {
		x.counts[countLate]++
		return nil
	}
	for _, a := range x.buckets[bucket] {
		x.restore(a)
		if x.cfg.Overrides != nil {
			a.SetOverrides(x.cfg.Overrides(a.Name()))
		}
		q, ok := a.Prepare(atMs)
		if ok {
			ticks = append(ticks, tick{a.Account, pack.Signals{AtMs: atMs, Query: q, ReportedMs: x.reportedMs}})
		}
		if err := a.Err(); err != nil {
			x.problem(a.Name(), err)
		}
	}
	x.busy[bucket] = len(ticks) > 0
	return ticks
}

// alert writes an alert. Its pack is written in the same transaction.
func (x *task) alert(ch *stream.Changes, m *eventspb.BudgetAlert) {
	value, err := proto.Marshal(m)
	if err != nil {
		ch.Fail(fmt.Errorf("encode an alert of account %q: %w", m.GetAccount(), err))
		return
	}
	ch.Emit(alertsOutput, stream.Message{Key: []byte(m.GetAccount()), Value: value, TimeMs: m.GetAtMs()})
	x.counts[countAlerts]++
}

// step steps the accounts of a bucket, and writes the packs that are to be written.
func (x *task) step(c stream.Commit, ch *stream.Changes, bucket int64, ticks []tick) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy[bucket] = false
	written := false
	for i := range ticks {
		t := &ticks[i]
		t.Recorded = &eventspb.AccountTick{}
		for _, part := range t.Step(&t.Signals) {
			m := t.Pack(part)
			m.WriterDc, m.Incarnation, m.OwnerEpoch, m.Sequence = x.cfg.DC, c.Incarnation, c.OwnerEpoch, c.Sequence
			x.packs.Put(ch, AppendPackKey(nil, t.Name(), part), m)
			written = true
			x.counts[countPacks]++
		}
		for _, m := range t.Alerts() {
			m.WriterDc = x.cfg.DC
			x.alert(ch, m)
		}
		x.noteDay(ch, x.accounts[t.Name()])
		for _, part := range t.Former() {
			x.packs.Delete(ch, AppendPackKey(nil, t.Name(), part))
		}
		if err := x.signals.add(t.Recorded); err != nil {
			ch.Fail(err)
			return
		}
		if t.Unread {
			x.counts[countUnread]++
		}
	}
	x.counts[countTicks] += len(ticks)
	if !written { // counts alone would be a transaction in each second
		return
	}
	x.signals.write(x, c, ch)
	for name, n := range x.counts {
		ch.Count(name, float64(n))
	}
	clear(x.counts)
}
