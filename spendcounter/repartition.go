package spendcounter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// Repartitioner converts the state of the counters of one number of shards to the state of the
// counters of another number, as if these had counted from the start. No figure of an account
// changes, and an event that was counted before is a duplicate afterwards: SPEND-30.
//
//	campaign days,
//	hours, parts,
//	index rows,
//	references ──── Partition ─▶ the shard of their account                     unchanged
//	rankings, totals  Finish ────▶ the new counters make them
//	task record ─── Extract ───▶ clocks: the greatest of the shards with common accounts
//	                Finish ────▶ sums: over the campaign days of the new shard
//	ids ─────────── Extract ───▶ TableMovedIDs of the shard of their account    read again from the
//	                Finish ────▶ their buckets                                  inputs, which have the account
//
// A position in an import is the greatest of the shards with common accounts: nothing is charged
// twice, but an import that was not complete before the move skips rows if it is repeated after it.
//
// The 60 s rings and the health rows are not moved: health figures start from zero. Events copied
// from other datacentres are not moved either, because their offsets are per partition of the
// origin. A state that has counted copied events is refused.
type Repartitioner struct {
	cfg      Config
	from, to int32
	shards   []targetShard // the new shards, by number
	// Shards p of from and q of to have common accounts if both are of one class: equal modulo the
	// greatest common divisor. open has, by class, the sums of the task records minus the sums of
	// the campaign days. In the end it is zero.
	open []sums
}

// sums are the sums that both the task record and the campaign days have.
type sums struct {
	count, duplicates uint64
	micros, refunded  int64
}

func (s *sums) add(o sums) {
	s.count, s.duplicates = s.count+o.count, s.duplicates+o.duplicates
	s.micros, s.refunded = s.micros+o.micros, s.refunded+o.refunded
}

func (s *sums) sub(o sums) {
	s.count, s.duplicates = s.count-o.count, s.duplicates-o.duplicates
	s.micros, s.refunded = s.micros-o.micros, s.refunded-o.refunded
}

// targetShard is the state of a new shard, without campaign days and ids.
type targetShard struct {
	known   bool // a former shard of its class has state
	sums    sums
	dcs     map[string]bool
	task    spendpb.TaskState // the part that does not follow from campaign days
	own     spendpb.Origin    // the same part of the datacentre's own events
	imports map[string]uint64 // positions: the greatest of all former shards of its class
	ends    map[int64]int64   // the buckets of ids of all former shards of its class: begin -> end
}

// maxMovedIDs is the number of ids in one value of TableMovedIDs.
const maxMovedIDs = 1 << 10

// NewRepartitioner returns a Repartitioner for the state of the counters of cfg with from shards.
// It sets cfg.Shard.
func NewRepartitioner(cfg Config, from, to int32) (*Repartitioner, error) {
	if from < 1 || to < 1 || from > events.MaxShards || to > events.MaxShards {
		return nil, fmt.Errorf("move spend from %d to %d shards: use 1 to %d shards", from, to, events.MaxShards)
	}
	cfg.Shard = func(account []byte) int32 { return events.ShardBytes(account, from) }
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	m := &Repartitioner{cfg: cfg, from: from, to: to, shards: make([]targetShard, to), open: make([]sums, divisor(from, to))}
	for q := range m.shards {
		m.shards[q].dcs, m.shards[q].ends = map[string]bool{}, map[int64]int64{}
		m.shards[q].imports = map[string]uint64{}
	}
	return m, nil
}

func divisor(a, b int32) int32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Source makes the counter of a former shard, which the caller rebuilds and passes to Extract. It
// folds nothing.
func (m *Repartitioner) Source(t stream.Task) (*Counter, error) {
	t.LocalNext = nil // the inputs have the account of an id, the local table does not
	c, err := New(m.cfg, t)
	if err == nil {
		c.keepAccounts = true
	}
	return c, err
}

// Partition returns the new shard of a key. ok is false if the key is not moved, because Extract
// and Finish make it again.
func (m *Repartitioner) Partition(table byte, key, value []byte) (shard int32, ok bool, err error) {
	switch table {
	case TableTask, TableMovedIDs, TableBuckets, TableImports, TableRanking, TableTotals, TableHealth:
		return 0, false, nil
	case TableReferences, TableHours, TableParts:
		account, _, ok := bytes.Cut(key, []byte{0})
		if !ok {
			return 0, false, fmt.Errorf("key %q of table %d has no account", key, table)
		}
		return events.ShardBytes(account, m.to), true, nil
	case TableCampaigns:
		_, account, err := ParseIndexKey(key)
		return events.ShardBytes(account, m.to), err == nil, err
	case TableSpend:
	default:
		return 0, false, fmt.Errorf("table %d is unknown: run the version that wrote it, or a newer one", table)
	}
	account, _, _, _, err := ParseKey(key)
	if err != nil {
		return 0, false, err
	}
	p := &eventspb.Spend{}
	if err := proto.Unmarshal(value, p); err != nil {
		return 0, false, fmt.Errorf("spend %q: %w", key, err)
	}
	shard = events.ShardBytes(account, m.to)
	if err := m.shards[shard].charge(p); err != nil {
		return 0, false, fmt.Errorf("spend %q: %w", key, err)
	}
	m.open[shard%m.classes()].sub(sumsOf(p))
	return shard, true, nil
}

