package dynamotest

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// deleteTable is the operation DeleteTable. It removes a replica from its global table.
func (c *call) deleteTable() ([]byte, error) {
	name, err := c.decodeTableName()
	if err != nil {
		return nil, err
	}
	var d description
	err = c.locked(name, func() error {
		t, err := c.changeable(name)
		if err != nil {
			return err
		}
		if t.def.DeletionProtection {
			return wire.Invalid(
				"Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
		}
		d = t.describe()
		d.TableStatus = "DELETING"
		return c.cloud.drop(t)
	})
	if err != nil {
		return nil, err
	}
	return encode(map[string]description{"TableDescription": d})
}

// drop deletes a table and removes it from its global table.
func (c *Cloud) drop(t *liveTable) error {
	name := t.def.TableName
	for _, other := range c.replicas(t) {
		if other == t {
			continue
		}
		def := other.def.Clone()
		def.Replicas = slices.DeleteFunc(def.Replicas, func(r string) bool { return r == t.region.name })
		if len(def.Replicas) == 1 { // the last replica is a table of one region
			def.Replicas = nil
			clear(other.tombstones)
		}
		if err := other.redefine(def, def.StreamView); err != nil {
			return err
		}
	}
	if err := c.recordDrop(t.region, name); err != nil {
		return err
	}
	t.region.remove(name)
	return nil
}

// remove removes the table from the region. Its stream can still be read.
func (r *Region) remove(name string) {
	if t := r.tables[name]; t != nil && t.stream != nil {
		t.stream.End(r.cloud.now)
	}
	delete(r.tables, name)
}

// replicas returns the table and its replicas in other regions.
func (c *Cloud) replicas(t *liveTable) []*liveTable {
	all := []*liveTable{t}
	for _, name := range t.def.Replicas {
		if r := c.Region(name); r != nil && r != t.region && r.tables[t.def.TableName] != nil {
			all = append(all, r.tables[t.def.TableName])
		}
	}
	return all
}

// changeable returns the table with that name, or an error while the table is being created or
// updated.
func (c *call) changeable(name string) (*liveTable, error) {
	t := c.region.tables[name]
	switch {
	case t == nil:
		return nil, &wire.Error{Code: wire.ResourceNotFound, Message: "Requested resource not found: Table: " + name + " not found"}
	case t.def.Ready > c.cloud.now:
		return nil, &wire.Error{
			Code: wire.ResourceInUse, Message: "Attempt to change a resource which is still in use: Table is being created: " + name,
		}
	case t.def.Updated > c.cloud.now:
		return nil, &wire.Error{
			Code: wire.ResourceInUse, Message: "Attempt to change a resource which is still in use: Table is being updated: " + name,
		}
	default:
		return t, nil
	}
}
