package spendcounter

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/dense"
	"github.com/weirhq/weir/stream"
)

// RankingSize is the number of campaigns of each budget day and currency that table TableRanking
// has by charged micros, and by number of events.
const RankingSize = 100

// maxRankings is the number of rankings that a task keeps in memory between commits. A ranking that
// is not in memory costs up to 200 reads.
const maxRankings = 128

// Order is what a ranking is sorted by, the greatest first. Campaigns with equal figures are
// ordered by account, then campaign.
type Order uint8

// Orders of a ranking.
const (
	ByCharged Order = iota // charged micros
	ByEvents               // events of all types, without duplicates
	orders
)

// orderSet is a set of orders: the value of a row of TableRanking.
type orderSet uint8

func (s orderSet) with(o Order) orderSet { return s | 1<<o }

func orderSetOf(value []byte) orderSet {
	if len(value) != 1 {
		return 0
	}
	return orderSet(value[0])
}

// InRanking reports whether a row of table TableRanking is of a campaign that is among the first by
// an order.
func InRanking(value []byte, o Order) bool { return orderSetOf(value)&orderSet(0).with(o) != 0 }

// figures are the figures of a campaign day, by order. They never decrease.
type figures [orders]uint64

// rankings are the campaigns with the greatest figures of each budget day and currency: a function
// of the campaign days, kept up to date by those that change. A campaign can only rise when it
// changes, so a flush compares each changed campaign day with the last ones of its ranking.
type rankings struct {
	size  int                 // campaigns by each order
	list  map[uint64]*ranking // by day and currency, see readTail
	found *ranking            // the last one that was looked up
}

// ranking is the ranking of one budget day and currency.
type ranking struct {
	tail    uint64
	members map[string]*ranked // by account 0 campaign
	full    bool               // last is known: there were at least size members
	last    [orders]ranked     // the last one by each order that stays
	changed bool
	raised  uint32   // the epoch of the cache in which raise was called last
	gone    [][]byte // ids of rows to delete
	total   dayTotal // as of the last flush
	// written has the campaign days that this task has written since the first of them; nil: there
	// were some before, or they do not fit in memory.
	written *keyFilter
}

// ranked is a campaign in a ranking.
type ranked struct {
	ids string
	figures
	in     orderSet // orders by which it is among the first, as of the last prune
	stored orderSet // its row in the store; 0: the store has no row
}

// before compares two campaigns by an order, the greatest first.
func (a *ranked) before(b *ranked, order Order) int {
	return cmp.Or(cmp.Compare(b.figures[order], a.figures[order]), cmp.Compare(a.ids, b.ids))
}

// reaches reports whether figures f of a campaign could be among the first by some order. They do
// for every member.
func (r *ranking) reaches(ids []byte, f figures) bool {
	if !r.full {
		return true
	}
	for o := range f {
		if last := &r.last[o]; f[o] > last.figures[o] || f[o] == last.figures[o] && string(ids) <= last.ids {
			return true
		}
	}
	return false
}

// offer compares a campaign day that changed. ids are its account and campaign.
func (r *ranking) offer(ids []byte, f figures, size int) {
	if !r.reaches(ids, f) {
		return
	}
	r.changed = true
	if m := r.members[string(ids)]; m != nil {
		m.figures = f
		return
	}
	m := &ranked{ids: string(ids), figures: f}
	r.members[m.ids] = m
	if len(r.members) > 8*size {
		r.prune(size)
	}
}

// prune drops the members that are not among the first by any order. It returns the others.
func (r *ranking) prune(size int) []*ranked {
	list := make([]*ranked, 0, len(r.members))
	for _, m := range r.members {
		m.in = 0
		list = append(list, m)
	}
	for o := range orders {
		slices.SortFunc(list, func(a, b *ranked) int { return a.before(b, o) })
		for _, m := range list[:min(size, len(list))] {
			m.in = m.in.with(o)
		}
		if r.full = len(list) >= size; r.full {
			r.last[o] = *list[size-1]
		}
	}
	return slices.DeleteFunc(list, func(m *ranked) bool {
		if m.in != 0 {
			return false
		}
		delete(r.members, m.ids)
		if m.stored != 0 {
			r.gone = append(r.gone, []byte(m.ids))
		}
		return true
	})
}

