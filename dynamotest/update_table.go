package dynamotest

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// tableUpdate is the parameters of UpdateTable.
type tableUpdate struct {
	TableName                   string
	BillingMode                 string
	AttributeDefinitions        []table.AttributeDefinition
	GlobalSecondaryIndexUpdates []indexUpdate
	StreamSpecification         *streamSpecification
	ReplicaUpdates              []replicaUpdate
	DeletionProtectionEnabled   *bool
}

type indexUpdate struct {
	Create *table.IndexDefinition
	Delete *struct{ IndexName string }
}

type replicaUpdate struct {
	Create, Delete *struct{ RegionName string }
}

// updateTable is the operation UpdateTable.
func (c *call) updateTable() ([]byte, error) {
	var q tableUpdate
	if err := c.decode(&q); err != nil {
		return nil, err
	}
	name, err := tableName(wire.Text{Value: q.TableName, Given: q.TableName != ""})
	if err != nil {
		return nil, err
	}
	var rules constraints
	rules.attributes(q.AttributeDefinitions)
	for i, u := range q.GlobalSecondaryIndexUpdates {
		if u.Create != nil {
			rules.index(u.Create, fmt.Sprintf("globalSecondaryIndexUpdates.%d.member.create.", i+1))
		}
	}
	rules.stream(q.StreamSpecification)
	if err := rules.err(); err != nil {
		return nil, err
	}
	if q.BillingMode != "" && q.BillingMode != "PAY_PER_REQUEST" {
		return nil, wire.Invalid("dynamotest does not support the BillingMode " + q.BillingMode + ": send PAY_PER_REQUEST, or nothing")
	}
	if len(q.GlobalSecondaryIndexUpdates) == 0 && q.StreamSpecification == nil && len(q.ReplicaUpdates) == 0 &&
		q.DeletionProtectionEnabled == nil && q.BillingMode == "" {
		return nil, wire.Invalid(
			"At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required")
	}
	if len(q.GlobalSecondaryIndexUpdates) > 1 || len(q.ReplicaUpdates) > 1 {
		return nil, &wire.Error{
			Code:    wire.LimitExceeded,
			Message: "Subscriber limit exceeded: Only 1 online index or replica can be created or deleted simultaneously per table",
		}
	}
	var d description
	err = c.locked(name, func() error {
		t, err := c.changeable(name)
		if err != nil {
			return err
		}
		for _, step := range []func(*liveTable, tableUpdate) error{c.updateStream, c.updateIndexes, c.updateReplicas} {
			if err := step(t, q); err != nil {
				return err
			}
		}
		d = t.describe()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return encode(map[string]description{"TableDescription": d})
}

// updateStream changes the deletion protection and the stream of the table in this region.
func (c *call) updateStream(t *liveTable, q tableUpdate) error {
	def, view := t.def.Clone(), t.def.StreamView
	if q.DeletionProtectionEnabled != nil {
		def.DeletionProtection = *q.DeletionProtectionEnabled
	}
	if s := q.StreamSpecification; s != nil {
		wanted, err := viewOf(s)
		switch {
		case err != nil:
			return err
		case s.StreamEnabled && view != "":
			return wire.Invalid("Table already has an enabled stream: TableName: " + def.TableName)
		case !s.StreamEnabled && view == "":
			return wire.Invalid("Table has no stream to disable: TableName: " + def.TableName)
		case !s.StreamEnabled && len(def.Replicas) > 0:
			return wire.Invalid("Streams cannot be disabled on a replica of a global table: TableName: " + def.TableName)
		}
		view = wanted
	}
	def.Updated = c.cloud.now + int64(c.cloud.cfg.Profile.TableDelay)
	return t.redefine(def, view)
}

// updateIndexes creates or deletes an index in all regions of the table.
func (c *call) updateIndexes(t *liveTable, q tableUpdate) error {
	for _, u := range q.GlobalSecondaryIndexUpdates {
		next := t.def.Clone()
		switch {
		case u.Create != nil && u.Delete == nil:
			for _, a := range q.AttributeDefinitions {
				if !slices.Contains(next.AttributeDefinitions, a) {
					next.AttributeDefinitions = append(next.AttributeDefinitions, a)
				}
			}
			if next.Index(u.Create.IndexName) >= 0 {
				return wire.Invalid("Attempting to create an index which already exists")
			}
			x := *u.Create
			x.Ready = c.cloud.now + int64(c.cloud.cfg.Profile.TableDelay)
			next.Indexes = append(next.Indexes, x)
			if err := checkDefinition(next); err != nil {
				return err
			}
		case u.Delete != nil && u.Create == nil:
			at := next.Index(u.Delete.IndexName)
			if at < 0 {
				return &wire.Error{Code: wire.ResourceNotFound, Message: "Requested resource not found"}
			}
			next.Indexes = slices.Delete(next.Indexes, at, at+1)
			next.AttributeDefinitions = usedAttributes(next)
		default:
			return wire.Invalid("One of Create and Delete is required in each of GlobalSecondaryIndexUpdates")
		}
		for _, replica := range c.cloud.replicas(t) {
			def := replica.def.Clone()
			def.Indexes, def.AttributeDefinitions, def.Updated = next.Indexes, next.AttributeDefinitions, next.Updated
			if err := replica.redefine(def, def.StreamView); err != nil {
				return err
			}
		}
	}
	return nil
}

// usedAttributes returns the definitions of the attributes that some key uses.
func usedAttributes(d *table.Definition) []table.AttributeDefinition {
	return slices.DeleteFunc(slices.Clone(d.AttributeDefinitions), func(a table.AttributeDefinition) bool {
		has := func(k table.KeyElement) bool { return k.AttributeName == a.AttributeName }
		return !slices.ContainsFunc(d.KeySchema, has) &&
			!slices.ContainsFunc(d.Indexes, func(x table.IndexDefinition) bool { return slices.ContainsFunc(x.KeySchema, has) })
	})
}

// updateReplicas creates or deletes a replica.
func (c *call) updateReplicas(t *liveTable, q tableUpdate) error {
	for _, u := range q.ReplicaUpdates {
		var err error
		switch {
		case u.Create != nil && u.Delete == nil:
			err = c.addReplica(t, u.Create.RegionName)
		case u.Delete != nil && u.Create == nil:
			r := c.cloud.Region(u.Delete.RegionName)
			if r == nil || r == c.region || !slices.Contains(t.def.Replicas, r.name) {
				return wire.Invalid("Replica specified in the Replica Update or Replica Delete action of the request was not found.")
			}
			err = c.cloud.drop(r.tables[t.def.TableName])
		default:
			return wire.Invalid("One of Create and Delete is required in each of ReplicaUpdates")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addReplica makes the table global or adds a region to it, and sends all items to that region.
func (c *call) addReplica(t *liveTable, name string) error {
	r := c.cloud.Region(name)
	switch {
	case r == nil:
		return wire.Invalid("dynamotest has no region " + name + ": name one of its configuration")
	case r == c.region || slices.Contains(t.def.Replicas, name):
		return wire.Invalid("Failed to create a the new replica of table with name: '" + t.def.TableName +
			"' because one or more replicas already existed as tables.")
	case r.tables[t.def.TableName] != nil:
		return wire.Invalid("Failed to create a the new replica of table with name: '" + t.def.TableName +
			"' because one or more replicas already existed as tables.")
	case t.def.StreamView != "" && t.def.StreamView != bothImages:
		return wire.Invalid("The stream of a global table must have the view type NEW_AND_OLD_IMAGES: TableName: " + t.def.TableName)
	}
	regions := withReplica(withReplica(t.def.Replicas, c.region.name), name)
	for _, replica := range c.cloud.replicas(t) {
		def := replica.def.Clone()
		def.Replicas = regions
		if err := replica.redefine(def, bothImages); err != nil {
			return err
		}
	}
	def := t.def.Clone()
	def.TableID, def.Created, def.StreamView, def.StreamLabel = c.cloud.newID(), c.cloud.now, "", ""
	def.Ready, def.Updated = c.cloud.now+int64(c.cloud.cfg.Profile.TableDelay), 0
	replica, err := r.install(def, bothImages)
	if err != nil {
		return err
	}
	t.sendAll(replica)
	return nil
}

// sendAll sends all items of the table to a replica.
func (t *liveTable) sendAll(replica *liveTable) {
	c := t.region.cloud
	l := c.link(t.region, replica.region)
	for key, row := range t.rows.Ascend(table.Span{}) {
		l.send(c, replicatedWrite{id: t.def.TableName + "/" + key, table: t.def.TableName, key: key, row: row})
	}
}
