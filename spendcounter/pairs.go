package spendcounter

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// MaxParts is the greatest Config.Parts.
const MaxParts = 1000

// pairBytes is the approximate memory of a pair: pairSum, its key, and room to grow.
const pairBytes = 100

// pairColumn has the keys of the pairs of the rows of a chunk. nil: the event has no pair.
type pairColumn struct {
	key [chunk][]byte
	buf []byte // the keys point into it, or into a former one
}

// read sets row n. An event with a bad line item or arm has no pair and is not rejected: the same
// event must be charged in a counter without Config.Parts, and be found again by Rebuild.
func (p *pairColumn) read(n int, lineItem, arm []byte) {
	p.key[n] = nil
	if len(lineItem)+len(arm) == 0 || badID(lineItem) || badID(arm) {
		return
	}
	from := len(p.buf)
	p.buf = appendPairKey(p.buf, lineItem, arm)
	p.key[n] = p.buf[from:len(p.buf):len(p.buf)]
}

// pairs is the spend by line item and arm of the entries of a cache. Of each entry it has the max
// first pairs, in the order of pairHash, and the sum of the others.
type pairs struct {
	max   int         // Config.Parts; 0: pairs are not counted
	lists []*pairList // by number of the entry; nil: no event had a pair; empty if max is 0
	count int         // pairs in lists
	over  uint64      // events that were added to the sum of the others, since New
	dirty int         // changes since the last flush, at least as many as changed rows
}

type pairList struct {
	sums    []pairSum // in the order of pairHash
	other   tally     // of the pairs that are not in sums
	gone    []string  // keys of rows to delete
	changed bool      // since the last flush
	over    bool      // other changed since the last flush
	read    bool      // the list includes the committed rows
}

type pairSum struct {
	tally
	hash    uint64
	key     string
	stored  bool // there is a committed row
	changed bool // since the last flush
}

// charge adds t, of events, to a pair of entry number n.
func (p *pairs) charge(n uint32, key []byte, t tally) {
	l := p.lists[n]
	if l == nil {
		l = &pairList{}
		p.lists[n] = l
	}
	l.changed = true
	p.dirty++
	p.add(l, key, t, false)
}

// add adds t to a pair of l: of its committed row if stored, else of events. The order of additions
// does not matter: the max first pairs of all are among the max first of those seen so far, so none
// of them was ever added to the others.
func (p *pairs) add(l *pairList, key []byte, t tally, stored bool) {
	hash := pairHash(key)
	i, found := l.find(hash, key)
	if !found {
		if i == p.max {
			p.evict(l, &pairSum{tally: t, key: string(key), stored: stored})
			return
		}
		l.sums = slices.Insert(l.sums, i, pairSum{hash: hash, key: string(key)})
		p.count++
	}
	s := &l.sums[i]
	s.tally.add(t)
	s.stored, s.changed = s.stored || stored, s.changed || !stored
	for len(l.sums) > p.max {
		last := len(l.sums) - 1
		p.evict(l, &l.sums[last])
		l.sums[last] = pairSum{}
		l.sums = l.sums[:last]
		p.count--
	}
}

// evict adds s to the others of l, and remembers to delete its row.
func (p *pairs) evict(l *pairList, s *pairSum) {
	l.other.add(s.tally)
	l.over, p.over = true, p.over+s.events
	if s.stored {
		l.gone = append(l.gone, s.key)
		p.dirty++
	}
}

