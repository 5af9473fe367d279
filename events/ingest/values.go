package ingest

import (
	"math"
	"strconv"
	"strings"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// currency checks an ISO 4217 code.
func (b *builder) currency(v string) (string, *stream.RejectError) {
	if code, ok := b.currencies.known[v]; ok {
		return code, nil
	}
	if _, err := events.ParseCurrency(v); err != nil {
		return "", reject(ReasonUnknownCurrency, "%q is not an ISO 4217 code in capitals: write one such as USD", clip(v))
	}
	v = strings.Clone(v)
	b.currencies.put(v, v)
	return v, nil
}

// price parses a decimal number in Options.PriceUnit to micros, exactly.
func (b *builder) price(v string) (int64, *stream.RejectError) {
	v = strings.TrimSpace(v)
	if micros, ok := b.prices.known[v]; ok {
		return micros, nil
	}
	if strings.HasPrefix(v, "-") {
		return 0, reject(ReasonNegativePrice, "%s: refund by an adjustment, not by an event", clip(v))
	}
	if len(v) > maxIDBytes {
		return 0, reject(ReasonPrice, "%q is not %s", clip(v), b.noun)
	}
	number := v
	if b.set.Decimal == ',' {
		if strings.Contains(v, ".") {
			return 0, reject(ReasonPrice, "%q has a point, and the decimal mark is a comma: write no thousands separators", clip(v))
		}
		number = strings.Replace(v, ",", ".", 1)
	}
	micros, err := b.set.unit.Micros(number)
	switch {
	case err != nil && b.overflows(number):
		return 0, reject(ReasonPriceOverflow, "%s in %s exceeds int64 micros", clip(v), b.set.PriceUnit)
	case err != nil && b.set.Decimal != ',' && strings.Contains(v, ","):
		return 0, reject(ReasonPrice, "%q has a comma: write a decimal point and no thousands separators, or set the decimal mark", clip(v))
	case err != nil:
		return 0, reject(ReasonPrice, "%q is not %s in %s: write digits with a decimal point, of whole micros", clip(v), b.noun,
			b.set.PriceUnit)
	}
	b.prices.put(v, micros)
	return micros, nil
}

// overflows reports whether v is a number beyond int64 micros. Its float chooses between two
// reasons to reject the row; it never becomes a price.
func (b *builder) overflows(v string) bool {
	f, err := strconv.ParseFloat(v, 64)
	return (err == nil || math.IsInf(f, 0)) && f*math.Pow10(int(b.set.unit)) >= math.MaxInt64
}

const typeNames = "impression, click, video_view, follow or conversion"

// parseEventType parses an event type: its lower-case name, its name in the schema or its number
// there.
func parseEventType(v string) (eventspb.EventType, *stream.RejectError) {
	v = strings.TrimSpace(v)
	if t, err := events.ParseEventType(v); err == nil {
		return t, nil
	}
	n, ok := eventspb.EventType_value[v]
	if !ok {
		number, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return 0, reject(ReasonUnknownType, "%q: write %s", clip(v), typeNames)
		}
		n = int32(number)
	}
	return eventspb.EventType(n), nil
}
