package ingest

import (
	"bytes"
	"math"
	"strconv"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

func (b *builder) currency(v []byte) (string, *Rejection) {
	if v == nil && b.set.Currency != "" {
		return b.set.Currency, nil
	}
	if _, known := b.currencies.known[string(v)]; !known {
		if _, err := events.ParseCurrency(string(v)); err != nil {
			return "", reject(ReasonUnknownCurrency, "%q is not an ISO 4217 code in capitals, such as USD", clip(v))
		}
		b.currencies.put(string(v), true)
	}
	return b.text("currency", v)
}

// price reads a decimal number in the unit of Options.
func (b *builder) price(v []byte) (int64, *Rejection) {
	v = bytes.TrimSpace(v)
	if micros, ok := b.prices.known[string(v)]; ok {
		return micros, nil
	}
	if len(v) > 0 && v[0] == '-' {
		return 0, reject(ReasonNegativePrice, "%s: money is given back by an adjustment, not by an event", clip(v))
	}
	if len(v) > maxIDBytes {
		return 0, reject(ReasonPrice, "%q is not a price", clip(v))
	}
	micros, err := b.set.unit.Micros(string(v))
	switch {
	case err != nil && b.huge(v):
		return 0, reject(ReasonPriceOverflow, "%s in %s is more than int64 micros hold", clip(v), b.set.PriceUnit)
	case err != nil:
		return 0, reject(ReasonPrice, "%q is not a decimal number of whole micros in %s", clip(v), b.set.PriceUnit)
	}
	b.prices.put(string(v), micros)
	return micros, nil
}

// huge tells a price beyond int64 micros from one that is none. It names a refusal; no price is made of its float.
func (b *builder) huge(v []byte) bool {
	f, err := strconv.ParseFloat(string(v), 64)
	return (err == nil || math.IsInf(f, 0)) && f*math.Pow10(int(b.set.unit)) >= math.MaxInt64
}

const typeNames = "impression, click, video_view, follow or conversion"

// parseKind reads an event type by its lower-case name, its name in the schema or its number there.
func parseKind(v []byte) (eventspb.EventType, *Rejection) {
	text := string(bytes.TrimSpace(v))
	if kind, err := events.ParseEventType(text); err == nil {
		return kind, nil
	}
	n, ok := eventspb.EventType_value[text]
	if !ok {
		number, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return 0, reject(ReasonUnknownType, "%q: use %s", clip(v), typeNames)
		}
		n = int32(number)
	}
	return eventspb.EventType(n), nil
}
