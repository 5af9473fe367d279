package spendcounter

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/dense"
)

// entry returns the number of the entry with this key. It reads committed state if the entry is not
// in memory.
func (c *Counter) entry(hash uint64, campaign, account []byte, day events.Day, currency events.Currency) (uint32, error) {
	if n := c.cache.find(hash, campaign, account, tailOf(day, currency)); n != dense.None {
		return n, nil
	}
	c.scratch.key = AppendKey(c.scratch.key[:0], campaign, account, day, currency)
	value, err := c.task.Get(TableSpend, c.scratch.key)
	if err != nil {
		return 0, fmt.Errorf("spend counter, partition %d: read spend %q: %w", c.task.Partition, c.scratch.key, err)
	}
	n, err := c.cache.add(hash, c.scratch.key)
	if err != nil || value == nil {
		return n, err
	}
	if err := c.decodeSpend(&c.cache.list[n], value); err != nil {
		return 0, fmt.Errorf("spend counter, partition %d: spend %q: %w: rebuild the store from its changelog",
			c.task.Partition, c.scratch.key, err)
	}
	return n, nil
}

// decodeSpend fills e from the value of the key in c.scratch.key. It checks the invariant on which
// the overflow check depends: no campaign has more than its task.
func (c *Counter) decodeSpend(e *entry, value []byte) error {
	m := &eventspb.Spend{}
	if err := proto.Unmarshal(value, m); err != nil {
		return err
	}
	currency, err := events.ParseCurrency(m.Currency)
	if err != nil {
		return err
	}
	key := AppendKey(c.scratch.sub[:0], []byte(m.Campaign), []byte(m.Account), events.Day(m.BudgetDay), currency)
	if c.scratch.sub = key; string(key) != string(c.scratch.key) {
		return fmt.Errorf("the value is the record of key %q", key)
	}
	e.duplicates, e.asOfMs = m.Duplicates, m.AsOfMs
	charged, refunded := c.micros, c.refundedMicros
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

// restore puts p into e: inline if it fits.
func (c *cache) restore(e *entry, p *part) {
	rest := *p
	if e.dc == noDC {
		e.dc, e.charged, e.refunded = p.dc, p.charged, p.refunded
		e.impressions = p.counts[eventspb.EventType_EVENT_TYPE_IMPRESSION]
		e.clicks = p.counts[eventspb.EventType_EVENT_TYPE_CLICK]
		rest.charged, rest.refunded = 0, 0
		rest.counts[eventspb.EventType_EVENT_TYPE_IMPRESSION] = 0
		rest.counts[eventspb.EventType_EVENT_TYPE_CLICK] = 0
	}
	if !rest.empty() {
		c.part(e, p.dc).add(&rest)
	}
}
