package dedup

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/state/packed"
)

// Key is the state of a key that is leased, or was until a minute ago.
type Key struct {
	Rows      []Row     `json:"rows"`     // ordered by region
	Timer     int64     `json:"timer_ms"` // time of its timer, Unix ms; 0 without one
	Duplicate Duplicate `json:"duplicate"`
}

// Row is a key's row in one region.
type Row struct {
	Region          string      `json:"region"`
	Version         int64       `json:"version"`
	State           lease.State `json:"state"` // as in the table, or RowDeleted
	Resource        string      `json:"resource"`
	ResourceVersion int64       `json:"resource_version"` // version of the resource row
	Expires         int64       `json:"expires_ms"`       // Unix ms
	Granted         int64       `json:"granted_ms"`       // Unix ms; 0 if unknown
	Winner          string      `json:"winner"`
	LatestExpires   int64       `json:"latest_expires_ms"` // greatest Expires of all seen versions, Unix ms: then all of them are over

	CommandedWinner string `json:"commanded_winner"` // winner in the last command for this version; empty without one
	Tries           int64  `json:"tries"`            // commands for this version
	NextCommandMs   int64  `json:"next_command_ms"`  // time of the next command, Unix ms
}

// RowDeleted is the state of a deleted row.
const RowDeleted lease.State = "gone"

// Duplicate is a lease of one key in two regions, or a resolved one.
type Duplicate struct {
	State    string `json:"state"`       // observed, superseding, resolved; empty: no duplicate
	Winner   string `json:"winner"`      // region
	Since    int64  `json:"since_ms"`    // Unix ms
	Resolved int64  `json:"resolved_ms"` // Unix ms
}

// States of a Duplicate.
const (
	DuplicateObserved    = "observed"
	DuplicateSuperseding = "superseding"
	DuplicateResolved    = "resolved"
)

func (c *Duplicate) open() bool {
	return c.State == DuplicateObserved || c.State == DuplicateSuperseding
}

// row returns the index of a region's row, or where it belongs.
func (k *Key) row(region string) (i int, ok bool) {
	return slices.BinarySearchFunc(k.Rows, region, func(r Row, region string) int { return cmp.Compare(r.Region, region) })
}

func (r *Row) leaseKey(key string) *eventspb.LeaseKey {
	return &eventspb.LeaseKey{
		Key: key, Region: r.Region, Version: r.Version, State: string(r.State), Resource: r.Resource, ResourceVersion: r.ResourceVersion,
		ExpiresMs: r.Expires, GrantedMs: r.Granted, Winner: r.Winner,
	}
}

func (k *Key) append(dst []byte) []byte {
	dst = packed.AppendInt(dst, k.Timer)
	dst = packed.AppendString(dst, k.Duplicate.State)
	if k.Duplicate.State != "" {
		dst = packed.AppendString(dst, k.Duplicate.Winner)
		dst = packed.AppendInt(packed.AppendInt(dst, k.Duplicate.Since), k.Duplicate.Resolved)
	}
	for i := range k.Rows {
		r := &k.Rows[i]
		dst = packed.AppendString(dst, r.Region)
		dst = packed.AppendInt(dst, r.Version)
		dst = packed.AppendString(dst, string(r.State))
		dst = packed.AppendString(dst, r.Resource)
		dst = packed.AppendInt(packed.AppendInt(packed.AppendInt(dst, r.ResourceVersion), r.Expires), r.Granted)
		dst = packed.AppendInt(packed.AppendString(dst, r.Winner), r.LatestExpires)
		dst = packed.AppendString(dst, r.CommandedWinner)
		dst = packed.AppendInt(packed.AppendInt(dst, r.Tries), r.NextCommandMs)
	}
	return dst
}

// ParseKey decodes a value of TableKeys.
func ParseKey(value []byte) (k Key, err error) {
	p := packed.NewReader(value)
	k.Timer, k.Duplicate.State = p.Int(), p.String()
	if k.Duplicate.State != "" {
		k.Duplicate.Winner, k.Duplicate.Since, k.Duplicate.Resolved = p.String(), p.Int(), p.Int()
	}
	for p.Len() > 0 {
		k.Rows = append(k.Rows, Row{
			Region: p.String(), Version: p.Int(), State: lease.State(p.String()), Resource: p.String(), ResourceVersion: p.Int(),
			Expires: p.Int(), Granted: p.Int(),
			Winner: p.String(), LatestExpires: p.Int(), CommandedWinner: p.String(), Tries: p.Int(), NextCommandMs: p.Int(),
		})
	}
	return k, p.End()
}

func keys() state.Func[Key] {
	return state.Func[Key]{AppendFunc: func(dst []byte, k Key) []byte { return k.append(dst) }, DecodeFunc: ParseKey}
}

// pool is the settings of a pool that dedup uses.
type pool struct {
	version    int64
	mode       string // observe, supersede, release
	quarantine int64  // ms
	buckets    int32
}

// Values of LeasePool.duplicates.
const (
	modeObserve   = "observe"
	modeSupersede = "supersede"
	modeRelease   = "release"
)

func pools() state.Func[pool] {
	return state.Func[pool]{
		AppendFunc: func(dst []byte, p pool) []byte {
			dst = packed.AppendString(packed.AppendInt(dst, p.version), p.mode)
			return packed.AppendInt(packed.AppendInt(dst, p.quarantine), int64(p.buckets))
		},
		DecodeFunc: func(value []byte) (pool, error) {
			r := packed.NewReader(value)
			p := pool{version: r.Int(), mode: r.String(), quarantine: r.Int(), buckets: int32(r.Int())}
			return p, r.End()
		},
	}
}
