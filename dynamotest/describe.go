package dynamotest

import (
	"slices"
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// description is a TableDescription.
type description struct {
	TableName                 string
	TableArn                  string
	TableId                   string //nolint:revive // the protocol's name
	TableStatus               string
	CreationDateTime          float64
	KeySchema                 []table.KeyElement
	AttributeDefinitions      []table.AttributeDefinition
	BillingModeSummary        map[string]string `json:",omitempty"`
	ProvisionedThroughput     map[string]int64
	ItemCount                 int
	TableSizeBytes            int64
	GlobalSecondaryIndexes    []indexDescription   `json:",omitempty"`
	StreamSpecification       *streamSpecification `json:",omitempty"`
	LatestStreamArn           string               `json:",omitempty"`
	LatestStreamLabel         string               `json:",omitempty"`
	Replicas                  []replicaDescription `json:",omitempty"`
	GlobalTableVersion        string               `json:",omitempty"`
	DeletionProtectionEnabled bool
}

type indexDescription struct {
	IndexName             string
	IndexArn              string
	IndexStatus           string
	Backfilling           bool `json:",omitempty"`
	KeySchema             []table.KeyElement
	Projection            table.Projection
	ProvisionedThroughput map[string]int64
	ItemCount             int
	IndexSizeBytes        int64
}

type replicaDescription struct {
	RegionName    string
	ReplicaStatus string
}

// throughput describes provisioned capacity; on-demand capacity is described by zeros.
func throughput(t *table.Throughput) map[string]int64 {
	if t == nil {
		t = &table.Throughput{}
	}
	return map[string]int64{
		"NumberOfDecreasesToday": 0, "ReadCapacityUnits": t.ReadCapacityUnits, "WriteCapacityUnits": t.WriteCapacityUnits,
	}
}

// describe returns the description of the table at the current time.
func (t *liveTable) describe() description {
	def, now := t.def, t.region.cloud.now
	d := description{
		TableName: def.TableName, TableArn: t.region.arn(def.TableName), TableId: def.TableID, TableStatus: "ACTIVE",
		CreationDateTime: seconds(def.Created), KeySchema: def.KeySchema, AttributeDefinitions: def.AttributeDefinitions,
		ProvisionedThroughput: throughput(def.Throughput),
		ItemCount:             t.rows.Len(), TableSizeBytes: t.rows.Size(), DeletionProtectionEnabled: def.DeletionProtection,
	}
	if def.Throughput == nil {
		d.BillingModeSummary = map[string]string{"BillingMode": "PAY_PER_REQUEST"}
	}
	switch {
	case def.Ready > now:
		d.TableStatus = "CREATING"
	case def.Updated > now:
		d.TableStatus = "UPDATING"
	}
	for _, in := range t.indexes {
		x := in.Definition
		id := indexDescription{
			IndexName: x.IndexName, IndexArn: d.TableArn + "/index/" + x.IndexName, IndexStatus: "ACTIVE", KeySchema: x.KeySchema,
			Projection: x.Projection, ProvisionedThroughput: throughput(x.ProvisionedThroughput), ItemCount: in.Rows.Len(),
			IndexSizeBytes: in.Rows.Size(),
		}
		if x.Ready > now {
			id.IndexStatus, id.Backfilling = "CREATING", true
		}
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, id)
	}
	if def.StreamLabel != "" {
		d.LatestStreamLabel, d.LatestStreamArn = def.StreamLabel, d.TableArn+"/stream/"+def.StreamLabel
	}
	if def.StreamView != "" {
		d.StreamSpecification = &streamSpecification{StreamEnabled: true, StreamViewType: def.StreamView}
	}
	for _, name := range def.Replicas {
		d.GlobalTableVersion = "2019.11.21"
		if name == t.region.name {
			continue
		}
		r := replicaDescription{RegionName: name, ReplicaStatus: "CREATING"}
		if other := t.region.cloud.Region(name); other != nil && other.tables[def.TableName] != nil &&
			other.tables[def.TableName].def.Ready <= now {
			r.ReplicaStatus = "ACTIVE"
		}
		d.Replicas = append(d.Replicas, r)
	}
	return d
}

// describeTable is the operation DescribeTable.
func (c *call) describeTable() ([]byte, error) {
	name, err := c.decodeTableName()
	if err != nil {
		return nil, err
	}
	var d description
	err = c.locked(name, func() error {
		t := c.region.tables[name]
		if t == nil {
			return &wire.Error{Code: wire.ResourceNotFound, Message: "Requested resource not found: Table: " + name + " not found"}
		}
		d = t.describe()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return encode(map[string]description{"Table": d})
}

// listTables is the operation ListTables.
func (c *call) listTables() ([]byte, error) {
	var q struct {
		ExclusiveStartTableName string
		Limit                   *int
	}
	if err := c.decode(&q); err != nil {
		return nil, err
	}
	limit := 100
	if q.Limit != nil {
		if limit = *q.Limit; limit < 1 || limit > 100 {
			return nil, wire.Invalid("1 validation error detected: Value '" + strconv.Itoa(limit) +
				"' at 'limit' failed to satisfy constraint: Member must have value between 1 and 100")
		}
	}
	out := struct {
		TableNames             []string
		LastEvaluatedTableName string `json:",omitempty"`
	}{TableNames: []string{}}
	err := c.locked("", func() error {
		for name := range c.region.tables {
			if name > q.ExclusiveStartTableName {
				out.TableNames = append(out.TableNames, name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(out.TableNames)
	if len(out.TableNames) > limit {
		out.TableNames = out.TableNames[:limit]
		out.LastEvaluatedTableName = out.TableNames[limit-1]
	}
	return encode(out)
}
