package bridge

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// row is what the primary key of an item determines.
type row struct {
	lease.PrimaryKey
	kind              rowKind
	client, pool, key string
}

type rowKind uint8

const (
	unknownRow rowKind = iota
	skippedRow         // no reader of lease.changes uses it
	resourceRow
	keyRow
	poolRow
	regionRow
	heartbeatRow
	demandRow
)

// versioned reports whether rows of a kind have a version that each write increases.
func (s rowKind) versioned() bool { return s >= resourceRow && s <= regionRow }

// rowOf returns the row of a primary key. Its kind is unknownRow if the schema has no such row.
func rowOf(p lease.PrimaryKey) row {
	r := row{PrimaryKey: p}
	if len(p.Partition) == 0 || len(p.Partition) > 1 && p.Partition[1] != '#' {
		return r
	}
	ok := true
	switch long := len(p.Partition) > 1; p.Partition[0] {
	case 'R':
		r.kind = resourceRow
		r.client, ok = lease.ParseResourcePartition(p.Partition)
	case 'K':
		r.kind = keyRow
		r.client, r.pool, r.key, ok = lease.ParseKeyPartition(p.Partition)
	case 'C':
		if r.kind = skippedRow; long { // otherwise it is a client's row
			r.kind = poolRow
			r.client, r.pool, ok = lease.ParsePoolRow(p)
		}
	case 'G':
		r.kind, ok = regionRow, !long
	case 'B':
		r.kind, ok = heartbeatRow, !long
	case 'D':
		r.kind = demandRow
		r.client, r.pool, ok = lease.ParseDemandPartition(p.Partition)
	case 'H', 'I':
		r.kind, ok = skippedRow, long
	case 'L':
		r.kind, ok = skippedRow, !long
	default:
		ok = false
	}
	if !ok {
		return row{PrimaryKey: p}
	}
	return r
}

// change returns the change of an item. The pool of a resource is an attribute of the item.
func (r *row) change(f *fields) *eventspb.LeaseChange {
	c := &eventspb.LeaseChange{Client: r.client, Pool: r.pool}
	version := int64(0)
	if r.kind.versioned() {
		if version = f.number(table.Version); version < 1 {
			f.refuse(ReasonVersion, "attribute %s is missing or less than 1", table.Version)
		}
	}
	switch r.kind {
	case resourceRow:
		c.Pool = f.required(table.PoolID)
		c.Row = &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{
			Resource: r.Sort, Version: version, Owner: f.required(table.Owner), Holder: f.text(table.Holder),
			ExpiresMs: f.number(table.ExpiresMs), AvailableMs: f.number(table.AvailableMs),
		}}
	case keyRow:
		c.Row = &eventspb.LeaseChange_Key{Key: &eventspb.LeaseKey{
			Key: r.key, Region: r.Sort, Version: version, State: f.required(table.State), Resource: f.text(table.Resource),
			ResourceVersion: f.number(table.ResourceVersion), ExpiresMs: f.number(table.ExpiresMs), GrantedMs: f.number(table.GrantedMs),
			Winner: f.text(table.Winner),
		}}
	case poolRow:
		c.Row = &eventspb.LeaseChange_Settings{Settings: &eventspb.LeasePool{
			Version: version, LongestLeaseMs: f.number(table.LongestLeaseMs), QuarantineMs: f.number(table.QuarantineMs),
			Buckets: f.int32(table.Buckets),
			Floors:  f.numbers(table.Floors), Balance: f.text(table.Balance), Duplicates: f.text(table.Duplicates),
			Forecast: f.text(table.Forecast),
		}}
	case regionRow:
		c.Row = &eventspb.LeaseChange_RegionRow{RegionRow: &eventspb.LeaseRegion{
			Region: r.Sort, Version: version, State: f.text(table.RegionState), SwingTo: f.text(table.SwingTo),
			SwingPercent: f.int32(table.SwingPercent),
			AdoptedBy:    f.text(table.AdoptedBy),
		}}
	case demandRow:
		c.Row = &eventspb.LeaseChange_Demand{Demand: &eventspb.LeaseDemand{Region: r.Sort, Refused: f.number(table.RefusedTotal)}}
	case unknownRow, skippedRow, heartbeatRow:
	}
	return c
}

// setVersion changes the version of a row that has one.
func setVersion(c *eventspb.LeaseChange, version int64) {
	switch r := c.Row.(type) {
	case *eventspb.LeaseChange_Resource:
		r.Resource.Version = version
	case *eventspb.LeaseChange_Key:
		r.Key.Version = version
	case *eventspb.LeaseChange_Settings:
		r.Settings.Version = version
	case *eventspb.LeaseChange_RegionRow:
		r.RegionRow.Version = version
	}
}

// versionOf returns the version of a row, 0 if it has none.
func versionOf(c *eventspb.LeaseChange) int64 {
	switch r := c.Row.(type) {
	case *eventspb.LeaseChange_Resource:
		return r.Resource.Version
	case *eventspb.LeaseChange_Key:
		return r.Key.Version
	case *eventspb.LeaseChange_Settings:
		return r.Settings.Version
	case *eventspb.LeaseChange_RegionRow:
		return r.RegionRow.Version
	}
	return 0
}
