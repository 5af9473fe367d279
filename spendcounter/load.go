package spendcounter

import (
	"bytes"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/dense"
)

// entry returns the number of the entry with this key. An entry that is not in memory begins empty:
// loadUnread adds what is committed, before anything is handed over.
func (c *Counter) entry(hash uint64, account, campaign []byte, day events.Day, currency events.Currency) (uint32, error) {
	if n := c.cache.find(hash, account, campaign, tailOf(day, currency)); n != dense.None {
		return n, nil
	}
	c.scratch.key = AppendKey(c.scratch.key[:0], account, campaign, day, currency)
	n, err := c.cache.add(hash, c.scratch.key)
	if err == nil {
		c.cache.unread = append(c.cache.unread, n)
	}
	return n, err
}

// loadUnread adds the committed spend of the entries that came into memory since the last Flush.
// All are read at once, in the order of their keys: where the campaign days do not fit in memory,
// a read of many neighbours takes a fraction of the time of single reads.
func (c *Counter) loadUnread() error {
	unread := c.cache.unread
	if len(unread) == 0 {
		return nil
	}
	// They were added one after the other: no other entry has a number from the first one on. All
	// of them are dirty.
	c.cache.dirty = slices.DeleteFunc(c.cache.dirty, func(n uint32) bool { return n >= unread[0] })
	key := func(n uint32) []byte { return c.cache.key(&c.cache.list[n]) }
	slices.SortFunc(unread, func(a, b uint32) int { return bytes.Compare(key(a), key(b)) })
	for part := range slices.Chunk(unread, maxKeys) {
		if err := c.loadSorted(part); err != nil {
			return fmt.Errorf("spend counter, partition %d: read spend: %w", c.task.Partition, err)
		}
	}
	c.cache.dirty = append(c.cache.dirty, unread...) // in the order of their keys, as the store has them
	c.cache.unread = unread[:0]
	return nil
}

// maxKeys bounds the memory of the keys of one read.
const maxKeys = 4096

// loadSorted is loadUnread for entries in the order of their keys. Those that were certainly never
// written are not read.
func (c *Counter) loadSorted(unread []uint32) error {
	keys, read := c.scratch.keys[:0], c.scratch.read[:0]
	for i, n := range unread {
		written, err := c.written(n)
		if err != nil {
			return err
		}
		if written {
			keys, read = append(keys, c.cache.key(&c.cache.list[n])), append(read, i)
		}
	}
	c.scratch.keys, c.scratch.read = keys, read
	next := 0 // the first of unread that is not known to be committed or fresh
	err := c.task.MultiGet(TableSpend, keys, func(i int, value []byte) error {
		at := read[i]
		c.cache.fresh = append(c.cache.fresh, unread[next:at]...)
		next = at + 1
		if err := c.addCommitted(unread[at], value); err != nil {
			return fmt.Errorf("spend %q: %w: rebuild the store from its changelog", keys[i], err)
		}
		return nil
	})
	c.cache.fresh = append(c.cache.fresh, unread[next:]...)
	clear(keys) // an eviction replaces the memory that they are in
	return err
}

// addCommitted adds value, the committed record of its key, to entry number n.
func (c *Counter) addCommitted(n uint32, value []byte) error {
	e, m := &c.cache.list[n], &c.scratch.spend
	if err := proto.Unmarshal(value, m); err != nil {
		return err
	}
	currency, err := events.ParseCurrency(m.Currency)
	if err != nil {
		return err
	}
	c.scratch.key = AppendKey(c.scratch.key[:0], []byte(m.Account), []byte(m.Campaign), events.Day(m.BudgetDay), currency)
	if string(c.scratch.key) != string(c.cache.key(e)) {
		return fmt.Errorf("the value is the record of key %q", c.scratch.key)
	}
	e.duplicates += m.Duplicates
	e.asOfMs = max(e.asOfMs, m.AsOfMs)
	if err := c.addHours(n, m); err != nil {
		return err
	}
	return c.addParts(e, m)
}

// addParts adds the parts of a record to e. It checks the invariant on which the overflow check
// depends: no campaign has more than its task.
func (c *Counter) addParts(e *entry, m *eventspb.Spend) error {
	charged, refunded := c.cache.sums(e)
	charged, refunded = c.micros-charged, c.refundedMicros-refunded
	for _, by := range m.ByDc {
		p := part{charged: by.ChargedMicros, refunded: by.RefundedMicros}
		if p.charged < 0 || p.refunded < 0 || p.charged > charged || p.refunded > refunded {
			return fmt.Errorf("%s charged %d and refunded %d micros, more than its shard", by.ServingDc, p.charged, p.refunded)
		}
		charged, refunded = charged-p.charged, refunded-p.refunded
		if p.dc = c.dcs.add([]byte(by.ServingDc)); p.dc == noDC {
			return fmt.Errorf("serving datacentre %q is not in the task record", by.ServingDc)
		}
		for _, t := range by.Events {
			if t.Type < 0 || int(t.Type) >= numTypes {
				return fmt.Errorf("event type %d is unknown: run the version that wrote it, or a newer one", t.Type)
			}
			p.counts[t.Type] += t.Count
		}
		c.cache.restore(e, &p)
	}
	return nil
}

// restore adds p to e: inline if it is of the inline datacentre.
func (c *cache) restore(e *entry, p *part) {
	rest := *p
	if e.dc == noDC {
		e.dc = p.dc
	}
	if e.dc == p.dc {
		impressions, clicks := &rest.counts[eventspb.EventType_EVENT_TYPE_IMPRESSION], &rest.counts[eventspb.EventType_EVENT_TYPE_CLICK]
		e.charged, e.refunded = e.charged+p.charged, e.refunded+p.refunded
		e.impressions, e.clicks = e.impressions+*impressions, e.clicks+*clicks
		rest.charged, rest.refunded, *impressions, *clicks = 0, 0, 0, 0
	}
	if !rest.empty() {
		c.part(e, p.dc).add(&rest)
	}
}
