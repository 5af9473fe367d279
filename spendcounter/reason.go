package spendcounter

// Why a record is refused. The set is closed: each becomes a metric label and the dead-letter record's reason.
const (
	ReasonUndecodable       = "undecodable"         // not the protobuf message that the topic holds
	ReasonUnknownType       = "unknown_type"        // an event type that this version does not know
	ReasonNegativePrice     = "negative_price"      // price_micros < 0
	ReasonUnknownCurrency   = "unknown_currency"    // no active ISO 4217 code
	ReasonNoAccount         = "no_account"          // account is empty
	ReasonNoCampaign        = "no_campaign"         // campaign is empty
	ReasonBadID             = "bad_id"              // a NUL byte, more than 256 bytes, or too many serving datacentres
	ReasonNoEventID         = "no_event_id"         // event_id is empty
	ReasonBadDay            = "bad_day"             // no such date, or neither a budget day nor a time to take it from
	ReasonOverflow          = "overflow"            // the price is above the bound, or a sum would leave int64
	ReasonFuture            = "future"              // event or ingest time more than 5 min after the record's own
	ReasonOversized         = "oversized"           // more than 64 KiB
	ReasonWrongPartition    = "wrong_partition"     // the account belongs to another shard
	ReasonBadOrigin         = "bad_origin"          // a copied record without a sound weir-origin header
	ReasonNoReference       = "no_reference"        // an adjustment without a reference id
	ReasonNonPositiveAmount = "non_positive_amount" // an adjustment of nothing or less
	ReasonNoDay             = "no_day"              // an adjustment without a budget day
)
