package spendcounter

// Reasons of rejected records. The set is closed: each is a metric label and the reason of a dead
// letter.
const (
	ReasonUndecodable       = "undecodable"         // not the protobuf message that the topic holds
	ReasonUnknownType       = "unknown_type"        // an event type that this version does not know
	ReasonNegativePrice     = "negative_price"      // price_micros < 0
	ReasonUnknownCurrency   = "unknown_currency"    // not an active ISO 4217 code
	ReasonNoAccount         = "no_account"          // account is empty
	ReasonNoCampaign        = "no_campaign"         // campaign is empty
	ReasonBadID             = "bad_id"              // a NUL byte, more than 256 bytes, or too many serving datacentres
	ReasonNoEventID         = "no_event_id"         // event_id is empty
	ReasonBadDay            = "bad_day"             // not a date, neither a budget day nor an event time, or an event time before 1990
	ReasonOverflow          = "overflow"            // the price exceeds the maximum, or a sum would overflow int64
	ReasonFuture            = "future"              // event or ingest time more than 5 min after the record's own
	ReasonOversized         = "oversized"           // more than 64 KiB
	ReasonWrongPartition    = "wrong_partition"     // the account belongs to another shard
	ReasonBadOrigin         = "bad_origin"          // a copied record without a valid weir-origin header
	ReasonNoReference       = "no_reference"        // an adjustment without a reference id
	ReasonNonPositiveAmount = "non_positive_amount" // an adjustment of zero or less
	ReasonNoDay             = "no_day"              // an adjustment without a budget day
)