func (m *Repartitioner) classes() int32 { return int32(len(m.open)) }

func sumsOf(p *eventspb.Spend) sums {
	s := sums{duplicates: p.Duplicates}
	for _, by := range p.ByDc {
		s.micros, s.refunded = s.micros+by.ChargedMicros, s.refunded+by.RefundedMicros
		for _, t := range by.Events {
			s.count += t.Count
		}
	}
	return s
}

// charge adds a campaign day to the shard's sums.
func (s *targetShard) charge(p *eventspb.Spend) error {
	for _, by := range p.ByDc {
		_, ok := events.AddMicros(s.sums.micros, by.ChargedMicros)
		_, fits := events.AddMicros(s.sums.refunded, by.RefundedMicros)
		if s.dcs[by.ServingDc] = true; !ok || !fits || by.ChargedMicros < 0 || by.RefundedMicros < 0 || len(s.dcs) > MaxServingDCs {
			return fmt.Errorf(
				"%d micros charged, %d refunded, served by %s: the sums of the new shard would overflow int64, or have more than %d serving datacentres: use more shards", by.ChargedMicros, by.RefundedMicros, by.ServingDc, MaxServingDCs)
		}
	}
	s.sums.add(sumsOf(p))
	return nil
}

// PutFunc puts a key into the state of a shard. It must not keep key or value.
type PutFunc func(shard int32, table byte, key, value []byte) error

// Extract takes the state other than campaign days from a counter that Source made, after Rebuild.
func (m *Repartitioner) Extract(c *Counter, put PutFunc) error {
	value, err := c.task.Get(TableTask, []byte(TaskKey))
	if err != nil || value == nil {
		return err
	}
	s, err := ParseTask(value)
	if err != nil {
		return err
	}
	own := &spendpb.Origin{}
	for _, o := range s.Origins {
		if o.Dc == m.cfg.DC {
			own = o
		} else if o.Count > 0 || o.Micros > 0 || len(o.Applied)+len(o.AppliedAdjustments) > 0 {
			return fmt.Errorf("the state has %d events copied from %s: their offsets are per partition of %s and cannot be converted", o.Count, o.Dc, o.Dc)
		}
	}
	p := c.task.Partition
	m.open[p%m.classes()].add(sums{own.Count, s.Duplicates, own.Micros, s.RefundedMicros})
	for q := p % m.classes(); q < m.to; q += m.classes() {
		m.shards[q].merge(s, own, c.window.buckets)
	}
	err = c.task.Scan(TableImports, nil, func(key, value []byte) error {
		if len(value) != 8 {
			return fmt.Errorf("import %x: a value of %d bytes", key, len(value))
		}
		for q := p % m.classes(); q < m.to; q += m.classes() {
			list := m.shards[q].imports
			list[string(key)] = max(list[string(key)], binary.BigEndian.Uint64(value))
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Figures that have no account: their sum over all shards is kept.
	one := &m.shards[p%m.to]
	one.task.Refunds += s.Refunds
	one.task.EarlyDrops += s.EarlyDrops
	one.task.Conflicts += s.Conflicts
	one.task.OverRefunds += s.OverRefunds
	one.own.Lost += own.Lost
	one.own.Late += own.Late
	one.own.TransportDuplicates += own.TransportDuplicates
	return m.moveIDs(c, put)
}

// merge advances the shard's clocks to those of a former shard with common accounts, and adds its
// buckets.
func (s *targetShard) merge(t *spendpb.TaskState, own *spendpb.Origin, buckets []*bucket) {
	s.known = true
	s.task.TimestampMs = max(s.task.TimestampMs, t.TimestampMs)
	s.task.LateBeforeMs = max(s.task.LateBeforeMs, t.LateBeforeMs)
	s.task.Corrections = corrections(s.task.Corrections).union(t.Corrections)
	s.task.ClosedDay = max(s.task.ClosedDay, t.ClosedDay)
	s.own.WatermarkMs = max(s.own.WatermarkMs, own.WatermarkMs)
	for _, b := range buckets {
		s.ends[b.from] = max(s.ends[b.from], b.to)
	}
}

// moveIDs moves the ids of c to the shards of their accounts.
func (m *Repartitioner) moveIDs(c *Counter, put PutFunc) error {
	blobs := idBatcher{put: put, from: c.task.Partition, full: map[idTarget][]byte{}, count: map[idTarget]uint32{}}
	for _, b := range c.window.buckets {
		move := func(id, account uint64) error {
			return blobs.add(idTarget{int32(account % uint64(m.to)), b.from}, id, account)
		}
		for i, id := range b.pending {
			if err := move(id, b.accounts[i]); err != nil {
				return err
			}
		}
		if err := c.movedIDs.each(&c.task, b, move); err != nil {
			return err
		}
	}
	for to := range maps.Clone(blobs.full) {
		if err := blobs.flush(to); err != nil {
			return err
		}
	}
	return nil
}

// idTarget is a bucket of ids of a new shard.
type idTarget struct {
	shard  int32
	bucket int64
}

// idBatcher collects ids until there are enough for a value.
type idBatcher struct {
	put   PutFunc
	from  int32
	full  map[idTarget][]byte
	count map[idTarget]uint32 // values so far
}

func (b *idBatcher) add(to idTarget, id, owner uint64) error {
	b.full[to] = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b.full[to], id), owner)
	if len(b.full[to]) < maxMovedIDs*movedIDBytes {
		return nil
	}
	return b.flush(to)
}

func (b *idBatcher) flush(to idTarget) error {
	value := b.full[to]
	if len(value) == 0 {
		return nil
	}
	key := bucketKey(to.bucket)
	key = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(key, uint32(b.from)), b.count[to])
	b.full[to] = value[:0]
	b.count[to]++
	return b.put(to.shard, TableMovedIDs, key, value)
}

