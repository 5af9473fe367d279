package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/spendcounter"
)

// follower is an independent reader of the published topics: read_committed, without a group, from
// the beginning. It keeps the last value of every key of spend.by.<dc> and checks the chain of
// transactions.
type follower struct {
	t      *testing.T
	dc     string
	client *kgo.Client
	layout events.Layout

	mu     sync.Mutex
	rows   map[string]*eventspb.Spend
	chains []chain // by partition
	health map[string]*eventspb.SpendHistogram
	took   []takeover
	bad    []string
	ended  chan struct{}
}

// chain is the history of one partition of the changelog.
type chain struct {
	owner   string    // instance that wrote the last barrier
	claimed time.Time // time of that barrier
	marker  *changelogpb.Marker
	spend   bool // it has spend
	health  bool // the open transaction has a health row
	open    int  // 1 + index in took of the takeover that has made no progress yet; 0 means no such takeover
}

// takeover is a change of a partition's owner, possibly to the same instance.
type takeover struct {
	partition int32
	instance  string
	claimed   time.Time // time of its barrier
	appliedAt time.Time // time at which its first progress in ads.events was read; zero without progress
}

func follow(c *cluster) *follower { return followDC(c, "local") }

// followDC follows the counter of a datacentre.
func followDC(c *cluster, dc string) *follower {
	c.t.Helper()
	f := &follower{t: c.t, dc: dc, layout: c.layout, chains: make([]chain, c.layout.Partitions()), rows: map[string]*eventspb.Spend{}, health: map[string]*eventspb.SpendHistogram{}, ended: make(chan struct{})}
	all := map[int32]kgo.Offset{}
	for p := range c.layout.Partitions() {
		all[p] = kgo.NewOffset().AtStart()
	}
	topics := map[string]map[int32]kgo.Offset{c.layout.Name(events.SpendTopic(dc)): all}
	f.client = c.client(kgo.ConsumePartitions(topics), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(500*time.Millisecond), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	ctx := c.t.Context()
	go func() {
		defer close(f.ended)
		for ctx.Err() == nil {
			fetches := f.client.PollFetches(ctx)
			f.apply(ctx, fetches)
		}
	}()
	c.t.Cleanup(func() { <-f.ended })
	return f
}

func (f *follower) apply(ctx context.Context, fetches kgo.Fetches) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fetches.EachError(func(topic string, p int32, err error) {
		var loss *kgo.ErrDataLoss
		if ctx.Err() == nil && errors.As(err, &loss) {
			f.complain("%s[%d]: %v", topic, p, err)
		}
	})
	now := time.Now()
	fetches.EachRecord(func(r *kgo.Record) {
		var err error
		if changelogpb.IsSystem(r.Key) {
			err = f.applySystem(r, now)
		} else {
			err = f.applyRow(r)
		}
		if err != nil {
			f.complain("%s[%d]@%d: %v", r.Topic, r.Partition, r.Offset, err)
		}
	})
}

func (f *follower) complain(format string, args ...any) {
	f.bad = append(f.bad, fmt.Sprintf(format, args...))
}

// applyRow applies a state record.
func (f *follower) applyRow(r *kgo.Record) error {
	table, key, err := changelogpb.StateKey(r.Key)
	if err != nil {
		return err
	}
	c := &f.chains[r.Partition]
	if c.health {
		return fmt.Errorf("SPEND-32: a row of table %d follows the health row of its transaction", table)
	}
	switch table {
	case spendcounter.TableSpend:
	case spendcounter.TableHealth:
		c.health = true
		return f.applyHealth(r, string(key))
	default:
		return nil
	}
	if r.Value == nil {
		delete(f.rows, string(key))
		return nil
	}
	s := &eventspb.Spend{}
	if err := proto.Unmarshal(r.Value, s); err != nil {
		return err
	}
	if was := f.rows[string(key)]; events.CompareVersions(s, was) < 0 {
		err = fmt.Errorf("%q: commit %d of epoch %d follows %d of epoch %d: readers would keep the older", key, s.Sequence, s.OwnerEpoch, was.GetSequence(), was.GetOwnerEpoch())
	}
	f.rows[string(key)] = s
	c.spend = true
	return err
}