// flush hands over the rows that changed.
func (r *ranking) flush(size int, ch *stream.Changes) {
	if !r.changed {
		return
	}
	r.changed = false
	var key []byte
	list := r.prune(size)
	for _, ids := range r.gone { // first: one of them may have come again
		key = appendRankingKey(key[:0], r.tail, ids)
		ch.Delete(TableRanking, key)
	}
	r.gone = r.gone[:0]
	for _, m := range list {
		if m.stored != m.in {
			key = appendRankingKey(key[:0], r.tail, []byte(m.ids))
			ch.Put(TableRanking, key, []byte{byte(m.in)})
			m.stored = m.in
		}
	}
}

// raiseFrom is the number of changed campaign days, in sizes of a ranking, from which on raise
// costs less than it saves.
const raiseFrom = 4

// raise sets the figures of the members that changed since the last flush, so that last is that of
// now. Without it, campaigns that have all grown alike would reach the last one of before, and be
// members until the next prune.
func (c *Counter) raise(r *ranking) {
	day, currency := splitTail(r.tail)
	for ids, m := range r.members {
		account, campaign, _ := bytes.Cut([]byte(ids), []byte{0})
		n := c.cache.find(hashKey(account, campaign, day, currency), account, campaign, r.tail)
		if n == dense.None {
			continue
		}
		if e := &c.cache.list[n]; e.epoch == c.cache.epoch {
			m.figures, r.changed = c.cache.figures(e), true
		}
	}
	if r.changed {
		r.prune(c.rankings.size)
	}
}

// rank compares an entry that changed since the last flush.
func (c *Counter) rank(e *entry) error {
	key := c.cache.key(e)
	tail := readTail(key)
	if events.Day(tail>>24) <= c.closing.through {
		return nil
	}
	r, err := c.ranking(tail)
	if err != nil {
		return err
	}
	if len(c.cache.dirty) > raiseFrom*c.rankings.size && r.raised != c.cache.epoch {
		r.raised = c.cache.epoch
		c.raise(r)
	}
	r.offer(key[:len(key)-keyTail-1], c.cache.figures(e), c.rankings.size)
	return nil
}

// isOpen reports whether a spend key is of a day that is not closed. Others are in no ranking.
func (c *Counter) isOpen(key []byte) bool { return events.Day(readTail(key)>>24) > c.closing.through }

// ranking returns the ranking of a budget day and currency. It reads committed state if the ranking
// is not in memory.
func (c *Counter) ranking(tail uint64) (*ranking, error) {
	l := &c.rankings
	if l.found != nil && l.found.tail == tail {
		return l.found, nil
	}
	if l.found = l.list[tail]; l.found != nil {
		return l.found, nil
	}
	r := &ranking{tail: tail, members: map[string]*ranked{}}
	if !c.unranked {
		if err := c.loadRanking(r); err != nil {
			return nil, fmt.Errorf("spend counter, partition %d: ranking: %w: rebuild the store from its changelog", c.task.Partition, err)
		}
		if len(r.members) == 0 {
			r.written = &keyFilter{}
		}
	}
	l.list[tail], l.found = r, r
	return r, nil
}

func (c *Counter) loadRanking(r *ranking) error {
	err := c.task.Scan(TableRanking, appendRankingKey(nil, r.tail, nil), func(key, value []byte) error {
		m := &ranked{ids: string(key[keyTail:]), stored: orderSetOf(value)}
		r.members[m.ids] = m
		return nil
	})
	for _, m := range r.members {
		if err != nil {
			break
		}
		var value []byte
		if value, err = c.task.Get(TableSpend, spendKeyOf(appendRankingKey(nil, r.tail, []byte(m.ids)))); err == nil {
			m.figures, _, err = figuresOf(value)
		}
	}
	if err == nil && len(r.members) > 0 {
		r.prune(c.rankings.size)
		err = c.loadTotal(r)
	}
	return err
}