// find returns the place of a pair, and whether it is there.
func (l *pairList) find(hash uint64, key []byte) (int, bool) {
	from, to := 0, len(l.sums)
	for from < to {
		mid := int(uint(from+to) >> 1)
		s := &l.sums[mid]
		if s.hash < hash || s.hash == hash && s.key < string(key) {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from, from < len(l.sums) && l.sums[from].hash == hash && l.sums[from].key == string(key)
}

// bytes returns the approximate memory of the pairs.
func (p *pairs) bytes() int { return pairBytes*p.count + 8*cap(p.lists) }

// copy gives entry number n of p the list of an entry of old.
func (p *pairs) copy(n uint32, l *pairList) {
	if p.lists[n] = l; l != nil {
		p.count += len(l.sums)
	}
}

// weight returns the memory of entry number n, in entries: a pair takes about as much as an entry.
func (p *pairs) weight(n uint32) int {
	if p.max == 0 || p.lists[n] == nil {
		return 1
	}
	return 1 + len(p.lists[n].sums)
}

// flushPairs puts the rows of pairs that changed, and deletes those of pairs that were added to the
// others. It reads the committed rows of a campaign day once, while its entry is in memory.
func (c *Counter) flushPairs(at asOf, ch *stream.Changes) error {
	p := &c.cache.pairs
	if p.max == 0 {
		return nil
	}
	for _, n := range c.cache.fresh { // they have no rows
		if l := p.lists[n]; l != nil {
			l.read = true
		}
	}
	for _, n := range c.cache.dirty {
		l := p.lists[n]
		if l == nil || !l.changed {
			continue
		}
		spendKey := c.cache.key(&c.cache.list[n])
		if !l.read {
			if err := c.readPairs(l, spendKey); err != nil {
				return fmt.Errorf("spend counter, partition %d: read parts of spend %q: %w", c.task.Partition, spendKey, err)
			}
		}
		for i := range l.sums {
			if s := &l.sums[i]; s.changed {
				c.putPair(spendKey, s, at, ch)
				s.stored, s.changed = true, false
			}
		}
		if l.over {
			c.putPair(spendKey, &pairSum{tally: l.other, key: otherPair}, at, ch)
		}
		for _, key := range l.gone {
			c.scratch.key = append(append(c.scratch.key[:0], spendKey...), key...)
			ch.Delete(TableParts, c.scratch.key)
		}
		l.gone, l.over, l.changed = nil, false, false
	}
	p.dirty = 0
	return nil
}

// readPairs adds the committed rows of a campaign day to l.
func (c *Counter) readPairs(l *pairList, spendKey []byte) error {
	l.read = true
	return c.task.Scan(TableParts, spendKey, func(key, value []byte) error {
		m := &eventspb.SpendPart{}
		if err := proto.Unmarshal(value, m); err != nil {
			return fmt.Errorf("part %q: %w: rebuild the store from its changelog", key, err)
		}
		t, key := tally{m.Part.GetChargedMicros(), m.Part.GetEvents()}, key[len(spendKey):]
		c.scratch.key = appendPairKey(c.scratch.key[:0], []byte(m.Part.GetLineItem()), []byte(m.Part.GetArm()))
		if string(key) != string(c.scratch.key) || t.charged < 0 || t.charged > c.micros {
			return fmt.Errorf(
				"part %q has %d micros of part %q, more than its shard, or of another part: rebuild the store from its changelog", key,
				t.charged, c.scratch.key)
		}
		if string(key) == otherPair {
			l.other.add(t)
		} else {
			c.cache.pairs.add(l, key, t, true)
		}
		return nil
	})
}

// putPair puts the row of a pair: an eventspb.SpendPart, byte for byte as proto.Marshal does.
func (c *Counter) putPair(spendKey []byte, s *pairSum, at asOf, ch *stream.Changes) {
	c.scratch.key = append(append(c.scratch.key[:0], spendKey...), s.key...)
	sub := c.scratch.sub[:0]
	for field, rest := protowire.Number(1), s.key; field <= 2; field++ {
		n := 2 + int(rest[0])<<8 + int(rest[1])
		if n > 2 {
			sub = protowire.AppendString(appendTag(sub, field, protowire.BytesType), rest[2:n])
		}
		rest = rest[n:]
	}
	sub = appendVarint(sub, 3, uint64(s.charged))
	c.scratch.sub = appendVarint(sub, 4, s.events)
	dst := appendSpendKey(c.scratch.value[:0], spendKey)
	dst = protowire.AppendBytes(appendTag(dst, 5, protowire.BytesType), c.scratch.sub)
	c.scratch.value = c.appendOrder(at.append(dst), spendKey, at)
	ch.Put(TableParts, c.scratch.key, c.scratch.value)
}
