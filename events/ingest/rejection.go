package ingest

import (
	"fmt"

	"github.com/weirhq/weir/stream"
)

// Reasons why a row is rejected: a closed set, so that a metric can have them as a label.
const (
	ReasonTooLong         = "too_long"         // longer than Options.MaxRowBytes
	ReasonQuote           = "bad_quote"        // CSV quoting is broken
	ReasonColumns         = "column_count"     // not the number of columns of the header or format
	ReasonJSON            = "bad_json"         // not one JSON object, or a value of the wrong type
	ReasonUnknownField    = "unknown_field"    // a JSON field that AdEvent does not have
	ReasonID              = "bad_id"           // an id that has NUL or over 256 bytes or is not UTF-8
	ReasonEmptyAccount    = "empty_account"    // no account to charge
	ReasonEmptyCampaign   = "empty_campaign"   // no campaign
	ReasonTime            = "bad_time"         // no time, or not a time
	ReasonFuture          = "future"           // more than 5 minutes after Options.Now
	ReasonDay             = "bad_budget_day"   // not a date
	ReasonPrice           = "bad_price"        // not a decimal number, or finer than a micro
	ReasonNegativePrice   = "negative_price"   // refunds are adjustments, not events
	ReasonPriceOverflow   = "price_overflow"   // more than events.MaxPriceMicros
	ReasonUnknownCurrency = "unknown_currency" // not an ISO 4217 code
	ReasonUnknownType     = "unknown_type"     // not an event type of a file
	ReasonReference       = "bad_reference"    // no reference id, or that of an earlier row with another content
	ReasonAmount          = "bad_amount"       // not a positive decimal number, or finer than a micro
	ReasonServingDC       = "no_serving_dc"    // no serving datacentre
	ReasonReason          = "bad_reason"       // not a reason of an adjustment
	ReasonClick           = "bad_click"        // a click column that is neither 0 nor 1
)

// reject returns the error of a row without events and without an adjustment. The text has what was
// found, and what to write instead.
func reject(reason, format string, args ...any) *stream.RejectError {
	return &stream.RejectError{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// clip shortens a value of the input for a message.
func clip(s string) string {
	const maxLen = 64
	if len(s) > maxLen {
		return s[:maxLen] + "…"
	}
	return s
}
