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
	ReasonFuture            = "future"              // more than 5 min after the record's time, or an event time 1 h after the ingest time
	ReasonLate              = "late"                // too late to be checked for duplicates, with Config.RejectLate
	ReasonOversized         = "oversized"           // more than 64 KiB
	ReasonWrongPartition    = "wrong_partition"     // the account belongs to another shard
	ReasonBadOrigin         = "bad_origin"          // a copied record without a valid weir-origin header
	ReasonBadImport         = "bad_import"          // an imported record with a malformed weir-import header
	ReasonNoReference       = "no_reference"        // an adjustment without a reference id
	ReasonNonPositiveAmount = "non_positive_amount" // an adjustment of zero or less
	ReasonNoServingDC       = "no_serving_dc"       // an adjustment without a serving datacentre
	ReasonNoDay             = "no_day"              // an adjustment without a budget day
)