// applySystem checks a marker against the previous one.
func (f *follower) applySystem(r *kgo.Record, now time.Time) error {
	c := &f.chains[r.Partition]
	switch kind := string(r.Key[1:]); kind {
	case "b":
		b := &changelogpb.Barrier{}
		if err := proto.Unmarshal(r.Value, b); err != nil {
			return err
		}
		return c.claim(strings.TrimPrefix(b.Token, f.layout.Name(spendcounter.App)+"-"))
	case "m":
	default:
		return fmt.Errorf("unknown system record %q", kind)
	}
	m := &changelogpb.Marker{}
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return err
	}
	last := c.marker
	c.marker, c.health = m, false
	if m.Sequence != last.GetSequence()+1 {
		return fmt.Errorf("transaction %d of epoch %d follows transaction %d of epoch %d", m.Sequence, m.OwnerEpoch, last.GetSequence(), last.GetOwnerEpoch())
	}
	if m.OwnerEpoch < last.GetOwnerEpoch() {
		return fmt.Errorf("transaction %d of epoch %d was written after its successor of epoch %d", m.Sequence, m.OwnerEpoch, last.GetOwnerEpoch())
	}
	was := inputs(last)
	for topic, next := range inputs(m) {
		if next < was[topic] {
			return fmt.Errorf("transaction %d reads %s from %d back to %d", m.Sequence, topic, was[topic], next)
		}
	}
	if m.OwnerEpoch > last.GetOwnerEpoch() {
		f.took = append(f.took, takeover{partition: r.Partition, instance: c.owner, claimed: c.claimed})
		c.open = len(f.took)
	}
	if c.open > 0 && inputs(m)[f.events()] > was[f.events()] {
		f.took[c.open-1].appliedAt = now
		c.open = 0
	}
	return nil
}

// claim records the writer of a barrier: <instance>-<worker>/<partition>/<Unix nanoseconds>, after
// the application id.
func (c *chain) claim(token string) error {
	parts := strings.Split(token, "/")
	worker := strings.LastIndexByte(parts[0], '-')
	if len(parts) != 3 || worker < 0 {
		return fmt.Errorf("barrier %q has an unknown form", token)
	}
	nanos, err := strconv.ParseInt(parts[2], 10, 64)
	c.owner, c.claimed = parts[0][:worker], time.Unix(0, nanos)
	return err
}

func (f *follower) events() string { return f.layout.Name(events.EventsTopic) }

func inputs(m *changelogpb.Marker) map[string]int64 {
	next := map[string]int64{}
	for _, in := range m.GetInputs() {
		next[in.Topic] = in.Next
	}
	return next
}

// applyHealth checks that a shard has one writer after another.
func (f *follower) applyHealth(r *kgo.Record, key string) error {
	h := &eventspb.SpendHistogram{}
	if err := proto.Unmarshal(r.Value, h); err != nil {
		return err
	}
	last := f.health[key]
	f.health[key] = h
	if want := string(spendcounter.HealthKey(f.dc, h.Shard)); want != key || h.Shard != r.Partition {
		return fmt.Errorf("key %q, shard %d", key, h.Shard)
	}
	if last != nil && (events.CompareVersions(h, last) <= 0 || h.Incarnation == last.Incarnation && h.Sequence <= last.Sequence) {
		return fmt.Errorf("health %d of epoch %d follows %d of epoch %d", h.Sequence, h.OwnerEpoch, last.Sequence, last.OwnerEpoch)
	}
	return nil
}

