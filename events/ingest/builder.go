package ingest

import (
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// draft holds the values of a row before they are checked. A parser leaves the fields that the row
// does not have.
type draft struct {
	eventID, account, campaign, currency, lineItem, arm, servingDC, insertionID string

	eventType        eventspb.EventType
	priceMicros      int64
	clickPriceMicros int64 // of the click in the same row
	eventMs          int64
	ingestMs         int64 // 0, unless the row is an AdEvent that carries it
	budgetDay        int32 // 0: the day of eventMs
	clicked          bool  // the row reports an impression and its click: two events
}

// builder checks drafts and makes events of them. It reuses the events: they are valid until the
// next row.
type builder struct {
	set        *settings
	ids        *idHasher
	texts      cache[string] // checked texts, shared by the events that carry them
	currencies cache[string]
	prices     cache[int64]
	noun       string // for a price in the texts of rejections, with its article
	event      eventspb.AdEvent
	click      eventspb.AdEvent
	list       [2]*eventspb.AdEvent
}

func newBuilder(s *settings) *builder {
	return &builder{
		set:        s,
		noun:       "a price",
		ids:        newIDHasher(s.IDSpace, s.Format),
		texts:      newCache[string](maxCachedTexts),
		currencies: newCache[string](maxCachedValues),
		prices:     newCache[int64](maxCachedValues),
	}
}

// newDraft returns a draft with the values of rows that name none.
func (b *builder) newDraft() draft {
	return draft{account: b.set.Account, currency: b.set.Currency}
}

// build makes the row's events. derived reports whether their ids were derived from the row.
func (b *builder) build(row *rawRow, d *draft) (list []*eventspb.AdEvent, derived bool, err *stream.RejectError) {
	e := &b.event
	e.Reset()
	if err := b.setTexts(e, d); err != nil {
		return nil, false, err
	}
	if err := checkNumbers(d); err != nil {
		return nil, false, err
	}
	if err := b.checkAhead(max(d.eventMs, d.ingestMs)); err != nil {
		return nil, false, err
	}
	e.Type, e.PriceMicros, e.EventMs, e.IngestMs, e.BudgetDay = d.eventType, d.priceMicros, d.eventMs, d.ingestMs, d.budgetDay
	if e.BudgetDay == 0 {
		e.BudgetDay = int32(events.DayOf(d.eventMs, b.set.dayZone))
	}
	if derived = d.eventID == ""; derived {
		b.ids.begin(row)
		e.EventId = b.ids.derive(suffixRow)
	} else {
		if err := checkID("event_id", d.eventID); err != nil {
			return nil, false, err
		}
		e.EventId = d.eventID
	}
	b.list[0] = e
	if !d.clicked {
		return b.list[:1], derived, nil
	}
	return b.addClick(d, derived)
}

// checkNumbers refuses types, prices and times that an event of a file cannot have.
func checkNumbers(d *draft) *stream.RejectError {
	switch {
	case d.eventType == eventspb.EventType_EVENT_TYPE_HEARTBEAT:
		return reject(ReasonUnknownType, "a file cannot contain a heartbeat: the ads callback produces heartbeats")
	case !events.KnownEventType(d.eventType):
		return reject(ReasonUnknownType, "type %d: write %s", d.eventType, typeNames)
	case max(d.priceMicros, d.clickPriceMicros) > events.MaxPriceMicros:
		return reject(ReasonPriceOverflow, "%d micros: at most %d an event: is the price unit wrong?",
			max(d.priceMicros, d.clickPriceMicros), int64(events.MaxPriceMicros))
	case d.priceMicros < 0:
		return reject(ReasonNegativePrice, "%d micros: refund by an adjustment, not by an event", d.priceMicros)
	case d.ingestMs < 0 || d.ingestMs >= maxEventMs:
		return reject(ReasonTime,
			"ingest_ms %d is not a Unix time in milliseconds: leave the field out, so that the record's timestamp counts", d.ingestMs)
	case d.eventMs > 0 && d.eventMs < events.MinEventMs:
		return reject(ReasonTime, "%s", events.BeforeMinimum(d.eventMs))
	case d.eventMs <= 0 || d.eventMs >= maxEventMs:
		return reject(ReasonTime, "event_ms %d is not a Unix time in milliseconds between 1990 and 9998", d.eventMs)
	}
	return nil
}

// maxAheadMs is how far after the record's timestamp the spend counter accepts a time.
const maxAheadMs = 300_000

// checkAhead refuses times that the spend counter would refuse as future. The record's timestamp is
// this computer's time, and not before Options.Now.
func (b *builder) checkAhead(ms int64) *stream.RejectError {
	now := b.set.Now
	if ms <= now.UnixMilli()+maxAheadMs {
		return nil
	}
	return reject(ReasonFuture, "%s is more than 5 minutes after this computer's time, %s: is the zone or a clock wrong?",
		time.UnixMilli(ms).UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
}

// addClick adds the click that a row reports together with its impression.
func (b *builder) addClick(d *draft, derived bool) ([]*eventspb.AdEvent, bool, *stream.RejectError) {
	from, e := &b.event, &b.click
	e.Reset()
	if derived {
		e.EventId = b.ids.derive(suffixClick)
	} else {
		e.EventId = from.EventId + clickSuffix
		if len(e.EventId) > maxIDBytes {
			return nil, false, reject(ReasonID, "event_id has %d bytes: with %s, which the click's id adds, %d are allowed",
				len(from.EventId), clickSuffix, maxIDBytes)
		}
	}
	e.Type, e.PriceMicros = eventspb.EventType_EVENT_TYPE_CLICK, d.clickPriceMicros
	e.Account, e.Campaign, e.Currency = from.Account, from.Campaign, from.Currency
	e.EventMs, e.IngestMs, e.BudgetDay = from.EventMs, from.IngestMs, from.BudgetDay
	e.ServingDc, e.InsertionId, e.LineItem, e.Arm = from.ServingDc, from.InsertionId, from.LineItem, from.Arm
	b.list[1] = e
	return b.list[:2], derived, nil
}

// setTexts sets the string fields of e except the event id.
func (b *builder) setTexts(e *eventspb.AdEvent, d *draft) (err *stream.RejectError) {
	if e.Account, err = b.text("account", d.account); err != nil {
		return err
	}
	if e.Account == "" {
		return reject(ReasonEmptyAccount, "the row names no account to charge")
	}
	if e.Campaign, err = b.text("campaign", d.campaign); err != nil {
		return err
	}
	if e.Campaign == "" {
		return reject(ReasonEmptyCampaign, "the row names no campaign")
	}
	if e.Currency, err = b.currency(d.currency); err != nil {
		return err
	}
	if e.LineItem, err = b.text("line_item", d.lineItem); err != nil {
		return err
	}
	if e.Arm, err = b.text("arm", d.arm); err != nil {
		return err
	}
	if err = checkID("insertion_id", d.insertionID); err != nil { // not cached: rarely repeated
		return err
	}
	e.InsertionId = d.insertionID
	if e.ServingDc, err = b.text("serving_dc", d.servingDC); err != nil {
		return err
	}
	if e.ServingDc == "" { // money does not depend on it, so an empty value counts as none
		e.ServingDc = b.set.DC
	}
	return nil
}
