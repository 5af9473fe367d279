package spendcounter

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// adjustmentScope separates a reference id from an event id of the same text.
const adjustmentScope = 0xa24baed4963ee407

// adjustment is a valid record of the adjustments topic.
type adjustment struct {
	account, campaign, serving []byte
	micros, ingest             int64
	id, key                    uint64
	day                        events.Day
	currency                   events.Currency
}

// foldAdjustments applies adjustments one by one, because there are few. They do not advance the
// task's clock, which shows how fresh the events are.
func (c *Counter) foldAdjustments(in *input, b *stream.Batch) error {
	for i := range b.Records {
		a, bad := c.readAdjustment(&b.Records[i])
		if bad.reason != "" {
			b.Reject(i, bad.reason, bad.detail)
			continue
		}
		turn := c.window.expired(c.timestampMs) || c.window.room() <= 0
		_, fits := events.AddMicros(c.refundedMicros, a.micros)
		if !fits && !c.window.set.Has(a.id, turn) {
			b.Reject(i, ReasonOverflow, "the sum of the shard's refunds would overflow int64")
			continue
		}
		dc := c.dcs.add(a.serving)
		if dc == noDC {
			b.Reject(i, ReasonBadID, "serving_dc "+quote(a.serving)+": the partition has 256 other names, which is the maximum")
			continue
		}
		if turn {
			c.window.rotate(c.mark(in, b.Records[i].Offset, c.timestampMs))
		}
		if err := c.adjust(&a, dc); err != nil {
			return err
		}
	}
	return nil
}

func (c *Counter) adjust(a *adjustment, dc uint16) error {
	var seen [1]bool
	c.window.insert([]uint64{a.id}, seen[:])
	n, err := c.entry(a.key, a.campaign, a.account, a.day, a.currency)
	if err != nil {
		return err
	}
	e := &c.cache.list[n]
	c.cache.touch(e, n)
	e.asOfMs = max(e.asOfMs, a.ingest)
	if seen[0] {
		e.duplicates++
		c.duplicates++
		return nil
	}
	c.cache.refund(e, dc, a.micros)
	c.refunds++
	c.refundedMicros += a.micros
	return nil
}

// readAdjustment decodes and validates rec. It changes no state.
func (c *Counter) readAdjustment(rec *stream.Record) (a adjustment, bad refusal) {
	if len(rec.Value) > MaxValueBytes {
		return a, refusal{ReasonOversized, fmt.Sprintf("%d bytes, at most %d", len(rec.Value), MaxValueBytes)}
	}
	m := &c.scratch.adjustment
	if err := proto.Unmarshal(rec.Value, m); err != nil {
		return a, refusal{ReasonUndecodable, err.Error()}
	}
	reference := []byte(m.ReferenceId)
	a.account, a.campaign, a.serving = []byte(m.Account), []byte(m.Campaign), []byte(m.ServingDc)
	a.micros, a.day = m.Micros, events.Day(m.BudgetDay)
	// A code that does not parse is 0, which checkOwner rejects as unknown.
	a.currency, _ = events.ParseCurrency(m.Currency)
	now := min(max(rec.TimeMs, 0), maxTimeMs)
	if a.ingest = m.IngestMs; a.ingest <= 0 {
		a.ingest = now
	}
	switch {
	case len(rec.Value) == 0:
		return a, refusal{ReasonNoReference, "the record's value is empty"}
	case len(reference) == 0:
		return a, refusal{ReasonNoReference, ""}
	case badID(reference):
		return a, refusal{ReasonBadID, "reference_id " + quote(reference)}
	case a.micros <= 0:
		return a, refusal{ReasonNonPositiveAmount, fmt.Sprintf("%d micros", a.micros)}
	case a.day == 0:
		return a, refusal{ReasonNoDay, ""}
	case !a.day.Valid():
		return a, refusal{ReasonBadDay, fmt.Sprintf("budget_day %d is not a date", a.day)}
	case a.ingest > now+MaxAheadMs:
		return a, refusal{ReasonFuture, fmt.Sprintf("ingest at %d, record at %d: is a clock wrong?", a.ingest, now)}
	}
	if bad := c.check.checkOwner(a.account, a.campaign, a.serving, a.currency); bad.reason != "" {
		if bad.reason == ReasonUnknownCurrency {
			bad.detail = currencyDetail(m.Currency)
		}
		return a, bad
	}
	if p := c.cfg.Shard(a.account); p != c.task.Partition {
		return a, refusal{ReasonWrongPartition, fmt.Sprintf("account %s belongs to partition %d", quote(a.account), p)}
	}
	if len(a.serving) == 0 {
		a.serving = []byte(c.cfg.DC)
	}
	a.ingest = min(a.ingest, now+MaxTimestampMs)
	a.id = events.EventHash(a.account, reference) ^ adjustmentScope
	a.key = hashKey(a.campaign, a.account, a.day, a.currency)
	return a, refusal{}
}