// ErrInconsistent means that the sums of a task record differ from those of its campaign days.
var ErrInconsistent = errors.New("the state does not add up")

// Finish puts the task records, after Partition and Extract have seen all state. It returns
// ErrInconsistent if the sums of the task records differ from those of the campaign days, because a
// move would keep the fault.
func (m *Repartitioner) Finish(put PutFunc) error {
	for class, left := range m.open {
		if left != (sums{}) {
			return fmt.Errorf(
				"the task records of shards %d modulo %d have %d micros, %d refunded, %d events and %d duplicates more than their campaign days: %w: replay the inputs to find the correct sums", class, m.classes(), left.micros, left.refunded, int64(left.count), int64(left.duplicates), ErrInconsistent)
		}
	}
	for q := range m.shards {
		s := &m.shards[q]
		if !s.known {
			continue
		}
		s.task.Unranked, s.task.Layout = true, stateLayout
		s.own.Dc, s.own.Count, s.own.Micros = m.cfg.DC, s.sums.count, s.sums.micros
		s.task.Duplicates, s.task.RefundedMicros = s.sums.duplicates, s.sums.refunded
		s.task.Origins = []*spendpb.Origin{&s.own}
		s.task.ServingDcs = slices.Sorted(maps.Keys(s.dcs))
		value, err := proto.MarshalOptions{Deterministic: true}.Marshal(&s.task)
		if err != nil {
			return fmt.Errorf("task record of shard %d: %w", q, err)
		}
		if err := put(int32(q), TableTask, []byte(TaskKey), value); err != nil {
			return err
		}
		if err := s.putBuckets(int32(q), put); err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(s.imports)) {
			if err := put(int32(q), TableImports, []byte(id), binary.BigEndian.AppendUint64(nil, s.imports[id])); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBuckets puts the buckets of ids. Ids from before the new topics are in TableMovedIDs, and all
// of the new topics belongs to the buckets. Of buckets that contain others, the larger ones remain:
// the keys of moved ids are times within them.
func (s *targetShard) putBuckets(q int32, put PutFunc) error {
	end := int64(0)
	for _, from := range slices.Sorted(maps.Keys(s.ends)) {
		if from < end || s.ends[from] <= s.task.LateBeforeMs {
			continue
		}
		end = s.ends[from]
		value, err := proto.MarshalOptions{
			Deterministic: true,
		}.Marshal(&spendpb.Bucket{ToMs: end, Since: &spendpb.Mark{StartMs: s.own.WatermarkMs}})
		if err != nil {
			return fmt.Errorf("bucket of ids: %w", err)
		}
		if err := put(q, TableBuckets, bucketKey(from), value); err != nil {
			return err
		}
	}
	return nil
}
