package admin

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// HistoryFromChanges returns the history that changes of keys and resources describe, in the form
// of History. The changes are records of topic lease.changes, in any order and possibly repeated,
// as after a scan or a replay.
func HistoryFromChanges(changes []*eventspb.LeaseChange) []HistoryEvent {
	type change struct {
		row  lease.Row
		from *eventspb.LeaseChange
	}
	type name struct{ kind, name, region string }
	rows := map[name][]change{}
	for _, c := range changes {
		switch {
		case c.GetKey() != nil:
			k := c.GetKey()
			of := name{"key", k.Key, k.Region}
			rows[of] = append(rows[of],
				change{
					lease.Row{
						Version: k.Version, State: lease.State(k.State), Resource: k.Resource, Expires: k.ExpiresMs, Winner: k.Winner,
					}, c,
				})
		case c.GetResource() != nil:
			r := c.GetResource()
			of := name{"resource", r.Resource, ""}
			rows[of] = append(rows[of],
				change{lease.Row{Version: r.Version, Owner: r.Owner, Holder: r.Holder, Expires: r.ExpiresMs, Available: r.AvailableMs}, c})
		}
	}
	var all []HistoryEvent
	for of, list := range rows {
		slices.SortStableFunc(list, func(x, y change) int {
			return cmp.Or(cmp.Compare(x.row.Version, y.row.Version), compareBool(x.from.Gone, y.from.Gone),
				compareBool(x.from.Scanned, y.from.Scanned))
		})
		list = slices.CompactFunc(list, func(x, y change) bool { return x.row.Version == y.row.Version && x.from.Gone == y.from.Gone })
		var was lease.Row
		for _, c := range list {
			e := HistoryEvent{Time: time.UnixMilli(c.from.AtMs).UTC(), Region: c.from.Region, Row: of.name, Version: c.row.Version}
			if c.row.Version > was.Version+1 { // changes are missing: the former state is unknown
				was = lease.Row{Version: c.row.Version - 1, Owner: c.row.Owner}
			}
			switch {
			case c.from.Gone:
				e.Description = "left pool " + c.from.Pool
			case of.kind == "key":
				e.Row, e.Description = "key", keyEvent(&c.row)
			default:
				e.Description = resourceEvent(&was, &c.row)
			}
			if c.from.Scanned {
				e.Description += " (found by a scan)"
			}
			all, was = append(all, e), c.row
		}
	}
	slices.SortStableFunc(all, func(x, y HistoryEvent) int {
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.Row, y.Row), cmp.Compare(x.Region, y.Region), cmp.Compare(x.Version, y.Version))
	})
	return all
}

// compareBool orders false before true.
func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}