// rankAll makes all rankings and totals from the campaign days. It is called after state came from
// outside, in which campaigns may have fallen.
func (c *Counter) rankAll(ch *stream.Changes) error {
	err := c.task.Scan(TableSpend, nil, func(key, value []byte) error {
		if !c.isOpen(key) {
			return nil
		}
		f, refunded, err := figuresOf(value)
		if err != nil {
			return fmt.Errorf("spend %q: %w", key, err)
		}
		r, err := c.ranking(readTail(key))
		if err == nil {
			r.offer(key[:len(key)-keyTail-1], f, c.rankings.size)
			r.total.add(dayTotal{int64(f[ByCharged]), refunded, f[ByEvents]})
		}
		return err
	})
	if err != nil {
		return err
	}
	for tail, r := range c.rankings.list {
		r.prune(c.rankings.size)
		c.totals.of(splitTail(tail)) // flushTotals hands it over
	}
	if err := c.dropTotals(ch); err != nil {
		return err
	}
	err = c.task.Scan(TableRanking, nil, func(key, value []byte) error {
		if len(key) < keyTail {
			return fmt.Errorf("ranking key %q is too short", key)
		}
		if r := c.rankings.list[readTail(append([]byte{0}, key[:keyTail]...))]; r != nil {
			if m := r.members[string(key[keyTail:])]; m != nil {
				m.stored = orderSetOf(value)
				return nil
			}
		}
		ch.Delete(TableRanking, key)
		return nil
	})
	c.unranked, c.changed = false, true
	return err
}

// flushRankings hands over the rows of all rankings that changed.
func (c *Counter) flushRankings(ch *stream.Changes) {
	for _, r := range c.rankings.list {
		r.flush(c.rankings.size, ch)
	}
	if len(c.rankings.list) > maxRankings {
		clear(c.rankings.list)
		c.rankings.found = nil
	}
}

// figures returns the figures of e.
func (c *cache) figures(e *entry) figures {
	f := figures{ByCharged: uint64(e.charged), ByEvents: e.impressions + e.clicks}
	if e.spill == 0 {
		return f
	}
	for i := range c.spills[e.spill-1] {
		p := &c.spills[e.spill-1][i]
		f[ByCharged] += uint64(p.charged)
		for _, n := range p.counts {
			f[ByEvents] += n
		}
	}
	return f
}

// figuresOf returns the figures of a value of TableSpend, and its refunds.
func figuresOf(value []byte) (f figures, refunded int64, err error) {
	if value == nil {
		return f, 0, errors.New("a campaign of the ranking has no spend")
	}
	m := &eventspb.Spend{}
	if err := proto.Unmarshal(value, m); err != nil {
		return f, 0, err
	}
	s := sumsOf(m)
	return figures{ByCharged: uint64(s.micros), ByEvents: s.count}, s.refunded, nil
}

// RankingPrefix returns the prefix of all keys of a budget day in TableRanking and TableTotals.
func RankingPrefix(day events.Day) []byte { return binary.BigEndian.AppendUint32(nil, uint32(day)) }

// appendRankingKey appends the key of table TableRanking: day, currency, account 0x00 campaign.
func appendRankingKey(dst []byte, tail uint64, ids []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, tail<<8)[:len(dst)+keyTail]
	return append(dst, ids...)
}

// ParseRankingKey returns the spend key of a key of table TableRanking.
func ParseRankingKey(key []byte) ([]byte, error) {
	if len(key) < keyTail || bytes.Count(key[keyTail:], []byte{0}) != 1 {
		return nil, fmt.Errorf("ranking key %q: the key is not day, currency, account and campaign: does it belong to another table?", key)
	}
	return spendKeyOf(key), nil
}

func spendKeyOf(rankingKey []byte) []byte {
	key := make([]byte, 0, len(rankingKey)+1)
	key = append(append(key, rankingKey[keyTail:]...), 0)
	return append(key, rankingKey[:keyTail]...)
}
