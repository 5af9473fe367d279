package table

// Attribute names. docs/leases-table.md lists the items with the type, unit and meaning of each
// attribute, and a test holds the two lists equal. Names that end in _ms hold milliseconds: a
// point in time since 1970 in UTC, or a duration.
//
// Several names are reserved words of DynamoDB expressions (bucket, state, resource, lines,
// free, returning), so the expressions of this module use an alias (#bucket) for every name.
const (
	PK           = "pk"
	SK           = "sk"
	Version      = "version"
	WriterRegion = "writer_region" // region whose endpoint the item was last written through
	ClientID     = "client_id"
	PoolID       = "pool_id"
	UpdatedMs    = "updated_ms"
	Description  = "description"
)

// Attributes of resource rows and of key rows.
const (
	Owner           = "owner_region"
	Holder          = "holder" // lease.Holder: the pool and the key
	ExpiresMs       = "lease_expires_ms"
	AvailableMs     = "lease_available_ms"
	Bucket          = "bucket"
	State           = "state"
	Resource        = "resource"
	ResourceVersion = "resource_version"
	GrantedMs       = "granted_ms"
	Winner          = "winner_region"
)

// Attributes of a pool's settings.
const (
	LongestLeaseMs     = "longest_lease_ms"
	LongestLeaseEverMs = "longest_lease_ever_ms" // absent: LongestLeaseMs
	QuarantineMs       = "quarantine_ms"
	Buckets            = "buckets"
	Floors             = "floors"
	Balance            = "balance"
	Duplicates         = "duplicates"
	Forecast           = "forecast"
)

// Attributes of a region's settings.
const (
	RegionState       = "region_state"
	SwingTo           = "swing_to"
	SwingPercent      = "swing_percent"
	WriteLeaseMs      = "write_lease_ms"
	WriteLeaseSinceMs = "write_lease_since_ms"
	AdoptedBy         = "adopted_by"
)

// Attributes of write leases and of the home row.
const (
	WriteLeaseUntilMs = "write_lease_until_ms"
	ClosedMs          = "closed_ms"      // the grantor must not renew the write lease; since when
	HomeFrom          = "home_from"      // former home
	HomeMoving        = "home_moving"    // true while the move to the new home is not complete
	HomeFromLost      = "home_from_lost" // true if the former home was lost
)

// Attributes of heartbeats, demand counts and imports.
const (
	HeartbeatMs    = "heartbeat_ms"
	SettingsSeenMs = "settings_seen_ms" // UpdatedMs of the region's settings, as the region has them
	RefusedTotal   = "refused_total"
	ImportLines    = "lines"
	ImportRejected = "rejected_lines"
)

// Attributes of a headroom row.
const (
	HeadroomAsOfMs = "as_of_ms"
	HeadroomRate   = "rate"
	HeadroomSpread = "spread"
)
