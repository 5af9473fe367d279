package spendcounter

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// Repartitioner splits and merges what the counters of one number of shards keep into what those of another number keep, as if these
// had counted all along: no figure of an account changes, and an event that was counted before is a duplicate after.
//
//	campaign days ─ Place ─▶ the shard of their account                    as they are
//	task record ─── Take ──▶ clocks: of all shards it shares accounts with the greatest
//	                Rest ──▶ sums: over the campaign days that came to the shard
//	ids ─────────── Take ──▶ TableCarried of the shard of their account    read again from the inputs, which know the account
//
// The 60 s rings are not moved: health figures begin anew. Nor are events copied from other datacentres: their positions are by
// partitions of the origin, and a state that has counted such is refused.
type Repartitioner struct {
	cfg      Config
	from, to int32
	shards   []targetShard // by their number among to
	// Shards p of from and q of to have accounts in common if both are of one class: equal modulo the greatest common divisor.
	// open is, by class, what the task records say less what the campaign days add up to: nothing in the end.
	open []sums
}

// sums are those that the task record and the campaign days have in common.
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

// targetShard is what a shard gets, the campaign days and ids apart.
type targetShard struct {
	known bool // there was a shard of its class with state
	sums  sums
	dcs   map[string]bool
	task  spendpb.TaskState // what does not follow from campaign days
	own   spendpb.Origin    // the same of the datacentre's own events
	since [2]int64          // when the previous and the current generation of ids began, at the latest
}

// maxMovedIDs is how many ids go into one value of TableCarried.
const maxMovedIDs = 1 << 10

// generations of the ids in the new shards. What follows numbers on from there.
const movedPrevious, movedCurrent = 1, 2

// NewRepartitioner is for the state of the counters of cfg over from shards. It sets cfg.Shard.
func NewRepartitioner(cfg Config, from, to int32) (*Repartitioner, error) {
	if from < 1 || to < 1 || from > events.MaxShards || to > events.MaxShards {
		return nil, fmt.Errorf("move spend from %d to %d shards: there are 1 to %d", from, to, events.MaxShards)
	}
	cfg.Shard = func(account []byte) int32 { return events.ShardBytes(account, from) }
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Repartitioner{cfg: cfg, from: from, to: to, shards: make([]targetShard, to), open: make([]sums, divisor(from, to))}
	for q := range m.shards {
		m.shards[q].dcs = map[string]bool{}
	}
	return m, nil
}

func divisor(a, b int32) int32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Source makes the counter of a shard of the former number, to be warmed up and given to Take. It folds nothing.
func (m *Repartitioner) Source(t stream.Task) (*Counter, error) {
	t.LocalNext = nil // the inputs know whose an id is, the local table does not
	c, err := New(m.cfg, t)
	if err == nil {
		c.idAccounts = new([2][]uint64)
	}
	return c, err
}

// Partition is the shard of a key; false if it is not moved, but made anew by Take and Rest.
func (m *Repartitioner) Partition(table byte, key, value []byte) (shard int32, ok bool, err error) {
	switch table {
	case TableTask, TableMovedIDs:
		return 0, false, nil
	case TableSpend:
	default:
		return 0, false, fmt.Errorf("table %d is unknown here: was it written by a newer version?", table)
	}
	_, account, _, _, err := ParseKey(key)
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
			return fmt.Errorf("%d micros charged, %d refunded, served by %s: with the others of its shard that is more than int64 holds, or of more than %d serving datacentres: take more shards", by.ChargedMicros, by.RefundedMicros, by.ServingDc, MaxServingDCs)
		}
	}
	s.sums.add(sumsOf(p))
	return nil
}

// Put puts a key into the state of a shard. It keeps neither key nor value.
type Put func(shard int32, table byte, key, value []byte) error

// Extract takes what is not by campaign from a counter that Source made, after it was warmed up.
func (m *Repartitioner) Extract(c *Counter, put Put) error {
	value, err := c.task.Get(TableTask, []byte(taskKey))
	if err != nil || value == nil {
		return err
	}
	s := &spendpb.TaskState{}
	if err := proto.Unmarshal(value, s); err != nil {
		return fmt.Errorf("task record: %w", err)
	}
	own := &spendpb.Origin{}
	for _, o := range s.Origins {
		if o.Dc == m.cfg.DC {
			own = o
		} else if o.Count > 0 || o.Micros > 0 || len(o.Applied) > 0 {
			return fmt.Errorf("it counted %d events copied from %s: how far copies were applied is by partitions of %s, and cannot be moved", o.Count, o.Dc, o.Dc)
		}
	}
	p := c.task.Partition
	m.open[p%m.classes()].add(sums{own.Count, s.Duplicates, own.Micros, s.RefundedMicros})
	for q := p % m.classes(); q < m.to; q += m.classes() {
		m.shards[q].mergeClocks(s, own)
	}
	// Figures that no account tells: their sum over all shards stays.
	one := &m.shards[p%m.to]
	one.task.Refunds += s.Refunds
	one.task.EarlyRotations += s.EarlyRotations
	one.own.Lost += own.Lost
	one.own.TransportDuplicates += own.TransportDuplicates
	return m.moveIDs(c, put)
}

