package ingest

import "fmt"

// Reasons for which a row is rejected: a closed set, fit for a metric's label.
const (
	ReasonTooLong         = "too_long"         // longer than Options.MaxRowBytes
	ReasonQuote           = "bad_quote"        // CSV quoting is broken
	ReasonColumns         = "column_count"     // not as many columns as the header or the format has
	ReasonJSON            = "bad_json"         // not one JSON object, or a value of the wrong kind
	ReasonUnknownField    = "unknown_field"    // a JSON field that AdEvent does not have
	ReasonID              = "bad_id"           // an id with a NUL, over 256 bytes or not UTF-8
	ReasonEmptyAccount    = "empty_account"    //
	ReasonEmptyCampaign   = "empty_campaign"   //
	ReasonTime            = "bad_time"         // no time, or one that cannot be read
	ReasonDay             = "bad_budget_day"   // not a date
	ReasonPrice           = "bad_price"        // not a decimal number, or finer than a micro
	ReasonNegativePrice   = "negative_price"   //
	ReasonPriceOverflow   = "price_overflow"   // beyond int64 micros
	ReasonUnknownCurrency = "unknown_currency" // not an ISO 4217 code
	ReasonUnknownType     = "unknown_type"     // not an event type that a file can hold
	ReasonClick           = "bad_click"        // a click column that is neither 0 nor 1
)

// Rejection says why a row gave no events.
type Rejection struct {
	Reason string // one of the Reason constants
	Detail string // for a person: what was found, what was wanted
}

// Error is the reason and its detail.
func (r *Rejection) Error() string { return r.Reason + ": " + r.Detail }

func reject(reason, format string, args ...any) *Rejection {
	return &Rejection{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// clip shortens a value from the input for a message.
func clip(b []byte) string {
	const most = 64
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
