package changes

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
)

// Rule checks a row of a change. Its error is a *stream.RejectError with one of Reasons.
type Rule[R any] func(c *Change, row R) error

// Rules are the checks of a processor by kind of row, in the order in which they apply. Rows of a
// kind without rules are not validated; the processor does not use them.
type Rules struct {
	Change    []Rule[*eventspb.LeaseChange] // for each change, before the rules of its row
	Resource  []Rule[*eventspb.LeaseResource]
	Key       []Rule[*eventspb.LeaseKey]
	Settings  []Rule[*eventspb.LeasePool]
	Demand    []Rule[*eventspb.LeaseDemand]
	Region    []Rule[*eventspb.LeaseRegion]
	Heartbeat []Rule[*eventspb.LeaseHeartbeat]
}

// check applies the rules to a change.
func (r *Rules) check(c *Change) error {
	if c.Row == nil {
		return stream.Rejectf(ReasonNoRow, "the change has no row, or one of a kind that this version does not know")
	}
	if err := apply(r.Change, c, &c.LeaseChange); err != nil {
		return err
	}
	switch row := c.Row.(type) {
	case *eventspb.LeaseChange_Resource:
		if len(r.Resource) == 0 {
			return nil
		}
		if err := checkNames(c, "resource", row.Resource.Resource); err != nil {
			return err
		}
		return apply(r.Resource, c, row.Resource)
	case *eventspb.LeaseChange_Key:
		if len(r.Key) == 0 {
			return nil
		}
		if err := checkNames(c, "key", row.Key.Key); err != nil {
			return err
		}
		return apply(r.Key, c, row.Key)
	case *eventspb.LeaseChange_Settings:
		if len(r.Settings) == 0 {
			return nil
		}
		if err := checkPoolNames(c); err != nil {
			return err
		}
		return apply(r.Settings, c, row.Settings)
	case *eventspb.LeaseChange_Demand:
		if len(r.Demand) == 0 {
			return nil
		}
		if err := checkPoolNames(c); err != nil {
			return err
		}
		return apply(r.Demand, c, row.Demand)
	case *eventspb.LeaseChange_RegionRow:
		return apply(r.Region, c, row.RegionRow)
	case *eventspb.LeaseChange_Heartbeat:
		return apply(r.Heartbeat, c, row.Heartbeat)
	}
	return nil
}

func apply[R any](rules []Rule[R], c *Change, row R) error {
	for _, rule := range rules {
		if err := rule(c, row); err != nil {
			return err
		}
	}
	return nil
}

// UnlessDeleted applies rules to a row unless the change reports that the row was deleted, or moved
// to another pool.
func UnlessDeleted[R any](rules ...Rule[R]) Rule[R] {
	return func(c *Change, row R) error {
		if c.Gone {
			return nil
		}
		return apply(rules, c, row)
	}
}

// checkNames checks the client, the pool, and the name of the row.
func checkNames(c *Change, what, name string) error {
	if err := checkPoolNames(c); err != nil {
		return err
	}
	return CheckName(what, name)
}

// checkPoolNames checks the client and the pool, which are part of the keys of all rows of a pool.
func checkPoolNames(c *Change) error {
	err := lease.CheckName("client", c.Client, lease.MaxName)
	if err == nil {
		err = lease.CheckName("pool", c.Pool, lease.MaxName)
	}
	if err != nil {
		return stream.Rejectf(ReasonBadName, "%v", err)
	}
	return nil
}

// CheckName rejects an invalid name of a key or a resource. The argument what is the noun, "key" or
// "resource".
func CheckName(what, name string) error {
	if err := lease.CheckName(what, name, lease.MaxKey); err != nil {
		return stream.Rejectf(ReasonBadName, "%v", err)
	}
	return nil
}

// CheckVersion rejects a version below 1; the format names the row.
func CheckVersion(version int64, what, name string) error {
	if version < 1 {
		return stream.Rejectf(ReasonBadVersion, "%s %q has version %d: versions begin at 1", what, name, version)
	}
	return nil
}

// PoolKey returns the key of the state row of a change's pool: client NUL pool.
func PoolKey(c *Change) string { return c.Client + "\x00" + c.Pool }

// RowKey returns the key of the state row of a key or resource of a change's pool: client NUL pool
// NUL name.
func RowKey(c *Change, name string) string { return c.Client + "\x00" + c.Pool + "\x00" + name }
