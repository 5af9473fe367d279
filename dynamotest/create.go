package dynamotest

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/dynamotest/internal/stream"
	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// streamSpecification is the parameter StreamSpecification.
type streamSpecification struct {
	StreamEnabled  bool
	StreamViewType string `json:",omitempty"`
}

// createTable is the operation CreateTable.
func (c *call) createTable() ([]byte, error) {
	var q struct {
		TableName                 *string
		KeySchema                 []table.KeyElement
		AttributeDefinitions      []table.AttributeDefinition
		BillingMode               string
		GlobalSecondaryIndexes    []table.IndexDefinition
		StreamSpecification       *streamSpecification
		DeletionProtectionEnabled bool
		ProvisionedThroughput     *table.Throughput
	}
	if err := c.decode(&q); err != nil {
		return nil, err
	}
	if q.TableName == nil {
		return nil, wire.Invalid("The parameter 'TableName' is required but was not present in the request")
	}
	name := nameIn(*q.TableName)
	if err := checkLength(name); err != nil {
		return nil, err
	}
	var rules constraints
	rules.attributes(q.AttributeDefinitions)
	rules.name(name, "tableName")
	rules.oneOf(optional(q.BillingMode), "billingMode", "[PROVISIONED, PAY_PER_REQUEST]")
	rules.keys(q.KeySchema, "")
	for i := range q.GlobalSecondaryIndexes {
		rules.index(&q.GlobalSecondaryIndexes[i], fmt.Sprintf("globalSecondaryIndexes.%d.member.", i+1))
	}
	rules.stream(q.StreamSpecification)
	if err := rules.err(); err != nil {
		return nil, err
	}
	def := &table.Definition{
		TableName: name, KeySchema: q.KeySchema, AttributeDefinitions: q.AttributeDefinitions,
		Indexes: q.GlobalSecondaryIndexes, DeletionProtection: q.DeletionProtectionEnabled, Throughput: q.ProvisionedThroughput,
	}
	if err := checkBilling(q.BillingMode, def); err != nil {
		return nil, err
	}
	if err := checkDefinition(def); err != nil {
		return nil, err
	}
	view, err := viewOf(q.StreamSpecification)
	if err != nil {
		return nil, err
	}
	var out description
	err = c.locked(name, func() error {
		if c.region.tables[name] != nil {
			return &wire.Error{Code: wire.ResourceInUse, Message: "Table already exists: " + name}
		}
		def.TableID, def.Created, def.Ready = c.cloud.newID(), c.cloud.now, c.cloud.now+int64(c.cloud.cfg.Profile.TableDelay)
		t, err := c.region.install(def, view)
		out = t.describe()
		return err
	})
	if err != nil {
		return nil, err
	}
	return encode(map[string]description{"TableDescription": out})
}

// checkBilling checks the capacities of a new table and its indexes against the billing mode.
func checkBilling(mode string, def *table.Definition) error {
	capacities := []*table.Throughput{def.Throughput}
	for i := range def.Indexes {
		capacities = append(capacities, def.Indexes[i].ProvisionedThroughput)
	}
	for _, t := range capacities {
		switch {
		case mode == "PAY_PER_REQUEST" && t != nil:
			return wire.InvalidParameter(
				"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		case mode != "PAY_PER_REQUEST" && (t == nil || t.ReadCapacityUnits < 1 || t.WriteCapacityUnits < 1):
			return wire.InvalidParameter("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
		}
	}
	return nil
}

// viewOf returns the view type of the stream that the parameter asks for, or "" for no stream.
func viewOf(s *streamSpecification) (string, error) {
	if s == nil || !s.StreamEnabled {
		if s != nil && s.StreamViewType != "" {
			return "", wire.InvalidParameter(
				"Table does not have a stream to disable, or StreamViewType is given though StreamEnabled is false")
		}
		return "", nil
	}
	if s.StreamViewType == "" {
		return "", wire.InvalidParameter("StreamViewType is required when StreamEnabled is true")
	}
	return s.StreamViewType, nil
}

// newID returns an id in the form of a UUID that no other table of the cloud has had.
func (c *Cloud) newID() string {
	c.ids++
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", c.cfg.Seed&0xffffffff, c.ids)
}

// install creates a table in the region, with a stream unless view is "".
func (r *Region) install(def *table.Definition, view string) (*liveTable, error) {
	t := newLiveTable(r, def)
	r.tables[def.TableName] = t
	return t, t.redefine(def, view)
}

// redefine changes the definition of the table, in the journal and in memory. A view that differs
// from the definition's starts a new stream; "" ends the stream.
func (t *liveTable) redefine(def *table.Definition, view string) error {
	c := t.region.cloud
	if def.StreamView != view {
		def = def.Clone()
		def.StreamView = view
		if view != "" {
			def.StreamLabel, def.StreamSettings = t.region.newLabel(def.TableName, c.now), c.cfg.Profile.streamSettings()
		}
	}
	if err := c.recordDefinition(t.region, def); err != nil {
		return err
	}
	t.apply(def)
	return nil
}

// apply sets the definition of the table to one that is in the journal. It starts or ends the
// stream accordingly.
func (t *liveTable) apply(def *table.Definition) {
	c := t.region.cloud
	if t.stream != nil && t.stream.label != def.StreamLabel || def.StreamView == "" && t.stream != nil {
		t.stream.End(c.now)
		t.stream = nil
	}
	arn := t.region.arn(def.TableName) + "/stream/" + def.StreamLabel
	if def.StreamView != "" && t.stream == nil {
		t.stream = t.region.stream(arn) // a snapshot has restored it
	}
	if def.StreamView != "" && t.stream == nil {
		t.stream = &liveStream{
			Stream: stream.New(def.StreamSettings, c.now), arn: arn,
			label: def.StreamLabel, table: def.TableName, view: def.StreamView, schema: def.KeySchema, began: c.now,
		}
		t.region.streams = append(t.region.streams, t.stream)
	}
	t.define(def)
}

// newLabel returns the label of a stream that begins now: the time, or a later millisecond if an
// earlier stream of the table has that label.
func (r *Region) newLabel(name string, now int64) string {
	for at := time.Unix(0, now).UTC(); ; at = at.Add(time.Millisecond) {
		label := at.Format("2006-01-02T15:04:05.000")
		if r.stream(r.arn(name)+"/stream/"+label) == nil {
			return label
		}
	}
}

// stream returns the stream with that ARN, or nil.
func (r *Region) stream(arn string) *liveStream {
	for _, s := range r.streams {
		if s.arn == arn {
			return s
		}
	}
	return nil
}
