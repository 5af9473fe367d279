package changes

// The reasons for which a record of lease.changes is rejected. Each becomes a metric label and a
// header of the dead letter.
const (
	ReasonUndecodable      = "undecodable"        // not a LeaseChange
	ReasonNoRow            = "no_row"             // no row, or a kind of row of a later version
	ReasonBadName          = "bad_name"           // of a client, pool, key or resource; see lease.CheckName
	ReasonBadVersion       = "bad_version"        // a row version below 1
	ReasonUnknownRegion    = "unknown_region"     // a region that the configuration does not declare
	ReasonUnknownState     = "unknown_state"      // a key row in a state that this version does not know
	ReasonNoExpires        = "no_expires"         // a lease without an end
	ReasonBadTime          = "bad_time"           // a negative time, or one too far in the future
	ReasonHeldAndAvailable = "held_and_available" // a resource that is leased and available at once
	ReasonBadSettings      = "bad_settings"       // settings of a pool with an invalid value
	ReasonBadState         = "bad_state"          // settings of a region, or a count, with an invalid value
)

// Reasons returns all reasons.
func Reasons() []string {
	return []string{
		ReasonUndecodable, ReasonNoRow, ReasonBadName, ReasonBadVersion, ReasonUnknownRegion, ReasonUnknownState,
		ReasonNoExpires, ReasonBadTime, ReasonHeldAndAvailable, ReasonBadSettings, ReasonBadState,
	}
}
