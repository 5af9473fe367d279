package ingest

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// draft is what a parser read from a row. A nil slice is a field that the row does not have, for which Options may
// speak; an empty one was given as empty.
type draft struct {
	eventID, account, campaign, currency, lineItem, arm, dc, insertion []byte

	kind       eventspb.EventType
	price      int64 // micros
	clickPrice int64 // of the derived click
	eventMs    int64
	ingestMs   int64 // only where the row itself is an AdEvent that has one
	day        int32 // 0: the day of eventMs
	click      bool  // the impression was clicked: a second event
}

// builder makes checked events of drafts. It reuses them: they live until the next row.
type builder struct {
	set        *settings
	ids        *identity
	strings    memo[string]
	currencies memo[bool]
	prices     memo[int64]
	first      eventspb.AdEvent
	second     eventspb.AdEvent
	list       [2]*eventspb.AdEvent
}

func newBuilder(s *settings) *builder {
	return &builder{
		set:        s,
		ids:        newIdentity(s.IDSpace, s.Format),
		strings:    newMemo[string](maxInterned),
		currencies: newMemo[bool](maxKnownPrice),
		prices:     newMemo[int64](maxKnownPrice),
	}
}

// build turns d into the row's events. derived says that the ids were made here and so are unique in this input.
func (b *builder) build(row *rawRow, d *draft) (list []*eventspb.AdEvent, derived bool, err *Rejection) {
	e := &b.first
	e.Reset()
	if err := b.names(e, d); err != nil {
		return nil, false, err
	}
	switch {
	case d.kind == eventspb.EventType_EVENT_TYPE_HEARTBEAT:
		return nil, false, reject(ReasonUnknownType, "a heartbeat is no event of a file: the ads callback makes them")
	case !events.Known(d.kind):
		return nil, false, reject(ReasonUnknownType, "type %d: use %s", d.kind, typeNames)
	case d.price < 0:
		return nil, false, reject(ReasonNegativePrice, "%d micros: money is given back by an adjustment, not by an event", d.price)
	case d.ingestMs < 0 || d.ingestMs >= maxEventMs:
		return nil, false, reject(ReasonTime, "ingest_ms %d is not a time in milliseconds: leave it away and the record's own time stands", d.ingestMs)
	case d.eventMs <= 0 || d.eventMs >= maxEventMs:
		return nil, false, reject(ReasonTime, "event_ms %d is not a time between 1970 and 9998 in milliseconds", d.eventMs)
	}
	e.Type, e.PriceMicros, e.EventMs, e.IngestMs, e.BudgetDay = d.kind, d.price, d.eventMs, d.ingestMs, d.day
	if e.BudgetDay == 0 {
		e.BudgetDay = int32(events.DayOf(d.eventMs, b.set.day))
	}
	if derived = len(d.eventID) == 0; derived {
		e.EventId = b.ids.derive(row, suffixRow)
	} else {
		if err := checkID("event_id", d.eventID); err != nil {
			return nil, false, err
		}
		e.EventId = string(d.eventID)
	}
	b.list[0] = e
	if !d.click {
		return b.list[:1], derived, nil
	}
	return b.addClick(row, d, derived)
}

// addClick adds the click that a row reports together with its impression.
func (b *builder) addClick(row *rawRow, d *draft, derived bool) ([]*eventspb.AdEvent, bool, *Rejection) {
	from, e := &b.first, &b.second
	e.Reset()
	if derived {
		e.EventId = b.ids.derive(row, suffixClick)
	} else {
		e.EventId = from.EventId + clickSuffix
		if len(e.EventId) > maxIDBytes {
			return nil, false, reject(ReasonID, "event_id has %d bytes, which leaves no room for %s", len(from.EventId), clickSuffix)
		}
	}
	e.Type, e.PriceMicros = eventspb.EventType_EVENT_TYPE_CLICK, d.clickPrice
	e.Account, e.Campaign, e.Currency = from.Account, from.Campaign, from.Currency
	e.EventMs, e.IngestMs, e.BudgetDay = from.EventMs, from.IngestMs, from.BudgetDay
	e.ServingDc, e.InsertionId, e.LineItem, e.Arm = from.ServingDc, from.InsertionId, from.LineItem, from.Arm
	b.list[1] = e
	return b.list[:2], derived, nil
}

// names fills the strings of e, save the event id.
func (b *builder) names(e *eventspb.AdEvent, d *draft) (err *Rejection) {
	if e.Account = b.set.Account; d.account != nil {
		if e.Account, err = b.text("account", d.account); err != nil {
			return err
		}
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
	if e.InsertionId, err = b.uncachedText("insertion_id", d.insertion); err != nil {
		return err
	}
	if e.ServingDc, err = b.text("serving_dc", d.dc); err != nil {
		return err
	}
	if e.ServingDc == "" { // unlike account and currency it decides nothing about money, so empty is absent
		e.ServingDc = b.set.DC
	}
	return nil
}

// uncachedText is text for values that rarely repeat.
func (b *builder) uncachedText(name string, v []byte) (string, *Rejection) {
	if err := checkID(name, v); err != nil {
		return "", err
	}
	return string(v), nil
}