// behind returns an error unless everything up to ends is folded and published.
func (f *follower) behind(ends map[int32]int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var late []string
	var records int64
	for p := range f.chains {
		if at, end := inputs(f.chains[p].marker)[f.events()], ends[int32(p)]; at < end {
			late = append(late, strconv.Itoa(p))
			records += end - at
		}
	}
	if len(late) > 0 {
		return fmt.Errorf("%d records behind in partitions %s", records, strings.Join(late, " "))
	}
	return nil
}

// caughtUp waits until everything that is in ads.events now is folded and published, and returns
// how long that took.
func (f *follower) caughtUp(c *cluster) time.Duration {
	f.t.Helper()
	var ends map[int32]int64
	return testlimit.Within(f.t, "catch up", func(ctx context.Context) (err error) {
		if ends == nil {
			if ends, err = c.ends(ctx); err != nil {
				return err
			}
		}
		return f.behind(ends)
	})
}

// allSpend waits until every partition has committed spend.
func (f *follower) allSpend() {
	f.t.Helper()
	testlimit.Within(f.t, "spend in every partition", func(context.Context) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if p := slices.IndexFunc(f.chains, func(c chain) bool { return c.marker == nil || !c.spend }); p >= 0 {
			return fmt.Errorf("partition %d has no spend", p)
		}
		return nil
	})
}

// totals returns the rows in the form of the ledger, and the violations so far.
func (f *follower) totals() (map[place]*account, []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	got := map[place]*account{}
	bad := append([]string{}, f.bad...)
	for key, s := range f.rows {
		acct, campaign, day, currency, err := spendcounter.ParseKey([]byte(key))
		at := place{string(campaign), string(acct), fmt.Sprintf("%08d", day), currency.String()}
		if err != nil || at != (place{s.Campaign, s.Account, fmt.Sprintf("%08d", s.BudgetDay), s.Currency}) {
			bad = append(bad, fmt.Sprintf("key %q holds the spend of %s %s %d %s: %v", key, s.Campaign, s.Account, s.BudgetDay, s.Currency, err))
		}
		a := &account{byType: map[eventspb.EventType]uint64{}, duplicates: s.Duplicates}
		for _, dc := range s.ByDc {
			a.micros += dc.ChargedMicros - dc.RefundedMicros
			for _, n := range dc.Events {
				a.byType[n.Type] += n.Count
			}
		}
		got[at] = a
	}
	return got, bad
}

// check is called at the end of a test: the rows and the chain must equal l, and the dead-letter
// topic must hold this many records.
func (f *follower) check(c *cluster, l *ledger, letters int) {
	f.t.Helper()
	f.caughtUp(c)
	got, bad := f.totals()
	for i, text := range bad {
		if i == 10 {
			f.t.Errorf("and %d more", len(bad)-i)
			break
		}
		f.t.Error(text)
	}
	l.compare(f.t, got)
	if dead := deadLetters(c); len(dead) != letters {
		f.t.Errorf("%d dead letters, want %d; the first: %s", len(dead), letters, firstLetter(dead))
	}
}

// takeovers returns the takeovers by instance (by any, if it is empty) that began after since and
// have made progress, in the order of their first progress.
func (f *follower) takeovers(instance string, since time.Time) []takeover {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []takeover
	for _, k := range f.took {
		if k.claimed.After(since) && !k.appliedAt.IsZero() && (instance == "" || k.instance == instance) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b takeover) int { return a.appliedAt.Compare(b.appliedAt) })
	return list
}

// owned returns the partitions whose last barrier is from the instance.
func (f *follower) owned(instance string) map[int32]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	ps := map[int32]bool{}
	for p := range f.chains {
		if f.chains[p].owner == instance {
			ps[int32(p)] = true
		}
	}
	return ps
}

func firstLetter(dead []*kgo.Record) string {
	if len(dead) == 0 {
		return "none"
	}
	var b bytes.Buffer
	for _, h := range dead[0].Headers {
		fmt.Fprintf(&b, "%s=%.200s ", h.Key, h.Value)
	}
	return b.String()
}
