package spendcounter

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/idset"
	"github.com/weirhq/weir/stream"
)

// maxTimeMs is the end of the year 9999. A later record time is treated as that time.
const maxTimeMs = 253_402_300_799_999

const dayMs = 86_400_000

// refusal is why a record is rejected. The zero value means that it is not.
type refusal struct{ reason, detail string }

// checker caches the last valid values: most currencies and days repeat.
type checker struct {
	view     events.View
	currency events.Currency // known; 0: none yet
	given    events.Day      // valid; 0: none yet
	dayFrom  int64           // start of day utc, Unix ms
	utc      events.Day
}

// read decodes and validates record i of b into row n. It changes nothing but the row.
func (c *Counter) read(in *input, b *stream.Batch, i, n int) refusal {
	rec, r, v := &b.Records[i], &c.rows, &c.check.view
	r.imported[n], r.known[n] = false, false
	if len(rec.Value) > MaxValueBytes {
		return refusal{ReasonOversized, fmt.Sprintf("%d bytes, at most %d", len(rec.Value), MaxValueBytes)}
	}
	if in.copied || len(rec.Headers) > 0 {
		if bad := r.readHeaders(in, rec, n); bad.reason != "" {
			return bad
		}
	}
	if len(rec.Value) == 0 {
		return emptyRecord(rec.Value)
	}
	if err := v.Decode(rec.Value); err != nil {
		return refusal{ReasonUndecodable, err.Error()}
	}
	if !events.KnownEventType(v.Type) || int(v.Type) >= numTypes && uint8(v.Type) != heartbeat {
		return refusal{ReasonUnknownType, fmt.Sprintf("type %d", v.Type)}
	}
	now := min(max(rec.TimeMs, 0), maxTimeMs)
	ingest := v.IngestMs
	if ingest <= 0 {
		ingest = now
	}
	if late := now + MaxAheadMs; v.EventMs > late || ingest > late {
		return refusal{ReasonFuture, fmt.Sprintf("event at %d, ingest at %d, record at %d: is a clock wrong?", v.EventMs, ingest, now)}
	}
	r.rec[n], r.typ[n] = int32(i), uint8(v.Type)
	ingest = min(ingest, now+MaxTimestampMs)
	r.ingest[n] = ingest
	if uint8(v.Type) == heartbeat {
		r.price[n] = 0
		return refusal{}
	}
	if v.EventMs > 0 && v.EventMs < events.MinEventMs {
		return refusal{ReasonBadDay, events.BeforeMinimum(v.EventMs)}
	}
	if v.EventMs > ingest+MaxEarlyMs {
		return refusal{ReasonFuture, fmt.Sprintf("event at %d, ingest at %d, more than 1 h earlier: is a clock wrong?", v.EventMs, ingest)}
	}
	if v.PriceMicros < 0 {
		return refusal{ReasonNegativePrice, fmt.Sprintf("%d micros", v.PriceMicros)}
	}
	if v.PriceMicros > c.cfg.MaxPriceMicros {
		return refusal{ReasonOverflow, fmt.Sprintf("%d micros, at most %d an event", v.PriceMicros, c.cfg.MaxPriceMicros)}
	}
	if len(v.EventID) == 0 {
		return refusal{ReasonNoEventID, ""}
	}
	if badID(v.EventID) {
		return refusal{ReasonBadID, "event_id " + quote(v.EventID)}
	}
	day, bad := c.check.dayOf(v)
	if bad.reason != "" {
		return bad
	}
	if bad := c.check.checkOwner(v.Account, v.Campaign, v.ServingDC, v.Currency); bad.reason != "" {
		if bad.reason == ReasonUnknownCurrency {
			bad.detail = currencyDetail(eventCurrency(rec.Value))
		}
		return bad
	}
	if p := c.cfg.Shard(v.Account); p != c.task.Partition {
		return refusal{ReasonWrongPartition, fmt.Sprintf("account %s belongs to partition %d", quote(v.Account), p)}
	}
	serving := v.ServingDC
	if len(serving) == 0 {
		serving = in.dcName
	}
	r.price[n], r.day[n], r.currency[n] = v.PriceMicros, c.closing.rowOf(day), v.Currency
	r.account[n], r.campaign[n], r.serving[n] = v.Account, v.Campaign, serving
	r.dc[n] = c.dcs.find(serving)
	if r.event[n] = v.EventMs; v.EventMs <= 0 {
		r.event[n] = ingest
	}
	r.id[n] = idset.ID(events.EventHash(v.Account, v.EventID), uint64(v.PriceMicros))
	r.key[n] = hashKey(v.Account, v.Campaign, r.day[n], v.Currency)
	return refusal{}
}

