package spendcounter

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// adjustment is a valid record of the adjustments topic.
type adjustment struct {
	account, campaign, serving []byte
	reason                     string
	reference                  []byte // key in TableReferences
	micros, ingest             int64
	key                        uint64
	day, row                   events.Day // row: the day of the row to which it is applied
	currency                   events.Currency
}

// foldAdjustments applies adjustments one by one, because there are few. They do not advance the
// task's clock, which shows how fresh the events are.
func (c *Counter) foldAdjustments(in *input, b *stream.Batch) error {
	for i := range b.Records {
		var at events.Origin
		if in.copied {
			ok := false
			if at, ok = originOf(b.Records[i].Headers); !ok {
				c.origins[in.origin].rejected++
				b.Reject(i, ReasonBadOrigin, badOrigin)
				continue
			}
			if isApplied(c.applied(in), at) {
				c.origins[in.origin].transportDuplicates++
				continue
			}
		}
		bad, err := c.foldAdjustment(&b.Records[i])
		switch {
		case err != nil:
			return err
		case bad.reason != "":
			if b.Reject(i, bad.reason, bad.detail); in.copied {
				c.rejectCopy(in, at)
			}
		case in.copied:
			c.advance(in, at)
		}
	}
	return nil
}

// foldAdjustment applies an adjustment, or returns why it is rejected.
func (c *Counter) foldAdjustment(rec *stream.Record) (refusal, error) {
	a, bad := c.readAdjustment(rec)
	if bad.reason != "" {
		return bad, nil
	}
	before, err := c.reference(a.reference)
	if err != nil {
		return refusal{}, err
	}
	if _, fits := events.AddMicros(c.refundedMicros, a.micros); !fits && before == nil {
		return refusal{ReasonOverflow, "the sum of the shard's refunds would overflow int64"}, nil
	}
	dc := c.dcs.add(a.serving)
	if dc == noDC {
		return refusal{ReasonBadID, "serving_dc " + quote(a.serving) + ": the partition has 256 other names, which is the maximum"}, nil
	}
	return refusal{}, c.adjust(&a, dc, before)
}

// adjust applies a. before is the adjustment that was applied under its reference, nil if a is the
// first.
func (c *Counter) adjust(a *adjustment, dc uint16, before *spendpb.AppliedAdjustment) error {
	n, err := c.entry(a.key, a.account, a.campaign, a.row, a.currency)
	if err != nil {
		return err
	}
	e := &c.cache.list[n]
	c.cache.touch(e, n)
	e.asOfMs = max(e.asOfMs, a.ingest)
	t := c.totals.of(a.row, a.currency)
	if before != nil {
		e.duplicates++
		c.duplicates++
		if c.repeat(a, before) {
			c.conflicts++
		}
		return nil
	}
	if err := c.loadUnread(); err != nil { // for the comparison of charges and refunds
		return err
	}
	c.refer(a)
	c.cache.refund(e, dc, a.micros)
	t.refunded += a.micros
	if charged, refunded := c.cache.sums(e); refunded > charged && a.row != lifetimeDay {
		c.overRefunds++
	}
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
	a.micros, a.day, a.reason = m.Micros, events.Day(m.BudgetDay), m.Reason
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
	case badID([]byte(a.reason)):
		return a, refusal{ReasonBadID, "reason " + quote([]byte(a.reason))}
	case a.micros <= 0:
		return a, refusal{ReasonNonPositiveAmount, fmt.Sprintf("%d micros", a.micros)}
	case a.day == 0:
		return a, refusal{ReasonNoDay, ""}
	case !a.day.Valid():
		return a, refusal{ReasonBadDay, fmt.Sprintf("budget_day %d is not a date", a.day)}
	case len(a.serving) == 0:
		return a, refusal{ReasonNoServingDC, "name the datacentre that served the ads: the datacentre that counts may be another one"}
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
	a.ingest = min(a.ingest, now+MaxTimestampMs)
	a.reference = referenceKey(a.account, reference)
	a.row = c.closing.rowOf(a.day)
	a.key = hashKey(a.account, a.campaign, a.row, a.currency)
	return a, refusal{}
}