// mergeClocks moves the shard's clocks on to those of one whose accounts it gets. A generation of ids is as young as the youngest of
// those that become one: so none is forgotten before its time.
func (s *targetShard) mergeClocks(t *spendpb.TaskState, own *spendpb.Origin) {
	s.known = true
	s.task.TimestampMs = max(s.task.TimestampMs, t.TimestampMs)
	s.own.WatermarkMs = max(s.own.WatermarkMs, own.WatermarkMs)
	s.since[0] = max(s.since[0], t.Ids.GetPrevious().GetStartMs())
	s.since[1] = max(s.since[1], t.Ids.GetCurrent().GetStartMs())
}

// moveIDs gives the ids that c remembers to the shards of their accounts.
func (m *Repartitioner) moveIDs(c *Counter, put Put) error {
	blobs := idBatcher{put: put, from: c.task.Partition, full: map[idTarget][]byte{}, count: map[idTarget]uint32{}}
	for i, ids := range c.window.pending {
		for j, id := range ids {
			owner := c.idAccounts[i][j]
			if err := blobs.add(idTarget{int32(owner % uint64(m.to)), movedPrevious + uint64(i)}, id, owner); err != nil {
				return err
			}
		}
	}
	err := c.task.Scan(TableMovedIDs, nil, func(key, value []byte) error {
		if len(key) < 8 || len(value)%movedIDBytes != 0 {
			return fmt.Errorf("key %x with %d bytes is not of carried ids", key, len(value))
		}
		age := c.window.number - binary.BigEndian.Uint64(key)
		for ; age <= 1 && len(value) > 0; value = value[movedIDBytes:] {
			id, owner := binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:])
			if err := blobs.add(idTarget{int32(owner % uint64(m.to)), movedCurrent - age}, id, owner); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for to := range maps.Clone(blobs.full) {
		if err := blobs.flush(to); err != nil {
			return err
		}
	}
	return nil
}

// idTarget is where ids are carried to.
type idTarget struct {
	shard      int32
	generation uint64
}

// idBatcher collects ids until there are enough for a value.
type idBatcher struct {
	put   Put
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
	key := binary.BigEndian.AppendUint64(nil, to.generation)
	key = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(key, uint32(b.from)), b.count[to])
	b.full[to] = value[:0]
	b.count[to]++
	return b.put(to.shard, TableMovedIDs, key, value)
}

// Finish puts the task records, once every shard was placed and taken. It refuses a state whose sums are not those of its campaign
// days: something is wrong with it, and would be moved along.
func (m *Repartitioner) Finish(put Put) error {
	for class, left := range m.open {
		if left != (sums{}) {
			return fmt.Errorf("the task records of shards %d modulo %d have %d micros, %d refunded, %d events and %d duplicates more than their campaign days: the state does not add up; `weir replay` shows what is right", class, m.classes(), left.micros, left.refunded, int64(left.count), int64(left.duplicates))
		}
	}
	for q := range m.shards {
		s := &m.shards[q]
		if !s.known {
			continue
		}
		s.own.Dc, s.own.Count, s.own.Micros = m.cfg.DC, s.sums.count, s.sums.micros
		s.task.Duplicates, s.task.RefundedMicros = s.sums.duplicates, s.sums.refunded
		s.task.Origins = []*spendpb.Origin{&s.own}
		s.task.ServingDcs = slices.Sorted(maps.Keys(s.dcs))
		// What is in no topic's past is in TableCarried, and all of the new topics belongs to the current generation.
		s.task.Ids = &spendpb.Generations{
			Number: movedCurrent, Current: &spendpb.Mark{StartMs: s.since[1]}, Previous: &spendpb.Mark{StartMs: s.since[0]},
		}
		value, err := proto.MarshalOptions{Deterministic: true}.Marshal(&s.task)
		if err != nil {
			return fmt.Errorf("task record of shard %d: %w", q, err)
		}
		if err := put(int32(q), TableTask, []byte(taskKey), value); err != nil {
			return err
		}
	}
	return nil
}