// badOrigin is the detail of ReasonBadOrigin.
const badOrigin = "want one header " + events.OriginHeader +
	" of 16 bytes topic id, 4 bytes partition, 8 bytes offset and 8 bytes previous offset"

// readHeaders reads the headers of rec into row n.
func (r *rows) readHeaders(in *input, rec *stream.Record, n int) refusal {
	var ok bool
	if in.copied {
		if r.origin[n], ok = originOf(rec.Headers); !ok {
			return refusal{ReasonBadOrigin, badOrigin}
		}
	}
	if r.importOf[n], r.importAt[n], r.imported[n], ok = importOf(rec.Headers); !ok {
		return refusal{ReasonBadImport, "want one header " + events.ImportHeader + " of 16 bytes import and 8 bytes sequence number"}
	}
	return refusal{}
}

// checkOwner validates account, campaign, serving datacentre and currency.
func (k *checker) checkOwner(account, campaign, serving []byte, currency events.Currency) refusal {
	switch {
	case (currency != k.currency || currency == 0) && !currency.Known():
		return refusal{ReasonUnknownCurrency, ""} // the caller has the text
	case len(account) == 0:
		return refusal{ReasonNoAccount, ""}
	case len(campaign) == 0:
		return refusal{ReasonNoCampaign, ""}
	case badID(account):
		return refusal{ReasonBadID, "account " + quote(account)}
	case badID(campaign):
		return refusal{ReasonBadID, "campaign " + quote(campaign)}
	case badID(serving):
		return refusal{ReasonBadID, "serving_dc " + quote(serving)}
	}
	k.currency = currency
	return refusal{}
}

// dayOf returns the budget day of an event: the given day, or the UTC day of the event time.
func (k *checker) dayOf(v *events.View) (events.Day, refusal) {
	if day := events.Day(v.BudgetDay); day != 0 {
		if day != k.given && !day.Valid() {
			return 0, refusal{ReasonBadDay, fmt.Sprintf("budget_day %d is not a date", day)}
		}
		k.given = day
		return day, refusal{}
	}
	if since := v.EventMs - k.dayFrom; since >= 0 && since < dayMs && k.utc != 0 {
		return k.utc, refusal{}
	}
	if v.EventMs <= 0 || v.EventMs > maxTimeMs {
		return 0, refusal{ReasonBadDay, fmt.Sprintf("no budget_day, and event_ms is %d", v.EventMs)}
	}
	k.dayFrom, k.utc = v.EventMs-v.EventMs%dayMs, events.UTCDay(v.EventMs)
	return k.utc, refusal{}
}

// emptyRecord rejects a record without any byte, which decodes as an event of type 0.
func emptyRecord(value []byte) refusal {
	if value == nil {
		return refusal{ReasonUnknownType, "the record has no value (null)"}
	}
	return refusal{ReasonUnknownType, "the record's value is empty"}
}

// eventCurrency returns the currency of an event as it was sent. A View keeps valid codes only.
func eventCurrency(value []byte) string {
	e := &eventspb.AdEvent{}
	if err := proto.Unmarshal(value, e); err != nil {
		return ""
	}
	return e.Currency
}

// currencyDetail explains a currency that is not known.
func currencyDetail(code string) string {
	if code == "" {
		return "the record has no currency: write an ISO 4217 code such as USD"
	}
	return quote([]byte(code)) + " is not an active ISO 4217 code in capitals, such as USD"
}

// quote returns the beginning of an id, quoted, for the detail of a dead letter.
func quote(id []byte) string {
	const most = 64
	if len(id) > most {
		return fmt.Sprintf("%q... (%d bytes)", id[:most], len(id))
	}
	return fmt.Sprintf("%q", id)
}
