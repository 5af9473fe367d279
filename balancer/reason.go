package balancer

// Why a record is refused. The set is closed: each becomes a metric label and the dead-letter record's reason.
const (
	ReasonUndecodable   = "undecodable"    // not the protobuf message that the topic holds
	ReasonNoRow         = "no_row"         // a change without a row
	ReasonBadName       = "bad_name"       // of a client, pool, region or resource
	ReasonUnknownRegion = "unknown_region" // not one of the declared
	ReasonBadTime       = "bad_time"       // negative, absurd, or a change that was written after its record
	ReasonBadVersion    = "bad_version"    // a row whose version is not positive
	ReasonBadState      = "bad_state"      // leased and available at once; settings that are none
)

// refusal is why a record is refused. Its zero value is none.
type refusal struct{ reason, detail string }
